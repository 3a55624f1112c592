package training

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/cmd/proactivedp/internal/machines"
	"proactivedp/plan"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// trainFlags are the flags of train.
type trainFlags struct {
	where  cli.DataFlags
	train  cli.TrainFlags
	from   planFileFlags
	keep   keepFlags
	trace  traceFlag
	save   saveFlag
	curve  curveFlags
	serve  machines.ServeFlags
	perf   sim.Perf
	epochs float64
	dryRun bool
	asJSON bool
}

func newTrain() *cobra.Command {
	f := trainFlags{train: cli.TrainFlags{Spec: train.DefaultSpec()}, perf: sim.Perf{Workers: runtime.GOMAXPROCS(0)}}
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

--target-epsilon takes, in the place of --noise-multiplier, the ε that a record may cost: the noise
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
which says all about the run but where its data are and how a file of yours is read
(--data-dir, --data, --label-column and so on), to the same bits as if it had never
stopped, and goes on keeping it there. A finished run leaves a checkpoint that gives
its report again. Only --runner virtual keeps checkpoints.

--listen HOST:PORT, or --broker URL, makes it the server of a training over several
processes, which keeps its state in the folder --dir: clients take part by proactivedp
join, and each has randomness of its own. The same command goes on after an interrupt.
Beyond 127.0.0.1 it takes TLS and credentials, see proactivedp keys.`,
		Example: `  proactivedp train
  proactivedp train --data mushrooms --noise-multiplier 13.06742 --batch-size 55 --json
  proactivedp train --data my.libsvm --partition shard --runner hogwild
  proactivedp train --target-epsilon 0.5 --delta 1e-5
  proactivedp train --plan plan.json --data phishing --schedule zero
  proactivedp train --model lenet --data mnist --dry-run
  proactivedp train --grad-computations 2600 --trace run.json
  proactivedp train --model alexnet --checkpoint run.checkpoint
  proactivedp train --resume run.checkpoint
  proactivedp train --clients 3 --listen 127.0.0.1:4222 --dir server`,
		Args: cli.NoArgs,
		RunE: f.run,
	}
	f.add(cmd)
	return cmd
}

func (f *trainFlags) add(cmd *cobra.Command) {
	f.where.AddWithin(cmd)
	f.where.Own.Add(cmd)
	f.keep.add(cmd)
	f.serve.Add(cmd)
	f.from.add(cmd)
	f.train.Add(cmd, cli.SettingFlags, cli.PointFlags, cli.EndFlags, cli.NoiseFlags, cli.RunFlags)
	f.trace.add(cmd)
	f.save.add(cmd)
	f.curve.add(cmd)
	fs := cmd.Flags()
	cli.CountVar(fs, &f.perf.Workers, "workers", f.perf.Workers,
		"goroutines for gradients of large models, at least 1; never changes the result")
	fs.Float64Var(&f.epochs, "epochs", 0, "passes of each client over its records, in [1e-6, 1e9], instead of --steps "+
		"and --grad-computations")
	fs.BoolVar(&f.dryRun, "dry-run", false, "state memory, arithmetic, expected time and privacy, and train nothing")
	cli.JSONVar(fs, &f.asJSON)
}

func (f *trainFlags) run(cmd *cobra.Command, _ []string) error {
	if err := errors.Join(f.keep.check(cmd), f.from.read(cmd), f.serve.Check(cmd),
		f.curve.check(cmd)); err != nil {
		return err
	}
	if f.keep.resume != "" {
		return f.goOn(cmd)
	}
	if err := f.fill(cmd); err != nil {
		return err
	}
	p, err := f.prepare(cmd)
	if err != nil {
		return err
	}
	if f.dryRun {
		forecast, err := p.Forecast(cmd.Context(), f.perf)
		if err != nil {
			return err
		}
		return cli.Report(cmd, f.asJSON, forecast)
	}
	if err := p.Fits(f.perf, int64(f.where.Memory)); err != nil {
		return err
	}
	switch {
	case f.curve.given:
		return f.curve.run(cmd, p, &f.from, &f.where, f.perf, f.asJSON)
	case f.serve.Asked():
		return f.serve.Run(cmd, p, f.asJSON)
	}
	return f.report(cmd, p, nil)
}

// fill completes the setting, and reports what is wrong with it, before any data are read.
func (f *trainFlags) fill(cmd *cobra.Command) error {
	spec := &f.train.Spec
	if err := f.train.Fill(cmd, f.from.usual); err != nil {
		return err
	}
	if f.serve.Asked() {
		spec.Runner = train.DistributedRunner
	}
	f.train.DrawExactly(cmd)
	if err := f.checkEpochs(cmd); err != nil {
		return cli.Usage(err)
	}
	if err := checkTrain(cmd, *spec, errors.Join(spec.Validate(), f.keep.fits(*spec), checkTarget(cmd, *spec),
		f.curve.fits(*spec)), f.perf.Workers); err != nil {
		return err
	}
	if f.keep.path == "" || f.dryRun {
		return nil
	}
	return train.CheckKeep(f.keep.path, f.keep.key)
}

// checkEpochs reports what is wrong with --epochs. How many gradient computations they are is known
// with the number of records. Until then there is one round.
func (f *trainFlags) checkEpochs(cmd *cobra.Command) (err error) {
	if !cmd.Flags().Changed("epochs") {
		return nil
	}
	err = cli.RefuseWith(cmd, "epochs", "steps", "grad-computations", "adapt")
	if !(f.epochs >= 1e-6 && f.epochs <= 1e9) {
		err = errors.Join(err, fmt.Errorf("--epochs = %v, must be in [1e-6, 1e9]", f.epochs))
	}
	size, wrong := cli.BatchSize(f.train.Spec, "epochs")
	f.train.Spec.GradComps = size
	return errors.Join(err, wrong)
}

// prepare reads the data, and returns the run with the noise that it is to have.
func (f *trainFlags) prepare(cmd *cobra.Command) (*train.Prepared, error) {
	spec := f.train.Spec
	var root *rng.Root
	var err error
	if spec.SeedFromOS {
		if root, err = rng.NewFromOS(); err != nil {
			return nil, err
		}
	}
	d, err := f.where.LoadFor(cmd, spec)
	if err != nil {
		return nil, err
	}
	p, err := spec.Prepare(d, root)
	if err != nil {
		return nil, cli.Usage(err)
	}
	if cmd.Flags().Changed("epochs") {
		size, _ := cli.BatchSize(spec, "epochs") // which has been checked
		spec.GradComps = max(size, int(min(math.Round(f.epochs*float64(p.Config.Mechanism.DatasetSize)), 1<<60)))
		if p, err = spec.Prepare(d, root); err != nil {
			return nil, cli.Usage(err)
		}
	}
	if cmd.Flags().Changed("target-epsilon") {
		if p, err = p.Calibrate(cmd.Context(), spec.TargetEpsilon); err != nil {
			return nil, err
		}
	}
	if err := f.from.fits(cmd.Context(), p); err != nil {
		return nil, cli.Usage(err)
	}
	return p, cli.Usage(f.trace.check(p))
}

// report trains, from a checkpoint unless that is nil, and prints the report, also if only
// the last checkpoint or the trace could not be written.
func (f *trainFlags) report(cmd *cobra.Command, p *train.Prepared, from *train.Checkpoint) error {
	f.save.own = &f.where.Own
	if err := f.save.check(); err != nil {
		return err
	}
	r, err := f.trace.run(cmd, p, func() (*train.Report, error) {
		return p.TrainKept(cmd.Context(), f.perf, cmd.ErrOrStderr(), f.keep.keep(from))
	})
	if r == nil {
		return err
	}
	err = errors.Join(err, f.save.write(r, p.Read()))
	return errors.Join(err, cli.Report(cmd, f.asJSON, r))
}

// checkTrain reports, together, what is wrong with a request to train: what the
// spec's own check found, the flags, and the name of the data.
func checkTrain(cmd *cobra.Command, s train.Spec, found error, workers int) error {
	errs := []error{found, cli.CheckData(s.Data), cli.CheckWorkers(workers)}
	errs = append(errs, cli.RefuseZeros(cmd, zeroIsNone...), checkBeta(cmd, s.Schedule))
	if s.Runner != train.VirtualRunner && s.TimeScale == 0 {
		for _, name := range []string{"compute-time", "latency"} {
			if cmd.Flags().Changed(name) {
				errs = append(errs, fmt.Errorf("--%s is of a clock, hogwild has one only with --time-scale", name))
			}
		}
	}
	if s.Runner == train.DistributedRunner && cmd.Flags().Changed("runner") {
		errs = append(errs, fmt.Errorf("--runner = %q is what train --listen and train --broker run, must be %q or %q",
			s.Runner, train.VirtualRunner, train.HogwildRunner))
	}
	if s.SeedFromOS && cmd.Flags().Changed("seed") {
		errs = append(errs, errors.New("--seed and --seed-from-os contradict each other: give one"))
	}
	return cli.Usage(errors.Join(errs...))
}

// checkBeta reports a --beta other than 0 of the constant schedule, in which it would do
// nothing. A spec may have one there, because presets set it for every schedule.
func checkBeta(cmd *cobra.Command, schedule string) error {
	flag := cmd.Flags().Lookup("beta")
	if flag == nil || !flag.Changed || sim.Decay(schedule) != sim.NoDecay {
		return nil
	}
	for text := range strings.SplitSeq(flag.Value.String(), ",") {
		if v, err := strconv.ParseFloat(text, 64); err != nil || v != 0 {
			return fmt.Errorf("--beta = %s, must be 0: schedule %q has no β", flag.Value, schedule)
		}
	}
	return nil
}

// zeroIsNone are the flags of a training of which 0 stands for none in a spec.
var zeroIsNone = []string{"input-scale", "lambda", "holdout", "delta"}

// checkTarget reports what is wrong with a target epsilon that was given.
func checkTarget(cmd *cobra.Command, s train.Spec) error {
	if !cmd.Flags().Changed("target-epsilon") {
		return nil
	}
	var errs []error
	if s.TargetEpsilon == 0 {
		errs = append(errs, plan.CheckEpsilon(0))
	}
	return errors.Join(append(errs, cli.RefuseWith(cmd, "target-epsilon", "noise-multiplier"))...)
}
