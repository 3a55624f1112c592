package audit

import (
	"math"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/rng"
	"proactivedp/sim"
)

// sampledBy makes the clients call sample to draw their samples.
func (w *world) sampledBy(sample func(c *sim.Client, ws *sim.Workspace) data.Batch) {
	w.cfg.Substitute = func(c *sim.Client, u []float32, ws *sim.Workspace) error {
		if err := c.GradSum(ws.Sum(), sample(c, ws), ws); err != nil {
			return err
		}
		c.AddNoise(u, ws.Sum(), ws)
		return nil
	}
}

// drawn returns a sample of c's records of the given size, drawn from the stream of the given
// client and round, which may be those of another release.
func (w *world) drawn(c *sim.Client, size, client, round int) data.Batch {
	m := &w.cfg.Mechanism
	s := w.cfg.Roots.Clients[client].Stream(rng.Sampling, uint32(client), round)
	return w.cfg.Rows[c.ID()].Batch(m.SampleOf(nil, min(size, m.DatasetSize), s, new(dp.SampleScratch)))
}

func fixedSample(w *world, _ float64) {
	w.sampledBy(func(c *sim.Client, _ *sim.Workspace) data.Batch {
		held := w.cfg.Rows[c.ID()]
		return data.Batch{Data: held.Data, Rows: held.Rows[:c.Size()]}
	})
}

func largeSample(w *world, size float64) {
	w.sampledBy(func(c *sim.Client, _ *sim.Workspace) data.Batch {
		return w.drawn(c, int(math.Round(size*float64(c.Size()))), c.ID(), c.Round())
	})
}

// by reports whether a fault that affects the given share of the rounds affects c's current round.
func (w *world) by(c *sim.Client, share float64) bool {
	return w.cfg.Roots.Clients[c.ID()].Stream(rng.Perturbation, uint32(c.ID()), c.Round()).Float64() < share
}

func repeatedSample(w *world, size float64) {
	w.sampledBy(func(c *sim.Client, ws *sim.Workspace) data.Batch {
		if w.by(c, size) {
			return w.drawn(c, c.Size(), c.ID(), 0)
		}
		return c.Sample(ws)
	})
}

func sharedSample(w *world, size float64) {
	w.sampledBy(func(c *sim.Client, ws *sim.Workspace) data.Batch {
		if w.by(c, size) {
			return w.drawn(c, c.Size(), 0, c.Round())
		}
		return c.Sample(ws)
	})
}

// addRemoveClaim makes the ledgers claim the cost of removal although a record is replaced. Fixed-size
// samples become Poisson samples in the claim, because removal has no other claim.
func addRemoveClaim(w *world, _ float64) {
	if w.s.neighbour == nil {
		return
	}
	w.cfg.Mechanism.Sampling, w.cfg.Mechanism.Adjacency = dp.Poisson, dp.AddOrRemove
}
