package training

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/cmd/proactivedp/internal/machines"
	"proactivedp/plan"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

func newTrain() *cobra.Command {
	var where cli.DataFlags
	flags := cli.TrainFlags{Spec: train.DefaultSpec()}
	spec := &flags.Spec
	var asJSON, dryRun bool
	var trace traceFlag
	var keep keepFlags
	var from planFileFlags
	var serve machines.ServeFlags
	save := saveFlag{own: &where.Own}
	var curve curveFlags
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

--epsilon takes, in the place of --sigma, the ε that a record may cost: the noise
multiplier is the least with which ε, as pld certifies it, is at most that.

--plan FILE trains a setting of propose --json (--choose says which, by rank), or what
plan --json says, with the paper's model and step size for the data. Other flags
override it, but for those that decide its privacy.

--dry-run states memory, arithmetic, expected time and privacy, and trains nothing.

--trace writes the run's timeline on the virtual clock, as Perfetto and chrome://tracing
open it: the rounds of every client with their lag, waits, updates and broadcasts. A run
that goes on from a checkpoint is traced from there.

--seeds trains with several seeds and shows how the accuracy grows, --out as a picture,
too, with its data.

--save writes the trained model to a file, with what it takes and the privacy that it was
trained under, for predict.

--checkpoint keeps the run in a file: at the start, every --checkpoint-every server
updates (else every half minute, or as much less often as writing takes more than a
twentieth of the time) and when it is interrupted. --resume goes on from the file,
which says all about the run but where its data are (--data-dir, --data), to the same
bits as if it had never stopped, and goes on keeping it there. A finished run leaves
a checkpoint that gives its report again. Only --runner virtual keeps checkpoints.

--listen HOST:PORT, or --broker URL, makes it the server of a training over several
processes, which keeps its state in the folder --dir: clients take part by proactivedp
join, and each has randomness of its own. The same command goes on after an interrupt.
Beyond 127.0.0.1 it takes TLS and credentials, see proactivedp keys.`,
		Example: `  proactivedp train
  proactivedp train --data mushrooms --sigma 13.06742 --sample-size 55 --json
  proactivedp train --data my.libsvm --partition shard --runner hogwild
  proactivedp train --epsilon 0.5 --delta 1e-5
  proactivedp train --plan plan.json --data phishing --schedule zero
  proactivedp train --model lenet --data mnist --dry-run
  proactivedp train --grad-computations 2600 --trace run.json
  proactivedp train --model alexnet --checkpoint run.checkpoint
  proactivedp train --resume run.checkpoint
  proactivedp train --clients 3 --listen 127.0.0.1:4222 --dir server`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(keep.check(cmd), from.read(cmd),
				cli.Usage(trace.apart(keep.path, keep.resume)), serve.Check(cmd), curve.check(cmd)); err != nil {
				return err
			}
			if keep.resume != "" {
				return keep.goOn(cmd, &flags, where, perf, trace, save, asJSON)
			}
			if err := flags.Fill(cmd, from.usual); err != nil {
				return err
			}
			if serve.Asked() {
				spec.Runner = train.DistributedRunner
			}
			if err := checkTrain(cmd, *spec, errors.Join(spec.Validate(), keep.fits(*spec), checkTarget(cmd, *spec),
				curve.fits(*spec)), perf.Workers); err != nil {
				return err
			}
			if keep.path != "" && !dryRun {
				if err := train.CheckKeep(keep.path, keep.key); err != nil {
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
			d, err := where.LoadFor(cmd, *spec)
			if err != nil {
				return err
			}
			p, err := spec.Prepare(d, root)
			if err != nil {
				return cli.Usage(err)
			}
			if err := from.fits(cmd.Context(), p); err != nil {
				return cli.Usage(err)
			}
			if cmd.Flags().Changed("epsilon") {
				if p, err = p.Calibrate(cmd.Context(), spec.TargetEpsilon); err != nil {
					return err
				}
			}
			if err := trace.check(p); err != nil {
				return cli.Usage(err)
			}
			if dryRun {
				f, err := p.Forecast(cmd.Context(), perf)
				if err != nil {
					return err
				}
				return cli.Report(cmd, asJSON, f)
			}
			if err := p.Fits(perf, int64(where.Memory)); err != nil {
				return err
			}
			if curve.given {
				return curve.run(cmd, p, &where, perf, asJSON)
			}
			if serve.Asked() {
				return serve.Run(cmd, p, asJSON)
			}
			return trainAndReport(cmd, p, perf, keep.keep(nil), trace, save, asJSON)
		},
	}
	where.AddWithin(cmd)
	where.Own.Add(cmd)
	keep.add(cmd)
	serve.Add(cmd)
	from.add(cmd)
	flags.Add(cmd, cli.SettingFlags, cli.PointFlags, cli.EndFlags, cli.NoiseFlags, cli.RunFlags)
	trace.add(cmd)
	save.add(cmd)
	curve.add(cmd)
	f := cmd.Flags()
	cli.CountVar(f, &perf.Workers, "workers", perf.Workers,
		"goroutines for gradients of large models, at least 1; never changes the result")
	f.BoolVar(&dryRun, "dry-run", false, "state memory, arithmetic, expected time and privacy, and train nothing")
	cli.JSONVar(f, &asJSON)
	return cmd
}

// trainAndReport runs the problem and prints its report, also if only the last
// checkpoint or the trace could not be written.
func trainAndReport(
	cmd *cobra.Command, p *train.Prepared, perf sim.Perf, keep train.Keep, trace traceFlag, save saveFlag, asJSON bool,
) error {
	if err := save.check(); err != nil {
		return err
	}
	r, err := trace.run(cmd, p, func() (*train.Report, error) {
		return p.TrainKept(cmd.Context(), perf, cmd.ErrOrStderr(), keep)
	})
	if r == nil {
		return err
	}
	err = errors.Join(err, save.write(r, p))
	return errors.Join(err, cli.Report(cmd, asJSON, r))
}

// checkTrain reports, together, what is wrong with a request to train: what the
// spec's own check found, the flags, and the name of the data.
func checkTrain(cmd *cobra.Command, s train.Spec, found error, workers int) error {
	errs := []error{found, cli.CheckData(s.Data), cli.CheckWorkers(workers)}
	errs = append(errs, cli.RefuseZeros(cmd, zeroIsNone...))
	if s.Runner != train.VirtualRunner && s.TimeScale == 0 {
		for _, name := range []string{"compute-time", "latency"} {
			if cmd.Flags().Changed(name) {
				errs = append(errs, fmt.Errorf("--%s is of a clock, hogwild has one only with --time-scale", name))
			}
		}
	}
	if s.SeedFromOS && cmd.Flags().Changed("seed") {
		errs = append(errs, errors.New("--seed and --seed-from-os contradict each other: give one"))
	}
	return cli.Usage(errors.Join(errs...))
}

// zeroIsNone are the flags of a training of which 0 stands for none in a spec.
var zeroIsNone = []string{"input-scale", "lambda", "holdout", "delta"}

// checkTarget reports what is wrong with a target epsilon that was given.
func checkTarget(cmd *cobra.Command, s train.Spec) error {
	if !cmd.Flags().Changed("epsilon") {
		return nil
	}
	var errs []error
	if s.TargetEpsilon == 0 {
		errs = append(errs, plan.CheckEpsilon(0))
	}
	return errors.Join(append(errs, cli.RefuseWith(cmd, "epsilon", "sigma"))...)
}
