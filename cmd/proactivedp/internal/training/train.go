package training

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/cmd/proactivedp/internal/machines"
	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

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
}

func newTrainFlags() trainFlags {
	return trainFlags{train: cli.TrainFlags{Spec: train.DefaultSpec()}, perf: sim.Perf{Workers: runtime.GOMAXPROCS(0)}}
}

func newTrain() *cobra.Command {
	f := newTrainFlags()
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train one model by DP-SGD, as one client or several asynchronous ones",
		Long: `Train a model by DP-SGD, and print its test accuracy and what the training costs a record.

On your own file there is one client. What you do not give is chosen for the number of
records and for --target-epsilon, and printed. On a named data set the defaults below are
the paper's (the step size of networks was chosen on held-out records): five clients, which
all hold every record. With --clients 1 it is an ordinary DP-SGD training.

--target-epsilon finds the least noise that keeps this ε. Unless you give a step size, it
and the clipping norm are then chosen for this noise, on named data sets too.

With a numbered seed, anyone who knows the seed can subtract the noise. To publish the
model, give --seed-from-os and --save.

--plan FILE trains a setting that propose --json or plan --json printed; other flags
override it, except those that decide its privacy. --dry-run prints memory, time and
privacy, and trains nothing.

--seeds trains with several seeds and prints how the accuracy grows; --out writes that as a
picture with its data. --trace writes the timeline of the run for Perfetto or
chrome://tracing.

--checkpoint keeps the run in a file: at the start, about every half minute, and when the
run is interrupted. --resume continues from the file to the same bits as without the
interrupt. The file holds all settings of the run but not where the data are or how an own
file is read, so give --data-dir, --data, --label-column and so on again.

proactivedp host serves a training to clients on other machines.`,
		Example: `  proactivedp train
  proactivedp train --data mushrooms --noise-multiplier 13.06742 --batch-size 55 --json
  proactivedp train --data my.csv --label-column sick --label-map no,yes --columns columns.csv --normalise ranges.csv --target-epsilon 1
  proactivedp train --data my.libsvm --target-epsilon 1 --seed-from-os --save my.model
  proactivedp train --clients 1 --target-epsilon 0.5 --delta 1e-5
  proactivedp train --plan plan.json --data phishing --schedule zero
  proactivedp train --model lenet --data mnist --dry-run
  proactivedp train --steps 100 --trace run.json
  proactivedp train --model alexnet --checkpoint run.checkpoint
  proactivedp train --resume run.checkpoint`,
		Args: cli.NoArgs,
		RunE: f.run,
	}
	f.serve.Add(cmd)
	hide(cmd, machines.ServeFlagNames...) // these are flags of host, which was once part of this command
	f.where.Own.AddTarget(cmd)
	f.keep.add(cmd)
	f.add(cmd, cli.EndFlags)
	f.trace.add(cmd)
	f.save.add(cmd)
	f.curve.add(cmd)
	cli.CountVar(cmd.Flags(), &f.perf.Workers, "workers", f.perf.Workers,
		"goroutines for gradients of large models, at least 1; never changes the result")
	return cmd
}

func newHost() *cobra.Command {
	f := newTrainFlags()
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Serve a training to clients that join from other processes or machines",
		Long: `Serve a training over several processes, and print its report at the end. The flags of
the training are those of train. Clients take part with proactivedp join, and each draws its
samples and noise from its own secret.

With --listen the command runs a broker itself. With --broker it uses a NATS broker that
runs elsewhere. The state is kept in the folder --dir: after an interrupt the same command
continues. Beyond 127.0.0.1 a broker needs TLS and credentials, see proactivedp keys.`,
		Example: `  proactivedp host --clients 3 --listen 127.0.0.1:4222 --dir server
  proactivedp host --clients 3 --target-epsilon 1 --listen 0.0.0.0:4222 --keys keys --dir server
  proactivedp host --broker tls://broker:4222 --creds keys/server.creds --dir server`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !f.serve.Asked() {
				return cli.Usage(errors.New("--listen is missing, or --broker: where the clients meet the server"))
			}
			return f.run(cmd, args)
		},
	}
	f.serve.Add(cmd)
	f.add(cmd)
	f.save.add(cmd)
	cmd.Flags().Lookup("save").Usage = "write the trained model to this `file`, for predict" // there is no average
	hide(cmd, "runner", "seed-from-os", "bounds", "at-most")                                 // using them prints an error
	cmd.Flags().Lookup("seed").Usage = "seed of the split, the deal and the default model, a whole number of at least 0; " +
		"samples and noise come from the secrets of the clients"
	return cmd
}

// hide keeps flags out of the help. They still work.
func hide(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		cmd.Flags().Lookup(name).Hidden = true
	}
}

func (f *trainFlags) add(cmd *cobra.Command, more ...cli.FlagGroup) {
	f.where.AddWithin(cmd)
	f.where.Own.Add(cmd)
	f.from.add(cmd)
	f.train.Add(cmd, append(more, cli.SettingFlags, cli.PointFlags, cli.NoiseFlags, cli.RunFlags)...)
	fs := cmd.Flags()
	fs.Float64Var(&f.epochs, "epochs", 0, "passes of each client over its records, in [1e-6, 1e9], instead of --steps "+
		"and --grad-computations")
	fs.BoolVar(&f.dryRun, "dry-run", false, "print memory, arithmetic, expected time and privacy, and train nothing")
	cli.AddJSON(fs)
	cli.AddStatement(fs)
}

func (f *trainFlags) run(cmd *cobra.Command, _ []string) error {
	if err := errors.Join(cli.CheckForm(cmd), f.keep.check(cmd), f.from.read(cmd), f.serve.Check(cmd),
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
		return cli.Report(cmd, forecast)
	}
	if err := p.Fits(f.perf, int64(f.where.Memory)); err != nil {
		return err
	}
	switch {
	case f.curve.given:
		return f.curve.run(cmd, p, &f.from, &f.where, f.perf)
	case f.serve.Asked():
		return f.host(cmd, p)
	}
	return f.report(cmd, p, nil)
}

// host serves the training, and prints the report and writes the model at its end.
func (f *trainFlags) host(cmd *cobra.Command, p *train.Prepared) error {
	if err := f.save.check(); err != nil {
		return err
	}
	r, err := f.serve.Run(cmd, p)
	if err != nil {
		return err
	}
	return errors.Join(f.save.write(r, p.Read(), &f.where.Own), cli.Report(cmd, r))
}

// fill completes the setting before any data are read, and returns an error for what is wrong with
// it.
func (f *trainFlags) fill(cmd *cobra.Command) error {
	spec := &f.train.Spec
	usual := f.from.usual
	if f.from.setting == nil {
		usual = cli.OwnUsual(usual)
	}
	if f.serve.Asked() { // one process serves no single client
		own := usual
		usual = func(model, dataset string) train.Spec {
			s := own(model, dataset)
			s.Clients = f.from.usual(model, dataset).Clients
			return s
		}
	}
	if err := f.train.Fill(cmd, regression(cmd, usual)); err != nil {
		return err
	}
	if f.serve.Asked() {
		spec.Runner = train.DistributedRunner
	}
	f.train.DrawExactly(cmd)
	if err := errors.Join(f.checkAllocation(cmd), f.checkEpochs(cmd)); err != nil {
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

// regression returns usual, but with linear regression if the flags give bounds of a target and no model.
func regression(cmd *cobra.Command, usual func(model, dataset string) train.Spec) func(string, string) train.Spec {
	if cmd.Flags().Lookup(cli.TargetFlag) == nil || !cmd.Flags().Changed(cli.TargetFlag) || cmd.Flags().Changed("model") {
		return usual
	}
	return func(_, dataset string) train.Spec { return usual(train.Linear, dataset) }
}

// checkEpochs returns an error for an invalid --epochs. The number of gradient computations is
// computed when the number of records is known. Until then there is one round.
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

// prepare reads the data, and returns the run with its noise.
func (f *trainFlags) prepare(cmd *cobra.Command) (*train.Prepared, error) {
	var root *rng.Root
	var err error
	if f.train.Spec.SeedFromOS {
		if root, err = rng.NewFromOS(); err != nil {
			return nil, err
		}
	}
	d, err := f.where.LoadFor(cmd, f.train.Spec)
	if err != nil {
		return nil, err
	}
	return f.prepareOn(cmd, train.NewSource(d), root)
}

// prepareOn returns the run on a source with its noise. The features of images are computed once.
func (f *trainFlags) prepareOn(cmd *cobra.Command, source *train.Source, root *rng.Root) (*train.Prepared, error) {
	spec := f.train.Spec
	own := cli.OwnFile(spec.Data)
	if f.allocates() && f.from.setting == nil {
		if err := f.allocate(cmd, source, root); err != nil {
			return nil, cli.Usage(err)
		}
		spec = f.train.Spec
	}
	if s := f.from.setting; own && (s == nil || s.Over(train.Spec{}).Model == "") { // a plan has no model
		f.train.OwnModel(cmd, source.Data())
		spec.Model = f.train.Spec.Model
	}
	p, err := source.PrepareWith(spec, root)
	if err != nil {
		return nil, cli.Usage(err)
	}
	if !own && cmd.Flags().Changed("epochs") {
		size, _ := cli.BatchSize(spec, "epochs") // already checked
		n := p.Config.Mechanism.DatasetSize
		rounds, ok := plan.Rounds(f.epochs, p.Config.Mechanism.EventOf(size))
		if most := decimal.MaxWhole / size; !ok || rounds > most {
			return nil, cli.Usage(fmt.Errorf("--epochs = %v of N = %d, must be at most %d steps with batches of %d", f.epochs,
				n, most, size))
		}
		spec.GradComps = rounds * size
		f.train.Spec.GradComps = spec.GradComps
		if p, err = source.PrepareWith(spec, root); err != nil {
			return nil, cli.Usage(err)
		}
	}
	budgeted := cmd.Flags().Changed("target-epsilon") && !cli.AnyChanged(cmd, "eta0", "learning-rate")
	if own || (f.from.setting != nil || budgeted) && !cli.OwnFile(spec.Data) {
		if spec, err = f.choose(cmd, p); errors.Is(err, dp.ErrNotCovered) && !own {
			return nil, err // as if the noise alone had been sought
		} else if err != nil {
			return nil, cli.Usage(err)
		}
		if p, err = source.PrepareWith(spec, root); err != nil {
			return nil, cli.Usage(err)
		}
	}
	if spec.TargetEpsilon != 0 && (own && f.from.setting == nil || cmd.Flags().Changed("target-epsilon")) {
		if p, err = p.Calibrate(cmd.Context(), spec.TargetEpsilon); err != nil {
			return nil, err
		}
	}
	cli.SayWithoutNoise(cmd, spec.Data, p.Spec.NoiseMultiplier)
	if err := f.from.fits(cmd.Context(), p); err != nil {
		return nil, cli.Usage(err)
	}
	return p, cli.Usage(f.trace.check(p))
}

func (f *trainFlags) allocates() bool { return dp.Sampling(f.train.Spec.Sampling) == dp.Allocation }

// checkAllocation returns an error for invalid flags of a training by random allocation. Until the
// number of records is known, the batch size is 1.
func (f *trainFlags) checkAllocation(cmd *cobra.Command) error {
	if !f.allocates() || f.from.setting != nil {
		return nil
	}
	f.train.Spec.SampleSize = "1"
	errs := []error{cli.Refuse(cmd, "cannot be given with --sampling allocation: give --batches and --epochs or --steps",
		"batch-size", "grad-computations")}
	if !cli.OwnFile(f.train.Spec.Data) && !cli.AnyChanged(cmd, "epochs", "steps") {
		errs = append(errs, errors.New("--epochs or --steps is missing: --sampling allocation has no default for them"))
	}
	return errors.Join(errs...)
}

// allocate sets the batch size of a training by random allocation: N/t records, rounded up. It
// scales the learning rate and the virtual clock.
func (f *trainFlags) allocate(cmd *cobra.Command, source *train.Source, root *rng.Root) error {
	p, err := source.PrepareWith(f.train.Spec, root)
	if err != nil {
		return err
	}
	sized := f.train.Spec
	sized.SampleSize = strconv.Itoa(p.Config.Mechanism.Event(0).ExpectedSize())
	sized.GradComps = p.Config.Mechanism.Event(0).ExpectedSize() // one round, unless --epochs or --steps is given
	return f.train.Fill(cmd, func(string, string) train.Spec { return sized })
}

// choose returns the spec of a prepared training on a user's file, with the setting of a file, or for a budget
// on a named data set. It chooses what was not given, for the number of records. A plan gives everything
// except the clipping norm and the step sizes. For a budget on a named set, only these are chosen too: the
// paper's are for the paper's noise and batch sizes.
func (f *trainFlags) choose(cmd *cobra.Command, p *train.Prepared) (train.Spec, error) {
	open, epsilon := f.train.Open(cmd, f.epochs), p.Spec.TargetEpsilon
	if s := f.from.setting; s != nil {
		planned := s.Over(train.Spec{})
		open = train.Open{Clip: open.Clip && planned.Clip == 0, Eta0: open.Eta0 && planned.Eta0 == 0,
			Schedule: open.Schedule && planned.Schedule == ""}
	} else if open.Noise && epsilon == 0 {
		cli.Say(cmd, "ε = %d, because neither --target-epsilon nor --noise-multiplier is given", train.UsualEpsilon)
		epsilon = train.UsualEpsilon
	} else if epsilon == 0 {
		epsilon = train.UsualEpsilon // only the batch size depends on it
	}
	if f.curve.given && open.Rounds > 0 {
		var err error
		if open.MostSize, err = p.Source().LeastRecords(p.Spec, f.curve.seeds); err != nil {
			return train.Spec{}, err
		}
	}
	err := f.train.Choose(cmd.Context(), cmd, p, open, epsilon)
	if open.Noise {
		f.train.Spec.TargetEpsilon = epsilon
	}
	return f.train.Spec, err
}

// report trains, from a checkpoint unless it is nil, and prints the report, even if only the last
// checkpoint or the trace could not be written.
func (f *trainFlags) report(cmd *cobra.Command, p *train.Prepared, from *train.Checkpoint) error {
	if err := f.save.check(); err != nil {
		return err
	}
	if p.Spec.SeedFromOS && f.save.path == "" {
		cli.Say(cmd, "WARNING: the model will not be kept, and nobody can train it again with the same noise: --save FILE keeps it")
	}
	if isFasterVirtually(p) {
		cli.Say(cmd, "with rounds as short as these, --runner virtual takes up to a third less processor time")
	}
	r, err := f.trace.run(cmd, p, func() (*train.Report, error) {
		keep := train.Keep{Path: f.keep.path, Every: f.keep.every, Key: f.keep.key, From: from}
		return p.TrainKept(cmd.Context(), f.perf, cmd.ErrOrStderr(), keep)
	})
	if r == nil {
		return err
	}
	err = errors.Join(err, f.save.write(r, p.Read(), &f.where.Own))
	return errors.Join(err, cli.Report(cmd, r))
}

// shortRound is the number of parameters times that of records of a round up to which hogwild takes 1.1 to 1.5 times
// the processor time of the virtual runner (logistic regression on phishing, batches of 1 to 26, one and two cores),
// because messages between goroutines take a large part of such a round.
const shortRound = 2000

// isFasterVirtually reports whether hogwild wastes time on a training that waits for no clock.
func isFasterVirtually(p *train.Prepared) bool {
	run := p.Config.Run()
	return p.Spec.Runner == train.HogwildRunner && p.Spec.TimeScale == 0 &&
		run.Computed*p.Config.Model.NumParams() <= shortRound*run.Rounds
}

// checkTrain returns all errors of a request to train: those that the spec's own check found, and
// those of the flags and of the name of the data.
func checkTrain(cmd *cobra.Command, s train.Spec, found error, workers int) error {
	errs := []error{found, cli.CheckData(s.Data), cli.CheckWorkers(workers)}
	errs = append(errs, cli.RefuseZeros(cmd, zeroIsNone...), checkBeta(cmd, s.Schedule))
	if s.Runner != train.VirtualRunner && s.TimeScale == 0 {
		errs = append(errs, cli.Refuse(cmd, "is of a clock, hogwild has one only with --time-scale", "compute-time", "latency"))
	}
	if s.Runner == train.DistributedRunner && cmd.Flags().Changed("runner") {
		errs = append(errs, fmt.Errorf("--runner = %q is what proactivedp host runs, must be %q or %q",
			s.Runner, train.VirtualRunner, train.HogwildRunner))
	}
	if s.SeedFromOS && cmd.Flags().Changed("seed") {
		errs = append(errs, errors.New("--seed and --seed-from-os contradict each other: give one"))
	}
	return cli.Usage(errors.Join(errs...))
}

// checkBeta returns an error for a --beta other than 0 with the constant schedule, which has no β.
// A spec may have one with it, because presets set β for every schedule.
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

// zeroIsNone are the flags whose value 0 means "not set" in a spec.
var zeroIsNone = []string{"input-scale", "lambda", "holdout", "delta", "batches", "at-most"}

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
