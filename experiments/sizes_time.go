package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"proactivedp/internal/cpu"
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// SizeTime says how long one training with the given batch size (SampleSize) takes. Only the training with seed 1 is
// timed. The times apply to all noise multipliers, because the amount of noise does not change them.
type SizeTime struct {
	SampleSize int     `json:"sample_size"`
	Virtual    float64 `json:"virtual_seconds"` // duration in simulated seconds (the virtual clock)
	// Hogwild is the measured processor time of the same training by the runner hogwild, whose clients are goroutines
	// in real time. It is 0 if it is unknown, or if the training diverged.
	Hogwild float64 `json:"hogwild_processor_seconds,omitempty"`
}

// timed returns a figure of [experiment.equalSizesFigure] with the times of its sample sizes. The time on the virtual
// clock is computed each time that the figure is made or drawn. The time of hogwild is measured when the figure is
// made, and then read from its manifest.
func (s experiment) timed(fig Figure) Figure {
	cells, finish, redraw := fig.cells, fig.finish, fig.redraw
	fig.cells = func(ctx context.Context, f *figureConfig) ([]pool.Cell, error) {
		all, err := cells(ctx, f)
		if err != nil {
			return nil, err
		}
		specs, err := s.sizeSpecs(f)
		for _, spec := range specs {
			all = append(all, hogwildCell(spec, f.source))
		}
		return all, err
	}
	fig.finish = func(ctx context.Context, f *figureConfig, trained []json.RawMessage) (*content, error) {
		specs, err := s.sizeSpecs(f)
		if err != nil {
			return nil, err
		}
		n := len(trained) - len(specs)
		measured, err := pool.DecodeAll[rate](trained[n:])
		if err != nil {
			return nil, err
		}
		times, err := f.sizeTimes(ctx, specs, func(i int) float64 { return measured[i].Seconds })
		if err != nil {
			return nil, err
		}
		return f.withTimes(times, cpu.Describe(), runtime.GOMAXPROCS(0), func(f *figureConfig) (*content, error) {
			return finish(ctx, f, trained[:n])
		})
	}
	fig.redraw = func(ctx context.Context, f *figureConfig, k *storedFigure) (*content, error) {
		all, err := storedPriced(k)
		if err != nil {
			return nil, err
		}
		var specs []train.Spec
		for _, p := range all[:len(all)/2] { // the others differ only in their noise
			specs = append(specs, p.Train)
		}
		times, err := f.sizeTimes(ctx, specs, func(i int) float64 {
			if i < len(k.Times) && strconv.Itoa(k.Times[i].SampleSize) == specs[i].SampleSize {
				return k.Times[i].Hogwild
			}
			return 0
		})
		if err != nil {
			return nil, err
		}
		return f.withTimes(times, k.Machine, k.CPUs, func(f *figureConfig) (*content, error) { return redraw(ctx, f, k) })
	}
	return fig
}

// withTimes draws a figure with times that were measured on a machine.
func (f *figureConfig) withTimes(times []SizeTime, machine string, cores int,
	draw func(*figureConfig) (*content, error)) (*content, error) {
	g := *f
	g.times, g.machine, g.cores = times, machine, cores
	out, err := draw(&g)
	if err == nil {
		out.times = times
	}
	return out, err
}

// sizeTimes returns the times of the trainings. measured returns the time of hogwild.
func (f *figureConfig) sizeTimes(ctx context.Context, specs []train.Spec, measured func(i int) float64) ([]SizeTime, error) {
	var all []SizeTime
	for i, spec := range specs {
		size, err := strconv.Atoi(spec.SampleSize)
		if err != nil {
			return nil, fmt.Errorf("sample size = %q, must be constant", spec.SampleSize)
		}
		virtual, err := virtualSeconds(ctx, f.source, spec)
		if err != nil {
			return nil, fmt.Errorf("s = %d: %w", size, err)
		}
		all = append(all, SizeTime{size, virtual, measured(i)})
	}
	return all, nil
}

// virtualSeconds returns how long the spec's training takes on the virtual clock. Durations do not depend on the
// model or on gradients, so nothing is trained: a model of one parameter is run, whose clients send zeros.
func virtualSeconds(ctx context.Context, source *train.Source, spec train.Spec) (float64, error) {
	spec.Seed, spec.Runner, spec.TimeScale = 1, train.VirtualRunner, 0
	p, err := source.Prepare(spec)
	if err != nil {
		return 0, err
	}
	cfg := *p.Config
	cfg.Model, cfg.Initial = oneParameter{cfg.Model}, nil
	cfg.Substitute = func(_ *sim.Client, u []float32, _ *sim.Workspace) error {
		clear(u)
		return nil
	}
	v, err := sim.NewVirtual(&cfg, sim.Perf{}, nil)
	if err != nil {
		return 0, err
	}
	result, err := v.Run(ctx)
	if err != nil {
		return 0, err
	}
	return clockSeconds(result.Clock), nil
}

// oneParameter stands in for a model whose parameters are not needed.
type oneParameter struct{ models.Model }

func (oneParameter) NumParams() int                       { return 1 }
func (oneParameter) Init(params []float32, _ *rng.Stream) { clear(params) }
func (oneParameter) NewScratch() models.Scratch           { return nil }

// hogwildCell measures the processor time of a training by hogwild. Unlike the time that passes, it hardly depends on
// what else the machine does. If the training diverges, the time is 0.
func hogwildCell(spec train.Spec, source *train.Source) pool.Cell {
	spec.Seed, spec.Runner, spec.TimeScale = 1, train.HogwildRunner, 0
	cores := runtime.GOMAXPROCS(0)
	c := rateCell(spec, cores, source)
	c.Spec = rateSpec{Kind: "processor", Train: spec, Data: source.Hash(), Cores: cores, Machine: cpu.Describe()}
	run := c.Run
	c.Run = func(ctx context.Context, perf sim.Perf, progress func(float64), keep train.Keep) (any, error) {
		before := cpu.Used()
		_, err := run(ctx, perf, progress, keep)
		if errors.Is(err, models.ErrDiverged) {
			return rate{}, nil
		}
		return rate{Seconds: (cpu.Used() - before).Seconds()}, err
	}
	c.Check = func(text json.RawMessage) error {
		r, err := pool.Decode[rate](text)
		if err == nil && !(r.Seconds >= 0) {
			err = fmt.Errorf("finished cell: %v s", r.Seconds)
		}
		return err
	}
	return c
}

// measured reports whether a time of hogwild is known.
func (f *figureConfig) measured() bool {
	return slices.ContainsFunc(f.times, func(t SizeTime) bool { return t.Hogwild > 0 })
}

// row returns the times for a table.
func (t SizeTime) row(measured bool) []string {
	row := []string{report.Duration(t.Virtual)}
	if !measured {
		return row
	}
	if t.Hogwild == 0 {
		return append(row, report.NoAnswer)
	}
	return append(row, report.Duration(t.Hogwild))
}

// text returns the times for a sentence.
func (t SizeTime) text() string {
	text := report.Duration(t.Virtual) + " of simulated time"
	if t.Hogwild > 0 {
		text += fmt.Sprintf(" (hogwild: %s of processor time)", report.Duration(t.Hogwild))
	}
	return text
}

// timesText explains the times of the table for a caption.
func (f *figureConfig) timesText(spec train.Spec) string {
	text := fmt.Sprintf("Times are of seed 1. Simulated: a round takes s × %s, a message %s.", spec.Compute, spec.Latency)
	if f.measured() {
		text += fmt.Sprintf(" Hogwild: processor time of a goroutine for each client, measured once (%s, %s); other runs differ.", decimal.Many(f.cores, "core"), f.machine)
	}
	return text
}
