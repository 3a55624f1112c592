package training

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/experiments"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
	"proactivedp/internal/results"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// ownFigures are the flags for figures of a user's file.
type ownFigures struct {
	flags    cli.TrainFlags // of the training that the figures show
	public   bool           // --public: the records may be looked at without noise
	epsilons []float64      // for the ε sweep
}

// ownFigureFlags are the flags of the trainings, by name.
var ownFigureFlags = []string{"data", "model", "clients", "partition", "features", "input-scale", "split", "lambda",
	"grad-computations", "batch-size", "max-grad-norm", "eta0", "beta", "schedule", "momentum", "delay", "delta",
	"metric"}

func (o *ownFigures) add(cmd *cobra.Command, where *cli.DataFlags) {
	o.flags.Spec = train.DefaultSpec()
	o.flags.AddNamed(cmd, ownFigureFlags...)
	cli.NumbersVar(cmd.Flags(), &o.epsilons, "epsilons", experiments.OwnEpsilons, "with --data: target epsilons of a "+
		"record, certified, that the ε sweep compares, each in [1e-8, 1e4]")
	cmd.Flags().BoolVar(&o.public, "public", false, "say that the records of --data are public: the figures look at them "+
		"without noise, and no (ε, δ) covers that")
	where.Own.Add(cmd)
	for _, name := range []string{"data", "grad-computations", "batch-size"} {
		cmd.Flags().Lookup(name).DefValue = ""
	}
	cmd.Flags().Lookup("eta0").DefValue = "0" // the help shows no default of 0
	cmd.Flags().Lookup("data").Usage = "make figures of your own `file`: a utility graph, batch sizes, an ε sweep " +
		"and, with several --clients, permissible delays; settings that are not given follow from the number of records"
}

// asked reports whether the user wants figures of their own data. The error lists flags that
// contradict that.
func (o *ownFigures) asked(cmd *cobra.Command, args []string) (bool, error) {
	given := append([]string{"epsilons", "public"}, ownFigureFlags...)
	if !cmd.Flags().Changed("data") {
		return false, cli.Refuse(cmd, "is for --data, which is not given", append(given, cli.OwnFlagNames...)...)
	}
	errs := []error{cli.RefuseWith(cmd, "data", "allow-stand-in", "list"), cli.CheckData(o.flags.Spec.Data),
		experiments.CheckEpsilons(o.epsilons)}
	if len(args) > 0 {
		errs = append(errs, errors.New("names of figures are not for --data, must be left out: all are made"))
	}
	if !cli.OwnFile(o.flags.Spec.Data) {
		errs = append(errs, errors.New("--data is for your own file: figures of named sets have names, see --list"))
	} else if !o.public {
		errs = append(errs, fmt.Errorf("--public is missing: the figures train on %s without noise and show the result, "+
			"which no (ε, δ) covers; give it if the records are public, else use propose, train or auto", o.flags.Spec.Data))
	}
	return true, errors.Join(errs...)
}

// figures returns the figures for the given number of seeds and the folder out, and their data. If the figures are
// only drawn again, the number of seeds is that of their manifest, because the noise depends on it.
func (o *ownFigures) figures(cmd *cobra.Command, where *cli.DataFlags, seeds int, out string, redraw bool) (
	[]experiments.Figure, *data.Dataset, error,
) {
	if err := o.flags.Fill(cmd, cli.OwnUsual(pool.Train)); err != nil {
		return nil, nil, err
	}
	if err := checkTrain(cmd, o.flags.Spec, o.flags.Spec.Validate(), 1); err != nil {
		return nil, nil, err
	}
	if _, err := decimal.Count(o.flags.Spec.SampleSize); err != nil {
		return nil, nil, cli.Usage(fmt.Errorf("--batch-size = %q, must be one number: the figures compare several around it",
			o.flags.Spec.SampleSize))
	}
	d, err := where.LoadFor(cmd, o.flags.Spec)
	if err != nil {
		return nil, nil, err
	}
	o.flags.OwnModel(cmd, d)
	name := o.name(out)
	if redraw {
		seeds = cmp.Or(o.seedsOf(out, name), o.seedsOf(out, "own-"+name), seeds)
	}
	source := train.NewSource(d)
	open := o.flags.Open(cmd, 0)
	open.Noise = true // figures other than the ε sweep have the noise for UsualEpsilon
	if err := o.flags.ChooseOwn(cmd, source, seeds, open); err != nil {
		return nil, nil, err
	}
	p, err := source.Prepare(o.flags.Spec)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	figures, err := experiments.OwnFigures(cmd.Context(), source, o.flags.Spec, p.Config.Mechanism.DatasetSize, seeds, o.epsilons, name)
	return figures, d, err
}

// name returns the beginning of the figures' names: the name of the file and the model. It has the
// letters and digits of every alphabet, and no hyphen at its ends. If the folder out has figures of
// another file with this name, a number is appended.
func (o *ownFigures) name(out string) string {
	base := filepath.Base(o.flags.Spec.Data)
	base, _, _ = strings.Cut(base, ".")
	readable := func(text string) string {
		return strings.Trim(strings.Map(func(c rune) rune {
			if unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c) {
				return unicode.ToLower(c)
			}
			return '-'
		}, text), "-")
	}
	stem, model := cmp.Or(readable(base), "data"), readable(o.flags.Spec.Model)
	for n := 1; ; n++ {
		name := stem + "-" + model
		if n > 1 {
			name = fmt.Sprintf("%s-%d-%s", stem, n, model)
		}
		if m, is := readMade(out, name); !is || m.of(o.flags.Spec.Data) {
			return name
		}
	}
}

// made is the part of a figure's manifest that says how it was made.
type made struct {
	Command string `json:"command"`
	Seeds   int    `json:"seeds"`
}

// readMade reads the manifest of the ε sweep in out whose name begins with name. It returns false if there is no
// valid manifest: a damaged one is refused later, when figures are written.
func readMade(out, name string) (made, bool) {
	var m made
	text, err := results.ManifestText(out, name+"-epsilon")
	is := err == nil && json.Unmarshal(text, &m) == nil
	return m, is
}

// of reports whether the figure was made from the data file.
func (m made) of(data string) bool {
	return strings.Contains(m.Command+" ", " --data "+message.Word(data)+" ")
}

// seedsOf returns the number of seeds of the figures in out whose names begin with name, or 0 if there are none of
// this file.
func (o *ownFigures) seedsOf(out, name string) int {
	m, is := readMade(out, name)
	if !is || !m.of(o.flags.Spec.Data) || experiments.CheckSeeds(m.Seeds) != nil {
		return 0
	}
	return m.Seeds
}

func (o *ownFigures) text(cmd *cobra.Command) string {
	spec := o.flags.Spec
	usual := cli.Repeatable(cli.OwnUsual(pool.Train)(spec.Model, spec.Data))
	text := " --data " + message.Word(spec.Data) + " --model " + spec.Model +
		" --public" + cli.FlagsText(spec, usual, "data", "model", "noise-multiplier") + cli.OwnText(cmd)
	if !slices.Equal(o.epsilons, experiments.OwnEpsilons) {
		text += message.Option("epsilons", listText(o.epsilons))
	}
	return text
}
