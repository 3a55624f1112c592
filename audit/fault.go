package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
)

// Fault is a way to break the mechanism while it claims to be whole.
type Fault string

// The faults that can be planted.
const (
	NoFault          Fault = "none"
	HalfNoise        Fault = "half-noise"         // the noise multiplier is σ/2
	NoClip           Fault = "no-clip"            // gradients are summed as they are
	FixedSample      Fault = "fixed-sample"       // every round takes a client's first s records, none is drawn
	ReusedNoise      Fault = "reused-noise"       // every round adds the noise of round 0
	SilentEmptyBatch Fault = "silent-empty-batch" // an empty sample sends zero, without noise
	BatchClip        Fault = "batch-clip"         // the sum of the batch is clipped, not each gradient
)

// Faults returns the names of all faults, with NoFault, the whole mechanism,
// first.
func Faults() []Fault {
	return []Fault{NoFault, HalfNoise, NoClip, FixedSample, ReusedNoise, SilentEmptyBatch, BatchClip}
}

// ParseFault turns a name into a Fault; an unknown name is an error that lists
// the known ones.
func ParseFault(name string) (Fault, error) {
	if f := Fault(name); slices.Contains(Faults(), f) {
		return f, nil
	}
	var names []string
	for _, f := range Faults() {
		names = append(names, string(f))
	}
	return "", fmt.Errorf("audit: fault = %q, must be one of %s", name, strings.Join(names, ", "))
}

// plant breaks what a configuration runs; what its ledgers claim stays.
func (f Fault) plant(cfg *sim.Config, absent []bool) {
	switch f {
	case HalfNoise:
		cfg.Substitute = halfNoise
	case NoClip:
		cfg.Model = unclipped{cfg.Model.(models.Bounded)}
	case FixedSample:
		cfg.Substitute = fixedSample(cfg)
	case ReusedNoise:
		cfg.Substitute = reusedNoise(cfg)
	case SilentEmptyBatch:
		cfg.Substitute = silentEmptyBatch(absent)
	case BatchClip:
		cfg.Model = batchClipped{cfg.Model.(models.Bounded)}
	}
}

func halfNoise(c *sim.Client, u []float32, ws *sim.Workspace) error {
	sum := ws.Sum()
	if err := c.GradSum(sum, c.Sample(ws), ws); err != nil {
		return err
	}
	scale(sum, 2)
	c.AddNoise(u, sum, ws)
	scale(u, 0.5)
	return nil
}

func scale[T float32 | float64](u []T, by T) {
	for i := range u {
		u[i] *= by
	}
}

func fixedSample(cfg *sim.Config) sim.Substitute {
	return func(c *sim.Client, u []float32, ws *sim.Workspace) error {
		held := cfg.Rows[c.ID()]
		first := held.Rows[:cfg.Mechanism.Sizes.At(c.Round())]
		if err := c.GradSum(ws.Sum(), data.Batch{Data: held.Data, Rows: first}, ws); err != nil {
			return err
		}
		c.AddNoise(u, ws.Sum(), ws)
		return nil
	}
}

func reusedNoise(cfg *sim.Config) sim.Substitute {
	return func(c *sim.Client, u []float32, ws *sim.Workspace) error {
		if err := c.GradSum(ws.Sum(), c.Sample(ws), ws); err != nil {
			return err
		}
		cfg.Mechanism.AddNoise(u, ws.Sum(), cfg.Roots.Clients[c.ID()].Stream(rng.Noise, uint32(c.ID()), 0))
		return nil
	}
}

func silentEmptyBatch(absent []bool) sim.Substitute {
	return func(c *sim.Client, u []float32, ws *sim.Workspace) error {
		batch := c.Sample(ws)
		if err := c.GradSum(ws.Sum(), batch, ws); err != nil {
			return err
		}
		clear(u)
		if slices.ContainsFunc(batch.Rows, func(r int32) bool { return !absent[r] }) {
			c.AddNoise(u, ws.Sum(), ws)
		}
		return nil
	}
}

// unclipped is a model that does not clip.
type unclipped struct{ models.Bounded }

func (m unclipped) WideGradSum(sum []float64, w []float32, b data.Batch, _ float64, s models.Scratch) error {
	return m.Bounded.WideGradSum(sum, w, b, math.Inf(1), s)
}

// batchClipped is a model that clips once: the sum.
type batchClipped struct{ models.Bounded }

func (m batchClipped) WideGradSum(sum []float64, w []float32, b data.Batch, clip float64, s models.Scratch) error {
	if err := m.Bounded.WideGradSum(sum, w, b, math.Inf(1), s); err != nil {
		return err
	}
	square := 0.0
	for _, x := range sum {
		square += float64(x * x)
	}
	factor, ok := models.ClipFactor(math.Sqrt(square), clip)
	if !ok {
		return models.ErrDiverged
	}
	scale(sum, factor)
	return nil
}
