// Package experiments makes the figures of the paper that this program implements, and compares trainings in other
// ways. [Make] computes figures: each says which trainings it needs and how their results become a picture. [Search]
// tries a grid of settings, and [DelaySpec.Compare] tries several permissible delays: how many rounds a client may run
// ahead of the global model that it has. A call that was interrupted can be repeated and continues. Next to each
// picture are its data, and a manifest that says how the figure was made.
//
//	figures, err := experiments.Select([]string{"phishing-*"})
//	…
//	err = experiments.Make(ctx, figures, options)
package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"proactivedp/data"
	"proactivedp/internal/files"
	"proactivedp/internal/realclock"
	"proactivedp/internal/results"
	"proactivedp/plan"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// MakeOptions says where Make writes figures, with how many seeds and at which scale, how they are drawn, and how
// much memory and how many processes it may use.
type MakeOptions struct {
	Out   string  // folder that gets a folder for each figure
	Seeds int     // number of seeds, in [1, 10000]; each training of a figure runs with the seeds 1 to Seeds
	Scale float64 // fraction of each training's gradients that is computed, in (0, 1]; use less than 1 for a quick trial
	// Sizes lists batch sizes for figures that compare batch sizes; nil means those of the paper or, in figures of
	// [OwnFigures], ¼, ½, 1, 2 and 4 times the batch size of the training.
	Sizes []int
	// Epsilon is for figures that compare batch sizes at one privacy cost: the certified ε of a record. 0 means the ε
	// of the training that the figure is about.
	Epsilon float64
	// Add computes only those series (lines) of a figure that its folder does not have yet, and keeps the others as
	// they are. Use it after a new version of the program has added a method to a figure, or to measure on another
	// machine how long trainings by the runner hogwild take, which is not kept with the lines. Only figures that
	// compare privacy budgets, or batch sizes at an equal ε, support Add. The figure must have been made from the same
	// data, with the same seeds, scale, runner and sizes.
	Add     bool
	Workers int // largest number of trainings at the same time; there may be fewer, so that memory suffices
	// Runner says how the clients of a training run: simulated on a virtual clock ("" or train.VirtualRunner), or as
	// goroutines in real time (train.HogwildRunner). Results of hogwild cannot be repeated exactly. With hogwild,
	// figures that compare delays measure real time, and a simulated second takes TimeScale real seconds.
	Runner    string
	TimeScale float64
	Drawing   results.Drawing // how the pictures are drawn
	Progress  io.Writer       // shows the progress, unless it is nil
	// Command returns the command line that makes a figure again; it is written to the figure's manifest. synthetic
	// says whether made-up data replace the real data set. If Command is nil, the manifest has no command.
	Command func(figure Figure, synthetic bool) string
	// Memory limits the memory of the process, in bytes. 0 means the least of the machine's memory, the limit of the
	// control group, and GOMEMLIMIT.
	Memory int64
	// Elsewhere computes trainings in other processes. If it is nil, they are computed here.
	Elsewhere pool.Elsewhere
	// Choose returns the settings of a training for a privacy budget, see [Chooser]. If it is nil, Make returns an
	// error for figures that compare privacy budgets.
	Choose Chooser
	// Loop runs the loop of package auto, see the type [Loop]. If it is nil, Make returns an error for figures that
	// show a run of this loop.
	Loop Loop
	// Load returns the data set with the given name, for the figures that need it. If it returns made-up data instead
	// of a real data set, their field Synthetic must be true; pictures then say so.
	Load func(ctx context.Context, name string) (*data.Dataset, error)
}

// Trials returns the options with which a [Chooser] should run its trainings. Make then stores these trainings in the
// same folder as those of the figures, and a later call of [Make] does not repeat them.
func (o MakeOptions) Trials() pool.Options {
	return pool.Options{Folder: filepath.Join(o.Out, pool.Folder), Workers: o.Workers, Progress: o.Progress,
		Memory: o.Memory, Elsewhere: o.Elsewhere}
}

// Manifest says how a figure was made: by which command, from which data, with which settings and
// program. It is the file manifest.json of a figure.
type Manifest struct {
	Figure  string `json:"figure"`
	Title   string `json:"title"`
	Command string `json:"command"`
	Config  any    `json:"config"`
	Seeds   int    `json:"seeds"` // number of seeds; trainings ran with the seeds 1 to Seeds
	// Scale is the fraction of each training's gradients that was computed, see MakeOptions.Scale.
	Scale float64 `json:"scale"`
	// Sizes lists the batch sizes that were requested by MakeOptions.Sizes, for figures that compare batch sizes.
	Sizes []int `json:"sizes,omitempty"`
	// Epsilon is the ε that was requested by MakeOptions.Epsilon, for figures that compare batch sizes at one ε.
	Epsilon float64 `json:"epsilon,omitempty"`
	// Runner and TimeScale say how clients ran, see MakeOptions. "" and 0 mean that they were simulated on a virtual
	// clock, or that the figure set its own runners. Results of the runner hogwild (real time) cannot be repeated
	// exactly.
	Runner    string       `json:"runner,omitempty"`
	TimeScale float64      `json:"time_scale,omitempty"`
	Data      results.Data `json:"data"`
	// Kept are the series of the figure that were kept from an earlier call, see MakeOptions.Add.
	Kept []Kept `json:"kept,omitempty"`
	// Times are how long trainings take, in figures that compare batch sizes at an equal ε.
	Times []SizeTime `json:"times,omitempty"`
	results.Origin
	Drawing results.Drawing `json:"drawing,omitzero"`
	Files   []string        `json:"files"` // names of the figure's files; the first one is a picture
	// Table is the SHA-256 of the figure's data, its CSV file; "" in manifests of older versions.
	Table string `json:"table_sha256,omitempty"`
	// SHA256 is the SHA-256 of this manifest with this field empty. It detects damage.
	SHA256 string `json:"manifest_sha256"`
}

// hogwild reports whether goroutines run the trainings.
func (o MakeOptions) hogwild() bool { return o.Runner == train.HogwildRunner }

// Validate returns one error that lists every option outside its range.
func (o MakeOptions) Validate() error {
	var errs []error
	if o.Out == "" {
		errs = append(errs, errors.New(`out = "", must name a folder`))
	}
	switch o.Runner {
	case "", train.VirtualRunner:
	case train.HogwildRunner:
		errs = append(errs, realclock.CheckScale(o.TimeScale))
	default:
		errs = append(errs, fmt.Errorf("runner = %q, must be %q or %q", o.Runner, train.VirtualRunner,
			train.HogwildRunner))
	}
	errs = append(errs, o.Drawing.Validate(), CheckSeeds(o.Seeds), CheckPart("scale", o.Scale), checkSizes(o.Sizes))
	if err := plan.CheckEpsilon(o.Epsilon); err != nil && o.Epsilon != 0 {
		errs = append(errs, fmt.Errorf("target %w", err))
	}
	return errors.Join(errs...)
}

// checkLoad reports that Load is missing.
func (o MakeOptions) checkLoad() error {
	if o.Load == nil {
		return errors.New("load = nil, must be given")
	}
	return nil
}

// Make computes the figures and writes them to o.Out. Finished trainings are stored in o.Out/.cells, so that a call
// after an interruption does not repeat them. Either all files of a figure are written or none. Only one call at a
// time may write to o.Out.
func Make(ctx context.Context, figures []Figure, o MakeOptions) error {
	if err := errors.Join(o.Validate(), o.checkLoad()); err != nil {
		return err
	}
	if err := checkIndex(o.Out, figures); err != nil {
		return err
	}
	return files.InFolder(o.Out, func() error { return makeFigures(ctx, figures, o) })
}

// Plan returns how many trainings [Make] would have to run for the figures, and about how long that would take: one
// forecast for each figure and, as the last element, one for all figures together. Plan itself trains nothing. Make
// may first have to search for good settings, by trainings of a [Chooser] that the forecast does not count. searched
// is the number of these searches.
func Plan(ctx context.Context, figures []Figure, o MakeOptions) (all []pool.Forecast, searched int, err error) {
	if err := errors.Join(o.Validate(), o.checkLoad()); err != nil {
		return nil, 0, err
	}
	o.Choose = func(_ context.Context, _ *train.Source, w ChoiceRequest) (train.Spec, error) {
		searched++
		return w.Spec, nil
	}
	makings, err := begin(ctx, figures, o)
	if err != nil {
		return nil, 0, err
	}
	var cells []pool.Cell
	for _, m := range makings {
		f, err := pool.Plan(ctx, m.cells, o.Trials())
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", m.fig.Name, err)
		}
		all, cells = append(all, f), append(cells, m.cells...)
	}
	f, err := pool.Plan(ctx, cells, o.Trials())
	return append(all, f), searched, err
}

// making is a figure that is to be made, with its configuration and its cells.
type making struct {
	fig    Figure
	config *figureConfig
	cells  []pool.Cell
}

// begin loads the data of the figures and returns their cells.
func begin(ctx context.Context, figures []Figure, o MakeOptions) ([]making, error) {
	var all []making
	sources, chosen := map[string]*train.Source{}, map[ChoiceRequest]train.Spec{}
	for _, fig := range figures {
		if fig.cells == nil {
			return nil, fmt.Errorf("figure = %q, must be one of Figures or OwnFigures", fig.Name)
		}
		if fig.Fixed && o.hogwild() {
			return nil, fmt.Errorf("figure = %q with runner %s, must be without: it has its own runners", fig.Name, o.Runner)
		}
		if sources[fig.Data] == nil {
			d, err := o.Load(ctx, fig.Data)
			if err != nil {
				return nil, err
			}
			sources[fig.Data] = train.NewSource(d)
		}
		f := &figureConfig{source: sources[fig.Data], set: fig.Data, seeds: o.Seeds, scale: o.Scale, choose: o.Choose,
			chosen: chosen, sizes: o.Sizes, epsilon: o.Epsilon, loop: o.Loop}
		if o.hogwild() {
			f.runner, f.timeScale = o.Runner, o.TimeScale
		}
		var err error
		if o.Add {
			if f.kept, err = f.keep(fig, o); err != nil {
				return nil, fmt.Errorf("%s: %w", fig.Name, err)
			}
		}
		cells, err := fig.cells(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fig.Name, err)
		}
		all = append(all, making{fig, f, cells})
	}
	return all, nil
}

func makeFigures(ctx context.Context, figures []Figure, o MakeOptions) error {
	start := time.Now()
	makings, err := begin(ctx, figures, o)
	if err != nil {
		return err
	}
	var cells []pool.Cell
	for _, m := range makings {
		cells = append(cells, m.cells...)
	}
	how := o.Trials()
	how.Scale = o.Scale
	trained, spent, err := pool.Run(ctx, cells, how)
	if err != nil {
		return err
	}
	origin := results.NewOrigin(len(cells), spent.Computed, time.Since(start), spent.Time)
	for _, one := range makings {
		fig, f := one.fig, one.config
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("stopped before %s was drawn: %w", fig.Name, err)
		}
		out, err := fig.finish(ctx, f, trained[:len(one.cells)])
		if err != nil {
			return fmt.Errorf("%s: %w", fig.Name, err)
		}
		trained = trained[len(one.cells):]
		m := Manifest{Figure: fig.Name, Title: fig.Title, Seeds: f.seeds, Kept: f.kept.origin(), Origin: origin,
			Drawing: o.Drawing}
		if o.Command != nil {
			m.Command = o.Command(fig, f.data().Synthetic)
		}
		if fig.first {
			m.Seeds = 1
		}
		if fig.Sizes {
			m.Sizes = f.sizes
		}
		if fig.Equal {
			m.Epsilon = f.epsilon
		}
		if err := out.write(filepath.Join(o.Out, fig.Name), f, m); err != nil {
			return fmt.Errorf("%s: %w", fig.Name, err)
		}
		if out.advice != "" && o.Progress != nil {
			fmt.Fprintf(o.Progress, "%s: %s\n", fig.Name, out.advice)
		}
	}
	return writeIndex(o.Out, figures)
}
