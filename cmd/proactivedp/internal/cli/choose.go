package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/train"
)

// OwnUsual returns a function that gives the default settings for a model and a data set. For a named data
// set it calls paper. For a user's file the defaults differ in two settings: there is one client, and the
// batch size is 1, which any file allows. When the number of records is known, [TrainFlags.Choose] or the
// loop of auto replaces the values that the user has not given.
func OwnUsual(paper func(model, dataset string) train.Spec) func(model, dataset string) train.Spec {
	return func(model, dataset string) train.Spec {
		s := paper(model, dataset)
		if OwnFile(dataset) {
			s.Clients, s.SampleSize = 1, "1"
		}
		return s
	}
}

// OwnModel sets the model of t to softmax regression if the user gave no model and the user's file has images or more
// than two classes. The number of classes is public: --label-map states it.
func (t *TrainFlags) OwnModel(cmd *cobra.Command, d *data.Dataset) {
	if !OwnFile(t.Spec.Data) || cmd.Flags().Changed(ModelFlag(cmd)) || d.Images == nil && d.Classes <= 2 {
		return
	}
	t.Spec.Model = train.Softmax
	why := fmt.Sprintf("%d classes", d.Classes)
	if d.Images != nil {
		why = "images"
	}
	Say(cmd, "%s has %s, so the model is %s (--%s)", t.Spec.Data, why, t.Spec.Model, ModelFlag(cmd))
}

// ModelFlag returns the name of the command's flag for the model.
func ModelFlag(cmd *cobra.Command) string {
	if cmd.Flags().Lookup("model") == nil {
		return "models"
	}
	return "model"
}

// SayWithoutNoise prints a warning to stderr if a command will train on a user's file without noise,
// because the model can then reveal the records.
func SayWithoutNoise(cmd *cobra.Command, name string, sigmas ...float64) {
	if OwnFile(name) && slices.Contains(sigmas, 0) {
		Say(cmd, "WARNING: this trains on %s without noise: the model, and all that is printed of it, can reveal its "+
			"records; no (ε, δ) covers that, so do it only if they are public", name)
	}
}

// Repeatable returns usual, the settings of a command without flags, as the base of [FlagsText]. For a user's file,
// FlagsText then states every setting that [TrainFlags.Choose] would choose anew when the command is given again.
func Repeatable(usual train.Spec) train.Spec {
	if OwnFile(usual.Data) {
		usual.SampleSize, usual.GradComps, usual.Clip, usual.Eta0, usual.Schedule = "", 0, 0, 0, ""
		usual.NoiseMultiplier, usual.Split = -1, train.RecordSplit
	}
	return usual
}

// Open returns which settings of a training were not given by flags: [TrainFlags.Choose] must choose these. epochs is
// the value of --epochs, or 0. On a named data set, whose defaults are the paper's, they are the noise for
// --target-epsilon, and without a step size also this and the clipping norm: the paper's are for the paper's noise.
func (t *TrainFlags) Open(cmd *cobra.Command, epochs float64) train.Open {
	missing := func(names ...string) bool { return !AnyChanged(cmd, names...) }
	open := train.Open{
		SampleSize: missing("batch-size"), GradComps: missing("grad-computations"), Delta: missing("delta"),
		Clip: missing("max-grad-norm"), Eta0: missing("eta0", "learning-rate"), Schedule: missing("schedule", "beta"),
		Noise: missing("noise-multiplier"), Epochs: epochs,
	}
	if !OwnFile(t.Spec.Data) {
		return train.Open{Clip: open.Clip, Eta0: open.Eta0, Schedule: open.Schedule, Noise: true}
	}
	if dp.Sampling(t.Spec.Sampling) == dp.Allocation {
		open.SampleSize = false // it follows from --batches
	}
	if !missing("steps") {
		if open.Rounds = t.units.steps; !open.SampleSize {
			open.GradComps, open.Rounds = false, 0
		}
	}
	return open
}

// Choose chooses the open settings of a training on a user's file, puts them into t.Spec, and prints them to stderr.
// p is the training with preliminary settings.
func (t *TrainFlags) Choose(
	ctx context.Context, cmd *cobra.Command, p *train.Prepared, open train.Open, epsilon float64,
) error {
	chosen, text, err := p.Choose(ctx, open, epsilon)
	if err != nil {
		return err
	}
	if text != "" {
		what := "this"
		if open.Delta && cmd.Flags().Lookup("delta") == nil {
			what = "all but δ"
		}
		Say(cmd, "%s; flags override %s", text, what)
	}
	return t.Fill(cmd, func(string, string) train.Spec { return chosen })
}

// ChooseOwn chooses the open settings of trainings with several seeds, and puts them into t.Spec, which has preliminary
// settings. If the noise is open, it is the least with which no seed's training costs more than the target epsilon of
// t.Spec, or else [train.UsualEpsilon].
func (t *TrainFlags) ChooseOwn(cmd *cobra.Command, source *train.Source, seeds int, open train.Open) error {
	epsilon := cmp.Or(t.Spec.TargetEpsilon, train.UsualEpsilon)
	t.Spec.TargetEpsilon = 0
	p, err := source.Prepare(t.Spec)
	if err != nil {
		return Usage(err)
	}
	if open.Rounds > 0 && open.MostSize == 0 {
		if open.MostSize, err = source.LeastRecords(t.Spec, seeds); err != nil {
			return Usage(err)
		}
	}
	if OwnFile(t.Spec.Data) || open.Eta0 {
		if err := t.Choose(cmd.Context(), cmd, p, open, epsilon); err != nil {
			return Usage(err)
		}
	}
	if !open.Noise {
		return nil
	}
	t.Spec, err = source.CalibrateSeeds(cmd.Context(), t.Spec, seeds, epsilon)
	t.Spec.TargetEpsilon = 0 // σ is already calibrated
	return err
}
