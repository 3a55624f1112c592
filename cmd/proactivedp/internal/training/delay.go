package training

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/cmd/proactivedp/internal/machines"
	"proactivedp/data"
	"proactivedp/experiments"
	"proactivedp/train"
)

type delayFlags struct {
	where   cli.DataFlags
	sweep   machines.SweepFlags
	train   cli.TrainFlags
	spec    experiments.DelaySpec
	options experiments.DelayOptions
	drawing drawingFlags
}

func newDelay() *cobra.Command {
	f := delayFlags{spec: experiments.DefaultDelaySpec("", ""),
		options: experiments.DelayOptions{Workers: runtime.GOMAXPROCS(0)}}
	f.train.Spec = f.spec.Train
	cmd := &cobra.Command{
		Use:   "delay",
		Short: "Compare permissible delays: how much asynchrony a training tolerates",
		Long: `How much delay does your training tolerate, and how much time does it save? delay trains
the same setting with several permissible delays Υ on a virtual clock, on which clients
take as long as --compute-time, --speeds and --latency say. It compares the final accuracy,
the simulated time, the time to a target accuracy with the speed-up over synchronous
training, the staleness of rounds, and the idle time of clients.

The first lines are the verdict: which delays keep the accuracy within --margin of the
synchronous run, with 95 % confidence, and which of them is fastest.

The target of each seed is the final accuracy of its synchronous run (delay 0, which is
always run), less a tolerance that is printed. For a named data set, the defaults are the
paper's setting. For your own file, --clients 5 --partition shard divides the records, and
the other settings are chosen for --target-epsilon (default 1), as by train. In both cases,
some gradients take much longer than others (--compute-time).

ε does not depend on the delay. It covers one training: trainings with the same seed share
their noise, and no ε covers them together.

With --runner hogwild, one goroutine for each client really waits for these durations.
Times, staleness and idle time are then measured, and differ from run to run. A virtual
second takes --time-scale real seconds (default 20).

--out writes pictures (accuracy against time and against the delay, staleness, idle
time, the first rounds as a timeline), each in a folder with its data and a manifest. It
also keeps finished runs there, so that an interrupted command can continue. Without
--out nothing is kept.`,
		Example: `  proactivedp delay
  proactivedp delay --delays 0,1,4,sqrt,unlimited --seeds 5 --out out/delay
  proactivedp delay --data my.libsvm --partition shard --clients 10 --compute-time pareto:2ms,1.3 --json`,
		Args: cli.NoArgs,
		RunE: f.run,
	}
	f.add(cmd)
	return cmd
}

func (f *delayFlags) add(cmd *cobra.Command) {
	f.where.AddWithin(cmd)
	f.where.Own.Add(cmd)
	f.sweep.Add(cmd)
	f.train.Add(cmd, cli.SettingFlags, cli.PointFlags, cli.NoiseFlags)
	fs, o := cmd.Flags(), &f.options
	for _, name := range []string{"delay", "seed"} {
		fs.Lookup(name).Hidden = true // other flags list the delays and give the number of seeds
	}
	fs.Lookup("partition").DefValue = "replicate, or shard for your own file"
	fs.Lookup("time-scale").Usage = fmt.Sprintf("with --runner hogwild: real seconds for each virtual second, "+
		"in (0, 1e6] (default %d)", experiments.UsualTimeScale)
	fs.StringSliceVar(&f.spec.Delays, "delays", f.spec.Delays,
		"permissible delays Υ to compare, each as --delay of train; quote one that contains commas, as in "+
			"'0,\"clients:1,1,1,1,8\"'")
	cli.CountVar(fs, &f.spec.Seeds, "seeds", f.spec.Seeds, "how many seeds, from 1 on, in [1, 10000]")
	fs.Float64Var(&f.spec.Margin, "margin", f.spec.Margin, "how much accuracy a delay may lose in the verdict, in (0, 1)")
	fs.StringVar(&o.Out, "out", "", "`folder` for pictures and finished runs")
	f.drawing.add(fs)
	cli.CountVar(fs, &o.Workers, "workers", o.Workers, "runs at the same time, at least 1; never changes the result")
	cli.AddJSON(fs)
	cli.AddStatement(fs)
}

func (f *delayFlags) run(cmd *cobra.Command, _ []string) (err error) {
	if err := errors.Join(cli.CheckForm(cmd), f.sweep.Check(cmd)); err != nil {
		return err
	}
	if err := f.fill(cmd); err != nil {
		return err
	}
	d, err := f.where.LoadFor(cmd, f.spec.Train)
	if err != nil {
		return err
	}
	source := train.NewSource(d)
	f.train.OwnModel(cmd, d)
	if cli.OwnFile(f.spec.Train.Data) || f.spec.Train.TargetEpsilon != 0 {
		if err := f.train.ChooseOwn(cmd, source, f.spec.Seeds, f.train.Open(cmd, 0)); err != nil {
			return err
		}
		f.spec.Train = f.train.Spec
	}
	cli.SayWithoutNoise(cmd, f.spec.Train.Data, f.spec.Train.NoiseMultiplier)
	if _, err := source.Prepare(f.spec.Train); err != nil {
		return cli.Usage(err)
	}
	o := &f.options
	o.Progress, o.Memory = cmd.ErrOrStderr(), int64(f.where.Memory)
	if o.Elsewhere, err = f.sweep.Open(cmd); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.sweep.Close()) }()
	r, err := f.spec.Compare(cmd.Context(), source, *o)
	if err != nil {
		return err
	}
	if o.Out != "" {
		cli.Say(cmd, "pictures in %s", o.Out)
	}
	return cli.Report(cmd, r)
}

// fill completes the spec and the options, and returns an error for what is wrong with them.
func (f *delayFlags) fill(cmd *cobra.Command) error {
	if err := f.train.Fill(cmd, usualOfDelays); err != nil {
		return err
	}
	t, o := &f.spec.Train, &f.options
	*t = f.train.Spec
	clock := scaledClock(cmd, t.Runner)
	switch {
	case clock != nil:
		t.TimeScale = 0 // the error is already reported
	case t.Runner == train.HogwildRunner && !cmd.Flags().Changed("time-scale"):
		t.TimeScale = experiments.UsualTimeScale
	}
	f.train.Spec.TimeScale = t.TimeScale // which ChooseOwn keeps
	drawing := f.drawing.check(cmd, o.Out)
	o.Drawing = f.drawing.Drawing
	o.Command = func(s experiments.DelaySpec) string {
		return delayCommand(s) + cli.OwnText(cmd) + drawingText(o.Drawing)
	}
	errs := []error{clock, checkTarget(cmd, *t), checkTrain(cmd, *t, f.spec.Validate(), o.Workers), drawing,
		cli.Refuse(cmd, "is not for this command: list delays in --delays", "delay"),
		cli.Refuse(cmd, "is not for this command: --seeds says how many, from 1", "seed")}
	if err := cli.Distinct(errs); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// usualOfDelays returns the default settings for a model and a data set. The clients divide the records
// of a user's file among themselves. Until their number is known, the batch size is 1.
func usualOfDelays(model, dataset string) train.Spec {
	s := experiments.DefaultDelaySpec(model, dataset).Train
	if cli.OwnFile(dataset) {
		s.Partition, s.SampleSize = string(data.Shard), "1"
	}
	return s
}

// scaledClock returns an error for a --time-scale with a runner that has no real clock.
func scaledClock(cmd *cobra.Command, runner string) error {
	if runner == train.HogwildRunner || !cmd.Flags().Changed("time-scale") {
		return nil
	}
	return errors.New("--time-scale is of a real clock, give --runner hogwild with it")
}
