package training

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/cmd/proactivedp/internal/machines"
	"proactivedp/data"
	"proactivedp/data/fetch"
	"proactivedp/experiments"
	"proactivedp/internal/decimal"
	"proactivedp/internal/results"
	"proactivedp/plan"
	"proactivedp/propose"
	"proactivedp/sim"
	"proactivedp/train"
)

// quickScale is the fraction of K that is enough for a first look.
const quickScale = 0.05

type figuresFlags struct {
	where   cli.DataFlags
	sweep   machines.SweepFlags
	drawing drawingFlags
	own     ownFigures
	options experiments.MakeOptions
	list    bool
	quick   bool
	dryRun  bool
	redraw  bool
	standIn bool
}

func newFigures() *cobra.Command {
	f := figuresFlags{options: experiments.MakeOptions{Out: "out", Seeds: 5, Scale: 1, Workers: runtime.GOMAXPROCS(0),
		Runner: train.VirtualRunner, TimeScale: experiments.UsualTimeScale}}
	cmd := &cobra.Command{
		Use:   "figures [name…]",
		Short: "Make the paper's figures: picture, data and manifest",
		Long: `Make figures from training runs: utility graphs, sample-size sweeps, ε sweeps, and the
accuracy and time of asynchronous training on a virtual clock (see delay). Each figure gets
a folder with figure.png, data.csv and manifest.json. Names may be globs. Without a name,
all figures of logistic regression are made.

The settings are the paper's, except the step size of networks, which was chosen on
held-out records (see search). Networks take long at full size. --scale runs only a part
of each training, and the plot says so.

With --runner hogwild the clients are goroutines that train in parallel, as in the paper,
and delays are compared in real time. Such a result cannot be repeated exactly; the plot
and the manifest say so. The figures *-runners compare both runners.

--data makes figures of your own file. Settings that you do not give follow from its number
of records. The figures look at the records without noise, which no (ε, δ) covers, so they
need --public.

An interrupted command continues from the runs that it keeps below --out, both finished and
unfinished ones. --redraw draws figures in another style, all but timelines, and without a
name also predictions (see propose --check). It needs only the data.csv and the
manifest.json of a figure, not the runs. --add makes only the series that figures of budgets
lack, and for sample sizes at one ε it only measures times. Manifests say what was kept.`,
		Example: `  proactivedp figures --list
  proactivedp figures 'phishing-logreg-*' --quick
  proactivedp figures 'mnist-*' --scale 0.1 --seeds 1
  proactivedp figures --out out --seeds 5
  proactivedp figures phishing-logreg-sample-size --sizes 8,16,32,64
  proactivedp figures --data my.csv --label-column class --label-map no,yes --public
  proactivedp figures phishing-logreg-epsilon --format pdf --bare --width 3.25in --font serif
  proactivedp figures --out results --redraw --format pdf --font serif`,
		ValidArgsFunction: cli.Arguments(figureNames),
		RunE:              f.run,
	}
	f.add(cmd)
	return cmd
}

func (f *figuresFlags) add(cmd *cobra.Command) {
	f.where.AddWithin(cmd)
	f.sweep.Add(cmd)
	fs, o := cmd.Flags(), &f.options
	fs.StringVar(&o.Out, "out", o.Out, "`folder` to write to")
	cli.CountVar(fs, &o.Seeds, "seeds", o.Seeds, "how many seeds, from 1 on, in [1, 10000]")
	fs.Float64Var(&o.Scale, "scale", o.Scale,
		"run this part of the gradient computations, in (0, 1]; the plots show it")
	fs.StringVar(&o.Runner, "runner", o.Runner, "virtual (repeatable) or hogwild (goroutines; another run gives "+
		"another result)")
	fs.Float64Var(&o.TimeScale, "time-scale", o.TimeScale, "with hogwild: real seconds for each virtual second, in "+
		"figures that compare delays, in (0, 1e6]")
	cli.CountsVar(fs, &o.Sizes, "sizes", nil, "sample sizes that a sample-size sweep compares, each in [1, N] "+
		"(default: the paper's; with --data, up to four times --batch-size)")
	fs.Float64Var(&o.Epsilon, "target-epsilon", 0, "certified ε of a record at which *-sample-size-equal compares sample "+
		"sizes, in [1e-8, 1e4] (default: 1 with --data, otherwise the ε of the paper's largest size)")
	f.drawing.add(fs)
	f.own.add(cmd, &f.where)
	fs.BoolVar(&f.quick, "quick", false, fmt.Sprintf("short for --scale %v", quickScale))
	fs.BoolVar(&f.redraw, "redraw", false, "draw the figures in --out anew, in the style of the options above, from "+
		"their data.csv and manifest.json: nothing is trained")
	fs.BoolVar(&o.Add, "add", false, "of figures *-equal-epsilon, *-budget and *-sample-size-equal in --out, keep the series that they "+
		"have and make only the others: needs the same data and seeds")
	fs.BoolVar(&f.list, "list", false, "list the figures, with about how long each takes on two cores, and stop")
	fs.BoolVar(&f.dryRun, "dry-run", false, "print how many trainings the figures need, how many are kept in --out, and "+
		"about how long the others take, and train nothing")
	fs.BoolVar(&f.standIn, "allow-stand-in", false,
		"if a data set is found nowhere, use a synthetic data set instead and say so")
	cli.CountVar(fs, &o.Workers, "workers", o.Workers, "runs at the same time, at least 1; never changes the result")
}

func (f *figuresFlags) run(cmd *cobra.Command, args []string) (err error) {
	if err := f.sweep.Check(cmd); err != nil {
		return err
	}
	isOwn, err := f.own.asked(cmd, args)
	if err != nil {
		return cli.Usage(err)
	}
	figures, err := f.selected(cmd, args, isOwn)
	if err != nil {
		return cli.Usage(err)
	}
	if f.list {
		return listFigures(cmd.OutOrStdout(), figures)
	}
	if err := f.fill(cmd); err != nil {
		return cli.Usage(err)
	}
	o := &f.options
	if o.Runner == train.HogwildRunner && len(args) == 0 {
		figures = slices.DeleteFunc(figures, func(f experiments.Figure) bool { return f.Fixed })
	}
	if isOwn {
		if figures, err = f.ownFigures(cmd); err != nil {
			return err
		}
	}
	if f.dryRun {
		return planFigures(cmd, figures, *o)
	}
	if o.Elsewhere, err = f.sweep.Open(cmd); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.sweep.Close()) }()
	if f.redraw {
		return redrawn(cmd, experiments.Made(figures, o.Out), len(args) > 0, *o)
	}
	if err := experiments.Make(cmd.Context(), figures, *o); err != nil {
		return err
	}
	stated := ""
	if !isOwn {
		stated = " with what the paper states of them"
	}
	cli.Say(cmd, "figures in %s, listed in its %s%s", o.Out, results.PageFile, stated)
	return nil
}

// selected returns the figures with the given names. Without names it returns all figures, to list
// or redraw them, or those that do not take long, to make them.
func (f *figuresFlags) selected(cmd *cobra.Command, args []string, isOwn bool) ([]experiments.Figure, error) {
	if f.redraw {
		if err := cli.RefuseWith(cmd, "redraw", "list", "dry-run", "add", "quick", "scale", "seeds", "sizes", "target-epsilon", "runner", "time-scale",
			"allow-stand-in", "workers", "workers-at", "listen"); err != nil {
			return nil, err
		}
	}
	if len(args) == 0 && (f.list || f.redraw && !isOwn) {
		args = []string{"*"}
	}
	figures, err := experiments.Select(args)
	if err == nil && len(f.options.Sizes) > 0 && !isOwn &&
		!slices.ContainsFunc(figures, func(f experiments.Figure) bool { return f.Sizes }) {
		err = errors.New("--sizes is for sweeps of sample sizes, and no such figure is named: see --list for *-sample-size")
	}
	if err != nil || !cmd.Flags().Changed("target-epsilon") {
		return figures, err
	}
	err = plan.CheckEpsilon(f.options.Epsilon) // the options would read 0 as the default
	if err == nil && !isOwn &&
		!slices.ContainsFunc(figures, func(f experiments.Figure) bool { return f.Equal }) {
		err = errors.New("--target-epsilon is for sweeps at an equal ε, and no such figure is named: see --list for " +
			"*-sample-size-equal")
	}
	return figures, err
}

func listFigures(w io.Writer, figures []experiments.Figure) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range figures {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Name, f.Takes(), f.Title)
	}
	return table.Flush()
}

// planFigures prints how much work the figures need.
func planFigures(cmd *cobra.Command, figures []experiments.Figure, o experiments.MakeOptions) error {
	all, searched, err := experiments.Plan(cmd.Context(), figures, o)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "figure\ttrainings\tkept\ttime for the others\n")
	for i, f := range all {
		name := "all together" // less than the sum, because figures share trainings
		if i < len(figures) {
			name = figures[i].Name
		}
		about := "about " + roughly(f.Time)
		if f.Clock > 0 {
			about = fmt.Sprintf("more than %s: %s on a real clock", roughly(f.Time), decimal.Many(f.Clock, "training"))
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", name, f.Cells, f.Kept, about)
	}
	err = table.Flush()
	if searched > 0 && err == nil {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "Before that, %s are searched for, by trainings that are not counted here.\n",
			decimal.Many(searched, "setting"))
	}
	return err
}

// roughly writes a duration in rounded units.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", max(1, math.Ceil(d.Seconds())))
	case d < 90*time.Minute:
		return fmt.Sprintf("%.0f min", math.Ceil(d.Minutes()))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// fill completes the options, and returns an error for what is wrong with them.
func (f *figuresFlags) fill(cmd *cobra.Command) (err error) {
	o := &f.options
	if f.quick {
		if err := cli.RefuseWith(cmd, "quick", "scale"); err != nil {
			return err
		}
		o.Scale = quickScale
	}
	err = f.drawing.read(cmd)
	o.Drawing = f.drawing.Drawing
	if err := errors.Join(err, o.Validate(), cli.CheckWorkers(o.Workers)); err != nil {
		return err
	}
	if err := scaledClock(cmd, o.Runner); err != nil {
		return err
	}
	o.Progress, o.Memory = cmd.ErrOrStderr(), int64(f.where.Memory)
	o.Choose = func(ctx context.Context, source *train.Source, w experiments.ChoiceRequest) (train.Spec, error) {
		return choose(ctx, source, w, *o)
	}
	o.Loop = runLoop
	o.Command = func(figure experiments.Figure, synthetic bool) string {
		return figureCommand(figure, synthetic, *o)
	}
	o.Load = func(_ context.Context, name string) (*data.Dataset, error) { return f.load(cmd, name) }
	return nil
}

// load reads a named data set. If the set is not available and the flags allow it, load draws a
// synthetic one instead.
func (f *figuresFlags) load(cmd *cobra.Command, name string) (*data.Dataset, error) {
	d, err := f.where.Load(cmd, name)
	missing := errors.Is(err, fetch.ErrUnavailable) || errors.Is(err, fetch.ErrDamaged)
	if !f.standIn || !missing || !f.where.Obtainable(cmd) {
		return d, err
	}
	name = "synth-" + name
	fmt.Fprintf(cmd.ErrOrStderr(), "proactivedp: %v\nproactivedp: USING THE SYNTHETIC STAND-IN %s; every figure "+
		"made from it says so\n", err, name)
	return f.where.Load(cmd, name)
}

// ownFigures returns the figures for a user's file, and sets the options to make them from it.
func (f *figuresFlags) ownFigures(cmd *cobra.Command) ([]experiments.Figure, error) {
	figures, d, err := f.own.figures(cmd, &f.where, f.options.Seeds, f.options.Out, f.redraw)
	if err != nil {
		return nil, err
	}
	o := &f.options
	o.Load = func(context.Context, string) (*data.Dataset, error) { return d, nil }
	o.Command = func(experiments.Figure, bool) string {
		all := experiments.Figure{Sizes: true, Equal: true} // one command makes all of these figures
		return figureCommand(all, false, *o) + f.own.text(cmd)
	}
	return figures, nil
}

// redrawn draws existing figures again. If a figure can be drawn only from its kept trainings, this
// is an error if the user named it, and otherwise a message.
func redrawn(cmd *cobra.Command, figures []experiments.Figure, named bool, o experiments.MakeOptions) error {
	if len(figures) == 0 {
		return fmt.Errorf("%s has none of these figures: there is nothing to draw anew", o.Out)
	}
	var skipped []string
	if !named {
		figures = slices.DeleteFunc(figures, func(f experiments.Figure) bool {
			if !f.Redrawable() {
				skipped = append(skipped, f.Name)
			}
			return !f.Redrawable()
		})
	}
	var predictions []string
	if !named {
		var err error
		if predictions, err = experiments.RedrawPredictions(o.Out, o.Drawing); err != nil {
			return err
		}
	}
	drawn, err := experiments.Redraw(cmd.Context(), figures, o)
	drawn = append(predictions, drawn...)
	if len(drawn) > 0 {
		cli.Say(cmd, "%s in %s drawn anew", decimal.Many(len(drawn), "figure"), o.Out)
	}
	if len(skipped) > 0 {
		cli.Say(cmd, "left as they are, since their pictures show more than their data hold: %s; without --redraw they "+
			"are drawn from kept trainings", strings.Join(skipped, ", "))
	}
	return err
}

// choose finds the training for a ChoiceRequest with proxies on the figure's data. Finished proxies
// are kept with the figures' cells.
func choose(ctx context.Context, source *train.Source, w experiments.ChoiceRequest, o experiments.MakeOptions) (
	train.Spec, error,
) {
	r := propose.DefaultRequest(w.Spec, w.Epsilon)
	asked := propose.Options{Data: source, Probe: source, Probing: propose.Own, Perf: sim.Perf{Workers: o.Workers},
		Trials: o.Trials()}
	if !w.Free {
		return propose.Steps(ctx, r, asked)
	}
	r.Count = 1
	answer, err := propose.Propose(ctx, r, asked)
	if err != nil {
		return train.Spec{}, err
	}
	return answer.Proposals[0].Setting, nil
}

func figureNames() []string {
	var names []string
	for _, f := range experiments.Figures() {
		names = append(names, f.Name)
	}
	return names
}
