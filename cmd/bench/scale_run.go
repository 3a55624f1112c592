//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/cpu"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// scaleRun is a training whose cost is measured. It uses one example per round on average, and
// otherwise the paper's parameters for logistic regression.
type scaleRun struct {
	Runner  string `json:"runner"`
	Model   string `json:"model"`
	Columns int    `json:"columns"` // columns of the rows of logistic regression; 0 for a network
	Clients int    `json:"clients"`
	Rounds  int    `json:"rounds"` // rounds of each client
}

type scaleCost struct {
	Params  int     `json:"params"`
	Updates int     `json:"updates"`
	Seconds float64 `json:"seconds"` // seconds of training by wall-clock time
	// Processor is the processor time of the training in seconds. Other programs hardly change it.
	Processor float64 `json:"processor"`
	// Gradient is the mean time of a network's clipped gradient in seconds, from a separate run.
	Gradient float64 `json:"gradient"`
}

// entries is how many columns of a drawn row are not zero, as in phishing.
const entries = 30

// drawnRows returns as many rows as phishing has, with the given number of columns, at least
// entries. The columns are divided into equal parts, and each part has one entry at a random place.
func drawnRows(columns int) *data.Dataset {
	const rows, value = 11_055, 0.18257
	s := rng.New(1).Stream(rng.Synthetic, 0, 0)
	d := &data.Dataset{Name: "drawn", Features: columns, Classes: 2, Start: []int{0}, Synthetic: true}
	for range rows {
		for part := range entries {
			from, to := part*columns/entries, (part+1)*columns/entries
			d.Index = append(d.Index, int32(from+s.IntN(to-from)))
		}
		d.Start = append(d.Start, len(d.Index))
		d.Label = append(d.Label, int32(s.IntN(2)))
	}
	d.Value = slices.Repeat([]float32{value}, len(d.Index))
	return d
}

func (r scaleRun) data() (*data.Dataset, error) {
	switch r.Model {
	case train.LeNetReLU:
		return synth.Digits(rng.New(1), synth.MinRows), nil
	case train.AlexNet:
		return synth.Objects(rng.New(1), synth.MinRows), nil
	}
	if r.Columns < entries {
		return nil, fmt.Errorf("scale-run: columns = %d, must be at least %d", r.Columns, entries)
	}
	return drawnRows(r.Columns), nil
}

func (r scaleRun) problem() (*train.Prepared, error) {
	d, err := r.data()
	if err != nil {
		return nil, err
	}
	spec := train.DefaultSpec()
	spec.Model, spec.Data, spec.Runner, spec.Clients = r.Model, d.Name, r.Runner, r.Clients
	spec.SampleSize, spec.GradComps = "1", r.Rounds
	return spec.Prepare(d, nil)
}

// measureScale measures the run that text describes as JSON, and writes its cost as JSON.
func measureScale(w io.Writer, text string) error {
	var r scaleRun
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return fmt.Errorf("scale-run = %q: %w", text, err)
	}
	p, err := r.problem()
	if err != nil {
		return err
	}
	c := scaleCost{Params: p.Config.Model.NumParams()}
	run := func() (*sim.Result, error) { return sim.Hogwild(context.Background(), p.Config, nil) }
	if r.Runner == train.VirtualRunner {
		v, err := sim.NewVirtual(p.Config, sim.Perf{}, nil)
		if err != nil {
			return err
		}
		run = func() (*sim.Result, error) { return v.Run(context.Background()) }
	}
	start, used := time.Now(), cpu.Used()
	result, err := run()
	c.Seconds, c.Processor = time.Since(start).Seconds(), (cpu.Used() - used).Seconds()
	if err != nil {
		return err
	}
	c.Updates = result.Updates
	if r.Columns == 0 {
		if c.Gradient, err = r.gradient(); err != nil {
			return err
		}
	}
	return json.NewEncoder(w).Encode(c)
}

// gradientRounds is the number of rounds, of one client, in which the gradient is timed.
const gradientRounds = 50

// gradient returns the mean time of a round's gradient in seconds.
func (r scaleRun) gradient() (seconds float64, err error) {
	r.Runner, r.Clients, r.Rounds = train.VirtualRunner, 1, gradientRounds
	p, err := r.problem()
	if err != nil {
		return 0, err
	}
	var took time.Duration
	p.Config.Substitute = func(c *sim.Client, u []float32, ws *sim.Workspace) error {
		batch := c.Sample(ws)
		start := cpu.Used()
		err := c.GradSum(ws.Sum(), batch, ws)
		took += cpu.Used() - start
		c.AddNoise(u, ws.Sum(), ws)
		return err
	}
	if _, err := p.Run(context.Background(), sim.Perf{}, nil); err != nil {
		return 0, fmt.Errorf("gradient: %w", err)
	}
	return took.Seconds() / gradientRounds, nil
}
