package training

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/experiments"
	"proactivedp/internal/message"
	"proactivedp/train"
)

// ownFigures are the figures of a file of the user's own.
type ownFigures struct {
	flags    cli.TrainFlags
	spec     train.Spec // of which they are
	epsilons []float64  // of the ε sweep
}

// ownFigureFlags are the flags of the trainings, by name.
var ownFigureFlags = []string{"data", "model", "clients", "partition", "features", "input-scale", "split", "lambda",
	"grad-computations", "batch-size", "max-grad-norm", "eta0", "beta", "schedule", "momentum", "delay", "delta"}

// add gives cmd the flags.
func (o *ownFigures) add(cmd *cobra.Command, where *cli.DataFlags) {
	o.flags.Spec = train.DefaultSpec()
	o.flags.AddNamed(cmd, ownFigureFlags...)
	cli.NumbersVar(cmd.Flags(), &o.epsilons, "epsilons", experiments.OwnEpsilons, "with --data: target epsilons of a "+
		"record, certified, that the ε sweep compares, each in [1e-8, 1e4]")
	where.Own.Add(cmd)
	for _, name := range []string{"data", "grad-computations", "batch-size"} {
		cmd.Flags().Lookup(name).DefValue = ""
	}
	cmd.Flags().Lookup("eta0").DefValue = "0" // of which the help says nothing
	cmd.Flags().Lookup("data").Usage = "make figures of an own `file`: a utility graph, batch sizes, an ε sweep " +
		"and permissible delays, by the settings below, of which those not given follow from the number of records"
}

// asked reports whether the figures are of the user's own data, and what contradicts that.
func (o *ownFigures) asked(cmd *cobra.Command, args []string) (bool, error) {
	given := append([]string{"epsilons"}, ownFigureFlags...)
	if !cmd.Flags().Changed("data") {
		var errs []error
		for _, name := range append(given, cli.OwnFlagNames...) {
			if cmd.Flags().Changed(name) {
				errs = append(errs, errors.New("--"+name+" is for --data, which is not given"))
			}
		}
		return false, errors.Join(errs...)
	}
	errs := []error{cli.RefuseWith(cmd, "data", "allow-stand-in", "list"), cli.CheckData(o.flags.Spec.Data),
		experiments.CheckEpsilons(o.epsilons)}
	if len(args) > 0 {
		errs = append(errs, errors.New("names of figures are not for --data, must be left out: all four are made"))
	}
	if !cli.OwnFile(o.flags.Spec.Data) {
		errs = append(errs, errors.New("--data is for an own file: figures of named sets have names, see --list"))
	}
	return true, errors.Join(errs...)
}

// figures returns the figures of so many seeds, and their data.
func (o *ownFigures) figures(cmd *cobra.Command, where *cli.DataFlags, seeds int) (
	[]experiments.Figure, *data.Dataset, error,
) {
	if err := o.flags.Fill(cmd, func(model, dataset string) train.Spec {
		if model == "" {
			model = train.Ridge
		}
		return experiments.OwnSpec(model, dataset, 1)
	}); err != nil {
		return nil, nil, err
	}
	o.spec = o.flags.Spec
	if err := checkTrain(cmd, o.spec, o.spec.Validate(), 1); err != nil {
		return nil, nil, err
	}
	d, err := where.LoadFor(cmd, o.spec)
	if err != nil {
		return nil, nil, err
	}
	source := train.NewSource(d)
	p, err := source.Prepare(o.spec)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	n := p.Config.Mechanism.DatasetSize
	if err := o.flags.Fill(cmd, func(string, string) train.Spec {
		return experiments.OwnSpec(o.spec.Model, o.spec.Data, n)
	}); err != nil {
		return nil, nil, err
	}
	o.spec = o.flags.Spec
	if _, err := source.Prepare(o.spec); err != nil {
		return nil, nil, cli.Usage(err)
	}
	// Figures that do not vary ε have the noise of ε = 1.
	calibrated, err := source.CalibrateSeeds(cmd.Context(), o.spec, seeds, 1)
	if err != nil {
		return nil, nil, err
	}
	o.spec.NoiseMultiplier = calibrated.NoiseMultiplier
	one, err := source.Prepare(o.spec)
	if err != nil {
		return nil, nil, err
	}
	if !cmd.Flags().Changed("eta0") {
		text := strconv.FormatFloat(experiments.OwnSteps(one), 'g', 3, 64)
		if o.spec.Eta0, err = strconv.ParseFloat(text, 64); err != nil {
			return nil, nil, err
		}
	}
	figures, err := experiments.OwnFigures(cmd.Context(), source, o.spec, n, seeds, o.epsilons, o.name())
	return figures, d, err
}

// name is what the names of the figures begin with: the file's and the model's.
func (o *ownFigures) name() string {
	base := filepath.Base(o.spec.Data)
	base, _, _ = strings.Cut(base, ".")
	return strings.Map(func(c rune) rune {
		if c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' {
			return c
		}
		return '-'
	}, strings.ToLower(base)+"-"+o.spec.Model)
}

// text states the flags of the figures.
func (o *ownFigures) text(where *cli.DataFlags) string {
	text := " --data " + message.Word(o.spec.Data) + " --model " + o.spec.Model +
		cli.FlagsText(o.spec, train.DefaultSpec(), "data", "model", "noise-multiplier") + where.Own.Text()
	if !slices.Equal(o.epsilons, experiments.OwnEpsilons) {
		text += " --epsilons " + listText(o.epsilons)
	}
	return text
}
