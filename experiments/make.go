// Package experiments makes the paper's experiments: it turns specs of trainings
// into grids of runs, runs into figures, and figures into files. There is one
// registry of figures, one runner of grids × seeds that can be interrupted, and
// beside each picture its data and a manifest of how it was made.
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
	"proactivedp/train"
	"proactivedp/train/pool"
)

// MakeOptions says how figures are made.
type MakeOptions struct {
	Out     string  // folder for the figures, one folder each
	Seeds   int     // how many seeds, from 1 on; in [1, maxSeeds]
	Scale   float64 // which part of K is run, in (0, 1]
	Sizes   []int   // sample sizes that sweeps of them compare; nil: the paper's, or what is usual for one's own data
	Workers int     // how many cells are computed at the same time, if the memory allows
	// Runner is what trains: "" or train.VirtualRunner, or train.HogwildRunner, whose results
	// are kept but not repeatable. Delays are then compared on a real clock, of which a second
	// takes TimeScale.
	Runner    string
	TimeScale float64
	Drawing   results.Drawing // how the pictures are drawn
	Progress  io.Writer
	// Command returns what makes a figure again, for its manifest: from data that
	// are a stand-in, or not. nil: nothing is said of that.
	Command func(figure Figure, synthetic bool) string
	// the most that the process may take, in bytes; 0: what the machine, control group and GOMEMLIMIT allow
	Memory int64
	// Elsewhere computes trainings in other processes; nil: they are computed here.
	Elsewhere pool.Elsewhere
	// Choose returns a training for a budget, which figures of budgets need; nil: those
	// figures are refused.
	Choose Chooser
	// Loop runs the proactive loop, whose course figures show; nil: those figures are refused.
	Loop Loop
	// Load returns a data set by name. A stand-in it returns must be marked
	// Synthetic.
	Load func(ctx context.Context, name string) (*data.Dataset, error)
}

// Trials returns how a Chooser is to run its own trainings: finished ones are kept with
// the figures' cells.
func (o MakeOptions) Trials() pool.Options {
	return pool.Options{Folder: filepath.Join(o.Out, pool.Folder), Workers: o.Workers, Progress: o.Progress,
		Memory: o.Memory, Elsewhere: o.Elsewhere}
}

// Manifest is how a figure was made, beside the figure.
type Manifest struct {
	Figure  string  `json:"figure"`
	Title   string  `json:"title"`
	Command string  `json:"command"`
	Config  any     `json:"config"`
	Seeds   int     `json:"seeds"`           // seeds 1 to this one were run
	Scale   float64 `json:"scale"`           // which part of K was run
	Sizes   []int   `json:"sizes,omitempty"` // those of MakeOptions, of figures that compare sample sizes
	// Runner and TimeScale are those of MakeOptions; "" and 0: the virtual runner, or what the
	// figure says itself. What hogwild has made no other run repeats.
	Runner    string       `json:"runner,omitempty"`
	TimeScale float64      `json:"time_scale,omitempty"`
	Data      results.Data `json:"data"`
	results.Origin
	Drawing results.Drawing `json:"drawing,omitzero"`
	Files   []string        `json:"files"`                  // the first is a picture
	Table   string          `json:"table_sha256,omitempty"` // see results.Digest; "" in some committed results
	SHA256  string          `json:"manifest_sha256"`        // see results.WriteManifest
}

// command returns what makes the figure again, if that can be said.
func (o MakeOptions) command(figure Figure, synthetic bool) string {
	if o.Command == nil {
		return ""
	}
	return o.Command(figure, synthetic)
}

// hogwild reports whether the trainings are by goroutines.
func (o MakeOptions) hogwild() bool { return o.Runner == train.HogwildRunner }

// Validate reports every option outside its range.
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
	return errors.Join(append(errs, o.Drawing.Validate(), CheckSeeds(o.Seeds), CheckPart("scale", o.Scale),
		checkSizes(o.Sizes))...)
}

// checkLoad reports that there is nothing to load data sets by.
func (o MakeOptions) checkLoad() error {
	if o.Load == nil {
		return errors.New("load = nil, must be given")
	}
	return nil
}

// Make computes and writes the figures. Finished cells are kept in Out/.cells,
// so an interrupted call goes on where it was; a figure's files appear whole. One
// call at a time writes to Out.
func Make(ctx context.Context, figures []Figure, o MakeOptions) error {
	if err := errors.Join(o.Validate(), o.checkLoad()); err != nil {
		return err
	}
	if err := checkIndex(o.Out, figures); err != nil {
		return err
	}
	return files.InFolder(o.Out, func() error { return makeFigures(ctx, figures, o) })
}

func makeFigures(ctx context.Context, figures []Figure, o MakeOptions) error {
	start := time.Now()
	configs := map[string]*figureConfig{}
	var cells []pool.Cell
	from := make([]int, len(figures)+1)
	for i, fig := range figures {
		if fig.cells == nil {
			return fmt.Errorf("figure = %q, must be one of Figures or OwnFigures", fig.Name)
		}
		if fig.Fixed && o.hogwild() {
			return fmt.Errorf("figure = %q with runner %s, must be without: it says itself which "+
				"runners it has", fig.Name, o.Runner)
		}
		f := configs[fig.Data]
		if f == nil {
			d, err := o.Load(ctx, fig.Data)
			if err != nil {
				return err
			}
			f = &figureConfig{source: train.NewSource(d), set: fig.Data, seeds: o.Seeds, scale: o.Scale, choose: o.Choose,
				sizes: o.Sizes, loop: o.Loop}
			if o.hogwild() {
				f.runner, f.timeScale = o.Runner, o.TimeScale
			}
			configs[fig.Data] = f
		}
		more, err := fig.cells(ctx, f)
		if err != nil {
			return fmt.Errorf("%s: %w", fig.Name, err)
		}
		cells = append(cells, more...)
		from[i+1] = len(cells)
	}
	how := o.Trials()
	how.Scale = o.Scale
	trained, spent, err := pool.Run(ctx, cells, how)
	if err != nil {
		return err
	}
	origin := results.NewOrigin(len(cells), spent.Computed, time.Since(start), spent.Time)
	for i, fig := range figures {
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("stopped before %s was drawn: %w", fig.Name, err)
		}
		f := configs[fig.Data]
		out, err := fig.finish(ctx, f, trained[from[i]:from[i+1]])
		if err != nil {
			return fmt.Errorf("%s: %w", fig.Name, err)
		}
		m := figureManifest(fig, f, o, out.config, origin)
		if err := out.write(filepath.Join(o.Out, fig.Name), m); err != nil {
			return fmt.Errorf("%s: %w", fig.Name, err)
		}
	}
	return writeIndex(o.Out, figures)
}

func figureManifest(fig Figure, f *figureConfig, o MakeOptions, config any, origin results.Origin) Manifest {
	seeds := f.seeds
	if fig.first {
		seeds = 1
	}
	m := Manifest{
		Figure: fig.Name, Title: fig.Title, Command: o.command(fig, f.data().Synthetic), Config: config,
		Seeds: seeds, Scale: f.scale, Runner: f.runner, TimeScale: f.timeScale,
		Data: results.SourceData(f.source), Origin: origin,
		Drawing: o.Drawing, Files: o.Drawing.Files(),
	}
	if fig.Sizes {
		m.Sizes = f.sizes
	}
	return m
}
