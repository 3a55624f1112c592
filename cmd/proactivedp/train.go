package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/experiments"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// trainFlags is the flags of a training run. Those not given have the paper's
// values for the model and the data.
type trainFlags struct {
	spec  train.Spec
	names []string
}

// add gives cmd the flags that say all but what a search tries.
func (t *trainFlags) add(cmd *cobra.Command) {
	s := &t.spec
	t.text(cmd, &s.Data, "data", "data set `name` (see proactivedp data list), or a LIBSVM file of two classes")
	t.number(cmd, &s.Clients, "clients", "number of clients n, in [1, 1000000]")
	t.number(cmd, &s.GradComps, "grad-computations", "gradient computations K of each client, at least the first sample size")
	t.text(cmd, &s.SampleSize, "sample-size", "sample sizes s_i of rounds i, each in [1, N]: S, linear:FIRST,SLOPE, poly:FIRST,SLOPE,POWER or list:S0,S1,…")
	t.text(cmd, &s.Schedule, "schedule", "step size of round t: linear η₀/(1+βt), sqrt η₀/(1+β√t) or constant")
	t.text(cmd, &s.Delay, "delay", "permissible delay Υ in rounds, at least 0: at most so many behind, unlimited, sqrt (√(t/ln t) gradients), clients:T0,T1,… or, by round, list:D0,D1,…")
	t.text(cmd, &s.Partition, "partition", "who holds which rows: replicate (every client the training set), shard (disjoint) or dirichlet:ALPHA (disjoint, labels skewed by client, ALPHA in [0.001, 1e6])")
	t.text(cmd, &s.Sampling, "sampling", "poisson or fixed (exactly s without replacement)")
	t.text(cmd, &s.Runner, "runner", "virtual (repeatable) or hogwild (free-running goroutines)")
	t.text(cmd, &s.Compute, "compute-time", "virtual time of one gradient, at most 1h: constant:MEAN, exponential:MEAN, uniform:LOW,HIGH, lognormal:MEAN,SIGMA, pareto:MEAN,ALPHA or trace:FILE (CSV: client,duration)")
	t.text(cmd, &s.Latency, "latency", "virtual time of one message, likewise")
	t.text(cmd, &s.Speeds, "speeds", "speeds of the clients in [0.001, 1000], as 1,1,0.5 (a speed of 0.5 takes twice the time), or drawn, for a time's factor of mean 1: lognormal:SIGMA, SIGMA in [0, 5], or pareto:ALPHA, ALPHA in (1, 1000]")
	t.real(cmd, &s.Loss, "loss", "probability in [0, 0.99] that a message is lost on its way, either way; it is sent again after --resend")
	t.text(cmd, &s.Resend, "resend", "virtual time, at most 1h, after which a lost message is sent again, such as 1ms")
	t.real(cmd, &s.Duplicate, "duplicate", "probability in [0, 1] that a message arrives twice")
	t.text(cmd, &s.Churn, "churn", "clients leave and return: mean times PRESENT,AWAY, each at most 1h, such as 100ms,20ms; a round under way is begun again")
	t.real(cmd, &s.Adapt, "adapt", "clients adapt their sample sizes to their speed, by up to this factor in (1, 1000], or 0: they do not; ε is of the sizes run")
	t.number(cmd, &s.Holdout, "holdout", "keep this many training rows, the last ones, from training and judge by them, not by the test set; at least 1")
}

// addPoint gives cmd the flags of what a search tries, one of each.
func (t *trainFlags) addPoint(cmd *cobra.Command) {
	s := &t.spec
	t.text(cmd, &s.Model, "model", strings.Join(train.ModelNames(), ", "))
	t.real(cmd, &s.Eta0, "eta0", "initial step size η₀, in [1e-30, 1e30]")
	t.real(cmd, &s.Beta, "beta", "decay β of the step size, in [0, 1e30]")
	cmd.Flags().Uint64Var(&s.Seed, "seed", s.Seed, "seed of all randomness, a whole number of at least 0")
	t.names = append(t.names, "seed")
}

// addNoise gives cmd the flags of the mechanism and its statement.
func (t *trainFlags) addNoise(cmd *cobra.Command) {
	s := &t.spec
	t.real(cmd, &s.NoiseMultiplier, "sigma", "noise multiplier σ, at least 0: the noise of a sum of gradients is N(0, C²σ²) per coordinate; 0 trains without noise")
	t.real(cmd, &s.Clip, "clip", "clipping norm C (max grad norm), in [1e-30, 1e30]")
	t.real(cmd, &s.Delta, "delta", "δ of the privacy statement, in (0, 1) (default 1/N)")
}

func (t *trainFlags) text(cmd *cobra.Command, p *string, name, usage string) {
	cmd.Flags().StringVar(p, name, *p, usage)
	t.names = append(t.names, name)
}

func (t *trainFlags) number(cmd *cobra.Command, p *int, name, usage string) {
	countVar(cmd.Flags(), p, name, *p, usage)
	t.names = append(t.names, name)
}

func (t *trainFlags) real(cmd *cobra.Command, p *float64, name, usage string) {
	cmd.Flags().Float64Var(p, name, *p, usage)
	t.names = append(t.names, name)
}

// given returns the values of the flags that were given, by name.
func (t *trainFlags) given(cmd *cobra.Command) map[string]string {
	given := map[string]string{}
	for _, name := range t.names {
		if f := cmd.Flags().Lookup(name); f.Changed {
			given[name] = f.Value.String()
		}
	}
	return given
}

// fill sets what was not given to what paper says for the model and the data
// that were.
func (t *trainFlags) fill(cmd *cobra.Command, paper func(model, dataset string) train.Spec) error {
	given := t.given(cmd)
	fromOS := t.spec.SeedFromOS
	t.spec = paper(given["model"], given["data"])
	t.spec.SeedFromOS = fromOS
	for name, value := range given {
		if err := cmd.Flags().Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

func newTrain() *cobra.Command {
	var where dataFlags
	flags := trainFlags{spec: train.DefaultSpec()}
	spec := &flags.spec
	var asJSON, dryRun bool
	var trace traceFlag
	var keep keepFlags
	perf := sim.Perf{Workers: runtime.GOMAXPROCS(0)}
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Simulate one asynchronous DP-SGD training",
		Long: `Train a model by asynchronous DP-SGD and report its test accuracy with the privacy
it was trained under: per record (all rounds of all clients that hold the record,
composed) and per client (one client's rounds), by the closed form and, tighter,
certified by the accountant pld.

The defaults are the paper's: its strongly convex setting on phishing or, for
another model or data set, the setting of that. Only the step size of networks is
not: the paper has 0.1/(1+0.01√t), here it is searched on held-out records.

--dry-run states memory, arithmetic, expected time and privacy, and trains nothing.

--trace writes the run's timeline on the virtual clock, as Perfetto and chrome://tracing
open it: the rounds of every client with their lag, waits, updates and broadcasts. A run
that goes on from a checkpoint is traced from there.

--checkpoint keeps the run in a file: at the start, every --checkpoint-every server
updates (else every half minute, or as much less often as writing takes more than a
twentieth of the time) and when it is interrupted. --resume goes on from the file,
which says all about the run but where its data are (--data-dir, --data), to the same
bits as if it had never stopped, and goes on keeping it there. A finished run leaves
a checkpoint that gives its report again. Only --runner virtual keeps checkpoints.`,
		Example: `  proactivedp train
  proactivedp train --data mushrooms --sigma 13.06742 --sample-size 55 --json
  proactivedp train --data my.libsvm --partition shard --runner hogwild
  proactivedp train --model lenet --data mnist --dry-run
  proactivedp train --grad-computations 2600 --trace run.json
  proactivedp train --model alexnet --checkpoint run.checkpoint
  proactivedp train --resume run.checkpoint`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(keep.check(cmd), usage(trace.apart(keep.path, keep.resume))); err != nil {
				return err
			}
			if keep.resume != "" {
				return keep.goOn(cmd, &flags, where, perf, trace, asJSON)
			}
			if err := flags.fill(cmd, experiments.PaperTrainSpec); err != nil {
				return err
			}
			if err := checkTrain(cmd, *spec, errors.Join(spec.Validate(), keep.fits(*spec)), perf.Workers); err != nil {
				return err
			}
			if keep.path != "" && !dryRun {
				if err := train.CheckKeep(keep.path); err != nil {
					return err
				}
			}
			var root *rng.Root
			if spec.SeedFromOS {
				var err error
				if root, err = rng.NewFromOS(); err != nil {
					return err
				}
			}
			d, err := where.load(cmd, spec.Data)
			if err != nil {
				return err
			}
			p, err := spec.Prepare(d, root)
			if err != nil {
				return usage(err)
			}
			if err := trace.check(cmd, p); err != nil {
				return usage(err)
			}
			if dryRun {
				f, err := p.Forecast(perf)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), f)
				}
				return f.WriteText(cmd.OutOrStdout())
			}
			return trainAndReport(cmd, p, perf, keep.keep(nil), trace, asJSON)
		},
	}
	where.add(cmd)
	keep.add(cmd)
	flags.add(cmd)
	flags.addPoint(cmd)
	flags.addNoise(cmd)
	trace.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&spec.SeedFromOS, "seed-from-os", false, "take all randomness from the operating system instead of a seed")
	countVar(f, &perf.Workers, "workers", perf.Workers, "goroutines for gradients of large models, at least 1; never changes the result")
	f.BoolVar(&dryRun, "dry-run", false, "state memory, arithmetic, expected time and privacy, and train nothing")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// trainAndReport runs the problem and prints its report, also if only the last
// checkpoint or the trace could not be written.
func trainAndReport(
	cmd *cobra.Command, p *train.Prepared, perf sim.Perf, keep train.Keep, trace traceFlag, asJSON bool,
) error {
	r, err := trace.run(cmd, p, func() (*train.Report, error) {
		return p.TrainKept(cmd.Context(), perf, cmd.ErrOrStderr(), keep)
	})
	if r == nil {
		return err
	}
	if asJSON {
		return errors.Join(err, printJSON(cmd.OutOrStdout(), r))
	}
	return errors.Join(err, r.WriteText(cmd.OutOrStdout()))
}

// checkTrain reports, together, what is wrong with a request to train: what the
// spec's own check found, the flags, and the name of the data.
func checkTrain(cmd *cobra.Command, s train.Spec, found error, workers int) error {
	errs := []error{found, checkData(s.Data), checkWorkers(workers)}
	if s.Holdout == 0 && cmd.Flags().Changed("holdout") {
		errs = append(errs, errors.New("--holdout = 0, must be at least 1 row"))
	}
	if s.Runner == train.HogwildRunner {
		for _, name := range []string{"compute-time", "latency"} {
			if cmd.Flags().Changed(name) {
				errs = append(errs, fmt.Errorf("--%s is of the virtual clock, hogwild must go without", name))
			}
		}
	}
	if s.Delta == 0 && cmd.Flags().Changed("delta") {
		errs = append(errs, errors.New("--delta = 0, must be in (0, 1)"))
	}
	if s.SeedFromOS && cmd.Flags().Changed("seed") {
		errs = append(errs, errors.New("--seed and --seed-from-os contradict each other: give one"))
	}
	return usage(errors.Join(errs...))
}

func checkWorkers(n int) error {
	if n < 1 {
		return fmt.Errorf("--workers = %d, must be at least 1", n)
	}
	return nil
}
