package pool

import (
	"context"
	"encoding/json"
	"time"

	"proactivedp/sim"
	"proactivedp/train"
)

// Forecast says how many cells (trainings) a call of [Run] would have to compute, and about how long that would take.
type Forecast struct {
	Cells int           // number of different cells; equal cells count once
	Kept  int           // how many of these cells already have a result in the folder
	Time  time.Duration // estimated time of the cells that are not in the folder
	// Clock is how many of the cells that are not in the folder wait in real time (train.Spec.TimeScale). Time does not
	// include the waits.
	Clock int
}

// Plan returns a forecast of what [Run] would have to do for the same cells and options. It computes no cell, but it
// measures how long a gradient of each model takes.
func Plan(ctx context.Context, cells []Cell, o Options) (Forecast, error) {
	f, stored := Forecast{}, store{o.Folder}
	seen := map[string]bool{}
	rates := map[string]float64{} // work per second, by model and data
	var seconds float64
	for _, c := range cells {
		key, err := c.Key()
		if err != nil {
			return f, err
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		f.Cells++
		if kept, err := stored.load(key, c.Check); err == nil && kept != nil {
			f.Kept++
			continue
		}
		cost, err := c.Cost(1)
		if err != nil {
			return f, err
		}
		spec, err := c.train()
		if err != nil {
			return f, err
		}
		rate, err := c.rate(ctx, spec, rates)
		if err != nil {
			return f, err
		}
		if c.Alone {
			seconds += cost.Work / rate * float64(max(o.Workers, 1)-1) // nothing else runs at the same time
		}
		if c.Alone && spec.TimeScale > 0 { // others, such as measurements of processor time, do not wait
			f.Clock++
		}
		seconds += cost.Work / rate
	}
	f.Time = duration(seconds / float64(max(o.Workers, 1)))
	return f, nil
}

// usualRate is the approximate number of operations per second of one core.
const usualRate = 5e10

// train returns the settings of the cell's training.
func (c Cell) train() (train.Spec, error) {
	type of struct {
		Train *train.Spec `json:"train"`
	}
	var cell struct {
		of
		Spec    of `json:"spec"`    // of a utility graph
		Request of `json:"request"` // of a course
	}
	text, err := json.Marshal(c.Spec)
	if err == nil {
		err = json.Unmarshal(text, &cell)
	}
	spec := train.DefaultSpec()
	for _, s := range []*train.Spec{cell.Train, cell.Spec.Train, cell.Request.Train} {
		if s != nil {
			spec = *s
		}
	}
	return spec, err
}

// rate returns how much work per second one worker does for trainings like the cell's, whose settings are spec. known
// has the rates that were measured before.
func (c Cell) rate(ctx context.Context, spec train.Spec, known map[string]float64) (float64, error) {
	name := spec.Model + " " + spec.Data
	if known[name] == 0 && c.Source == nil {
		return usualRate, nil // a cell that can only be computed here does not say on which data
	}
	if known[name] == 0 {
		spec.Runner = train.VirtualRunner
		spec.TimeScale = 0
		p, err := c.Source.Prepare(spec)
		if err != nil {
			return 0, err
		}
		f, err := p.Forecast(ctx, sim.Perf{Workers: 1})
		if err != nil {
			return 0, err
		}
		known[name] = p.Work() / f.Seconds
	}
	return known[name], nil
}
