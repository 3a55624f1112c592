package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"proactivedp/internal/message"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Figure is a figure that [Make] can compute. [Figures] and [Select] return those of this package, and [OwnFigures]
// makes figures for your own data.
type Figure struct {
	Name  string // name of its folder, also used on the command line
	Data  string // name of the data set that it needs
	Title string // what it shows, in one line
	Long  bool   // whether it takes long at full size; [Select] returns it only if a pattern matches it
	// Fixed says that the figure is about runners (simulated or real time), so that it sets the runner of its
	// trainings itself. [MakeOptions].Runner must then be "" or train.VirtualRunner.
	Fixed bool
	// Sizes says that the figure compares batch sizes. [MakeOptions].Sizes can replace them.
	Sizes bool
	// Equal says that the figure compares batch sizes at one ε. [MakeOptions].Epsilon can set it.
	Equal bool

	series bool // whether its budgetPlan uses figureConfig.series, so that MakeOptions.Add can keep some
	first  bool // whether it uses only the first seed, however many there are
	cells  func(ctx context.Context, f *figureConfig) ([]pool.Cell, error)
	finish func(ctx context.Context, f *figureConfig, results []json.RawMessage) (*content, error)
	// redraw returns the same as finish, from the figure's folder. It is nil if the folder does not
	// have everything that the picture needs; then lacks says what the data do not have.
	redraw func(ctx context.Context, f *figureConfig, k *storedFigure) (*content, error)
	lacks  string
}

// figureOf returns the figure fig, whose cells have results of type T. draw makes its content from the results of all
// cells. stored reads these results from the figure's folder; it is nil if the folder does not have them, see
// Figure.lacks.
func figureOf[T any](fig Figure, cells func(f *figureConfig) ([]pool.Cell, error),
	draw func(ctx context.Context, f *figureConfig, results []T) (*content, error),
	stored func(f *figureConfig, k *storedFigure) ([]T, error)) Figure {
	fig.cells = func(_ context.Context, f *figureConfig) ([]pool.Cell, error) { return cells(f) }
	fig.finish = func(ctx context.Context, f *figureConfig, texts []json.RawMessage) (*content, error) {
		results, err := pool.DecodeAll[T](texts)
		if err != nil {
			return nil, err
		}
		return draw(ctx, f, results)
	}
	if stored != nil {
		fig.redraw = func(ctx context.Context, f *figureConfig, k *storedFigure) (*content, error) {
			results, err := stored(f, k)
			if err != nil {
				return nil, err
			}
			return draw(ctx, f, results)
		}
	}
	return fig
}

// times are about how long figures take that take a minute or more, by the pattern of their names. They are
// rounded from the times in the manifests of results, where a whole run was timed, and otherwise from the
// estimates of "figures --dry-run".
var times = []struct{ pattern, text string }{
	{"*-logreg-wstar", "2 minutes"},
	{"phishing-logreg-runners", "10 minutes"},
	{"phishing-logreg-throughput", "2 minutes"},
	{"mnist-lenet-runners", "20 minutes"},
	{"mnist-lenet-throughput", "30 minutes"},
	{"*-scatter", "10 minutes"},
	{"mnist-sampling", "10 minutes"},
	{"mnist-lenet-*", "15 minutes"},
	{"mnist-*", "2 hours"},
	{"cifar10-alexnet-utility", "5 hours"},
	{"cifar10-alexnet-sample-size", "2 days"},
	{"cifar10-alexnet-sample-size-equal", "4 days"},
	{"cifar10-alexnet-epsilon", "14 hours"},
	{"cifar10-*", "20 minutes"},
}

// Takes returns a text such as "under a minute": how long [Make] takes for the figure at full size, with 5 seeds, on
// a processor with two cores.
func (f Figure) Takes() string {
	for _, t := range times {
		if match, err := path.Match(t.pattern, f.Name); match && err == nil {
			return t.text
		}
	}
	return "under a minute"
}

// Figures returns all figures of this package, in the order of the page results/README.md.
func Figures() []Figure {
	var all []Figure
	for _, s := range experimentList() {
		all = append(all, s.utilityFigure(), s.sampleSizeFigure(), s.equalSizesFigure(), s.epsilonFigure())
		if s.Printed != (pool.Steps{}) {
			all = append(all, s.stepSizeFigure())
		}
	}
	for _, l := range delayExperiments() {
		all = append(all, l.delayFigures()...)
	}
	for _, s := range experimentList() {
		if s.Train.Model != train.Plain { // it differs from ridge only in the penalty
			all = append(all, s.equalFigure(), s.budgetFigure())
		}
		if scatterPlans[s.Train.Data] != nil {
			all = append(all, s.scatterFigure())
		}
		if _, there := sampledRuns[s.Train.Data]; there && s.Train.Model != train.Plain {
			all = append(all, s.samplingFigure())
		}
	}
	for _, s := range experimentList() {
		if s.Train.Model == train.Ridge || s.Train.Data == "mnist" {
			all = append(all, s.wstarFigure())
		}
	}
	s := convexExperiment(pool.Convex(train.Ridge, "phishing"))
	return append(all, s.courseFigure("", "tight"), s.courseFigure("-paper", "paper"))
}

// Select returns the figures of this package whose name matches any of the patterns, in the order of [Figures]. A
// pattern is a name or a glob such as "phishing-*". Without patterns, Select returns all figures that do not take
// long. A pattern without a match is an error.
func Select(patterns []string) ([]Figure, error) {
	all := Figures()
	if len(patterns) == 0 {
		return slices.DeleteFunc(all, func(f Figure) bool { return f.Long }), nil
	}
	var chosen []Figure
	used := make([]bool, len(patterns))
	for _, f := range all {
		take := false
		for i, p := range patterns {
			match, err := path.Match(p, f.Name)
			if err != nil {
				return nil, fmt.Errorf("figure = %q: %w", p, err)
			}
			if match {
				take, used[i] = true, true
			}
		}
		if take {
			chosen = append(chosen, f)
		}
	}
	var errs []error
	for i, p := range patterns {
		if !used[i] {
			errs = append(errs, noFigure(p, all))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return chosen, nil
}

// noFigure returns the error for a pattern without a figure. It suggests the most similar name, if there is one.
func noFigure(name string, all []Figure) error {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name
	}
	if like := message.Nearest(name, names); like != "" {
		return fmt.Errorf("figure = %q is not one of the %d figures: did you mean %s?", name, len(all), like)
	}
	return fmt.Errorf("figure = %q matches none of the %d figures; figures --list lists them", name, len(all))
}
