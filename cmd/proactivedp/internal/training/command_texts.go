package training

import (
	"fmt"
	"slices"
	"strings"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/experiments"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
	"proactivedp/propose"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Commands that make a result again, as manifests state them. They do not say where the data are.

func figureCommand(figure experiments.Figure, synthetic bool, o experiments.MakeOptions) string {
	text := strings.TrimSuffix("proactivedp figures "+figure.Name, " ") + fmt.Sprintf(" --seeds %d", o.Seeds)
	if o.Scale < 1 {
		text += fmt.Sprintf(" --scale %g", o.Scale)
	}
	if figure.Sizes {
		text += message.Option("sizes", listText(o.Sizes))
	}
	if figure.Equal {
		text += message.Option("target-epsilon", o.Epsilon)
	}
	if o.Runner == train.HogwildRunner {
		text += fmt.Sprintf(" --runner %s --time-scale %g", o.Runner, o.TimeScale)
	}
	text += drawingText(o.Drawing)
	if synthetic {
		text += " --allow-stand-in"
	}
	return text
}

// delayCommand returns the command that makes a comparison again.
func delayCommand(s experiments.DelaySpec) string {
	delays := strings.Join(s.Delays, ",")
	if slices.ContainsFunc(s.Delays, func(d string) bool { return strings.Contains(d, ",") }) {
		delays = `'"` + strings.Join(s.Delays, `","`) + `"'`
	}
	usual := cli.Repeatable(usualOfDelays(s.Train.Model, s.Train.Data))
	margin := ""
	if s.Margin != experiments.DefaultMargin {
		margin = fmt.Sprintf(" --margin %v", s.Margin)
	}
	return fmt.Sprintf("proactivedp delay --model %s --data %s --delays %s --seeds %d", s.Train.Model,
		message.Word(s.Train.Data), delays, s.Seeds) + margin +
		cli.FlagsText(s.Train, usual, "model", "data", "seed")
}

// searchCommand returns the command that makes a search again. It always has the main flags, and
// adds those that differ from the paper's search.
func searchCommand(s experiments.SearchSpec) string {
	text := fmt.Sprintf("proactivedp search --data %s --models %s", message.Word(s.Train.Data), strings.Join(s.Models, ",")) +
		message.Option("max-grad-norm", listText(s.Clips)) + message.Option("eta0", listText(s.Eta0))
	text += fmt.Sprintf(" --beta %s --noise-multiplier %s --batch-size %s --schedule %s --scale %v --proxy %v --seeds %d",
		listText(s.Beta), listText(s.Sigmas), s.Train.SampleSize, s.Train.Schedule, s.Scale, s.Proxy, s.Seeds)
	usual := cli.Repeatable(cli.OwnUsual(func(model, dataset string) train.Spec {
		return experiments.PaperSearch(model, dataset).Train
	})(s.Models[0], s.Train.Data))
	return text + cli.FlagsText(s.Train, usual, "model", "data", "batch-size", "noise-multiplier", "max-grad-norm", "eta0", "beta",
		"schedule", "seed", "delta")
}

// trainCommand returns the command that trains a setting. It always has the flags that a search
// decides, and adds those that differ from the paper's setting.
func trainCommand(s train.Spec) string {
	text := fmt.Sprintf("proactivedp train --model %s --data %s --noise-multiplier %v --eta0 %v --beta %v --schedule %s", s.Model,
		message.Word(s.Data), s.NoiseMultiplier, s.Eta0, s.Beta, s.Schedule)
	usual := cli.Repeatable(cli.OwnUsual(pool.Train)(s.Model, s.Data))
	stated := []string{"model", "data", "noise-multiplier", "eta0", "beta", "schedule"}
	if size, err := decimal.Count(s.SampleSize); err == nil && s.Batches > 0 {
		// --batches gives the batch size, with which --grad-computations cannot be given
		text += fmt.Sprintf(" --steps %d", s.GradComps/size)
		stated = append(stated, "batch-size", "grad-computations")
	}
	return text + cli.FlagsText(s, usual, stated...)
}

// utilityCommand returns the command that makes a utility graph again.
func utilityCommand(s pool.UtilitySpec, clips []float64) string {
	usual, _ := usualOfUtility(s.Train.Model, s.Train.Data)
	text := fmt.Sprintf("proactivedp utility --data %s --model %s --max-grad-norm %s --noise-multiplier %s --draws %d",
		message.Word(s.Train.Data), s.Train.Model, listText(clips), listText(s.Sigmas), s.Draws)
	return text + cli.FlagsText(s.Train, cli.Repeatable(usual.Train), "model", "data", "max-grad-norm", "noise-multiplier")
}

func proposeCommand(r propose.Request, probe string, against float64) string {
	base := cli.OwnUsual(pool.Train)(r.Base.Model, r.Base.Data)
	if cli.OwnFile(base.Data) {
		base.Split = train.RecordSplit
	}
	usual := propose.DefaultRequest(base, r.Epsilon)
	text := fmt.Sprintf("proactivedp propose --data %s --model %s", message.Word(r.Base.Data), r.Base.Model) +
		message.Option("target-epsilon", r.Epsilon) + message.Option("target", r.TargetAccuracy)
	if !slices.Equal(r.Rounds, usual.Rounds) {
		text += " --steps " + listText(r.Rounds)
	}
	text += fmt.Sprintf(" --seeds %d --count %d", r.Seeds, r.Count) + message.Option("probe", probe) + message.Option("against-grid", against)
	return text + cli.FlagsText(r.Base, usual.Base, "model", "data")
}

// listText writes numbers in the form of a flag's list.
func listText[T int | float64](x []T) string {
	texts := make([]string, len(x))
	for i, v := range x {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, ",")
}
