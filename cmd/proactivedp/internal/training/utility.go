package training

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/experiments"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

type utilityFlags struct {
	where   cli.DataFlags
	train   cli.TrainFlags
	spec    pool.UtilitySpec
	clips   []float64
	out     string
	drawing drawingFlags
}

func newUtility() *cobra.Command {
	var f utilityFlags
	f.spec, f.clips = experiments.PaperUtilitySpec("", "")
	f.train.Spec = f.spec.Train
	cmd := &cobra.Command{
		Use:   "utility",
		Short: "Measure how much accuracy a trained model keeps under noise, for σ and C",
		Long: `Train w* with clipping and without noise, add noise n ~ N(0, C²σ²I), and print the test
accuracy of w* + n divided by the test accuracy of w*. This is the paper's utility graph.
It shows before any private training which (σ, C) cannot work. It looks at the data without
noise, so no (ε, δ) covers it. For a named data set, the defaults are the paper's, except
the step size of networks. For your own file, w* is trained by one client, with the batch
size, steps and step size that train would choose for ε = 1.

Each C has its own w*, trained with that C. The noise depends on Cσ only. So for one w* and
all C, give one C: another C' tolerates C/C' times its σ.`,
		Example: `  proactivedp utility
  proactivedp utility --data mushrooms --max-grad-norm 0.1 --noise-multiplier 5,18,22 --json`,
		Args: cli.NoArgs,
		RunE: f.run,
	}
	f.add(cmd)
	return cmd
}

func (f *utilityFlags) add(cmd *cobra.Command) {
	f.where.AddWithin(cmd)
	f.where.Own.Add(cmd)
	f.train.Add(cmd, cli.SettingFlags, cli.PointFlags)
	fs := cmd.Flags()
	cli.NumbersVar(fs, &f.clips, "max-grad-norm", f.clips, "clipping norms C, in [1e-30, 1e30]")
	cli.NumbersVar(fs, &f.spec.Sigmas, "noise-multiplier", f.spec.Sigmas, "noise multipliers σ, at least 0")
	cli.CountVar(fs, &f.spec.Draws, "draws", f.spec.Draws, "random draws of the noise n for each point, in [1, 1000000]")
	fs.StringVar(&f.out, "out", "", "`folder` for the graph as a picture, with its data and a manifest")
	f.drawing.add(fs)
	cli.AddJSON(fs)
}

func (f *utilityFlags) run(cmd *cobra.Command, _ []string) error {
	if err := f.fill(cmd); err != nil {
		return err
	}
	d, err := f.where.LoadFor(cmd, f.spec.Train)
	if err != nil {
		return err
	}
	cli.SayWithoutNoise(cmd, f.spec.Train.Data, 0)
	source := train.NewSource(d)
	if err := f.chooseOwn(cmd, source); err != nil {
		return err
	}
	p, err := source.Prepare(f.spec.Train)
	if err != nil {
		return cli.Usage(err)
	}
	perf := sim.Perf{Workers: runtime.GOMAXPROCS(0)}
	if err := p.Fits(perf, int64(f.where.Memory)); err != nil {
		return err
	}
	start := time.Now()
	r, err := experiments.Graph(cmd.Context(), f.spec, source, f.clips, perf, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if f.out != "" {
		command := utilityCommand(f.spec, f.clips) + cli.OwnText(cmd) + drawingText(f.drawing.Drawing)
		if err := r.Write(f.out, command, f.drawing.Drawing, source, time.Since(start)); err != nil {
			return err
		}
	}
	return cli.Report(cmd, r)
}

// chooseOwn chooses the settings of a training on a user's file that no flag gives, for the largest of the clipping
// norms.
func (f *utilityFlags) chooseOwn(cmd *cobra.Command, source *train.Source) error {
	if !cli.OwnFile(f.spec.Train.Data) {
		return nil
	}
	f.train.OwnModel(cmd, source.Data())
	f.train.Spec.Clip = slices.Max(f.clips)
	open := f.train.Open(cmd, 0)
	if open.SampleSize || open.GradComps || open.Eta0 || open.Schedule {
		open.Clip, open.Noise = false, true // the step size is that of a training with noise
		p, err := source.Prepare(f.train.Spec)
		if err == nil {
			err = f.train.Choose(cmd.Context(), cmd, p, open, train.UsualEpsilon)
		}
		if err != nil {
			return cli.Usage(err)
		}
	}
	f.spec.Train = f.train.Spec
	f.spec.Train.NoiseMultiplier, f.spec.Train.Delta = 0, 0 // w* has neither
	return nil
}

// usualOfUtility returns the default settings for a model and a data set, and the clipping norms. The penalty of a
// user's file is that of train.
func usualOfUtility(model, dataset string) (pool.UtilitySpec, []float64) {
	spec, clips := experiments.PaperUtilitySpec(model, dataset)
	if cli.OwnFile(dataset) {
		spec.Train.Lambda = 0
	}
	spec.Train = cli.OwnUsual(func(string, string) train.Spec { return spec.Train })(model, dataset)
	return spec, clips
}

// fill completes the graph with the paper's values for what was not given, and returns an error for
// what is wrong with it.
func (f *utilityFlags) fill(cmd *cobra.Command) error {
	if err := f.train.Fill(cmd, func(model, dataset string) train.Spec {
		paper, clips := usualOfUtility(model, dataset)
		f.clips = cli.Given(cmd, "max-grad-norm", f.clips, clips)
		f.spec.Sigmas = cli.Given(cmd, "noise-multiplier", f.spec.Sigmas, paper.Sigmas)
		f.spec.Draws = cli.Given(cmd, "draws", f.spec.Draws, paper.Draws)
		return paper.Train
	}); err != nil {
		return err
	}
	f.spec.Train = f.train.Spec
	slices.Sort(f.clips)
	errs := []error{f.spec.Validate(), f.drawing.check(cmd, f.out)}
	for _, clip := range f.clips {
		one := f.spec.Train
		one.Clip = clip
		errs = append(errs, one.Validate())
	}
	if len(f.clips) == 0 {
		errs = append(errs, errors.New("--max-grad-norm: none given, must be at least one"))
	}
	return checkTrain(cmd, f.spec.Train, cli.Distinct(errs), 1)
}
