package audit

import (
	"math"
	"slices"

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
	if m.Sampling == dp.Allocation { // whose rounds have no sizes
		return w.allotted(c, client, round)
	}
	s := w.cfg.Roots.Clients[client].Stream(rng.Sampling, uint32(client), round)
	return w.cfg.Rows[c.ID()].Batch(m.SampleOf(nil, min(size, m.DatasetSize), s, new(dp.SampleScratch)))
}

// allotted returns the records of c in a round of random allocation, by the draw of the given client and round, which
// may be those of another release.
func (w *world) allotted(c *sim.Client, client, round int) data.Batch {
	m := &w.cfg.Mechanism
	var epoch dp.Allotment
	m.Allot(&epoch, w.cfg.Roots.Clients[client].Stream(rng.Sampling, uint32(client), round/m.Batches), new(dp.SampleScratch))
	return w.cfg.Rows[c.ID()].Batch(slices.Clone(epoch.Of(round % m.Batches)))
}

// keptDraw lets a share of the epochs of random allocation keep the draw of epoch 0.
func keptDraw(w *world, size float64) {
	m := &w.cfg.Mechanism
	if m.Sampling != dp.Allocation {
		return
	}
	w.sampledBy(func(c *sim.Client, ws *sim.Workspace) data.Batch {
		epoch := c.Round() / m.Batches
		if w.cfg.Roots.Clients[c.ID()].Stream(rng.Perturbation, uint32(c.ID()), epoch).Float64() < size {
			return w.allotted(c, c.ID(), c.Round()%m.Batches)
		}
		return c.Sample(ws)
	})
}

// secondRound puts a share of the records into a second round of each epoch, the one after their own.
func secondRound(w *world, size float64) {
	m := &w.cfg.Mechanism
	if m.Sampling != dp.Allocation {
		return
	}
	w.sampledBy(func(c *sim.Client, ws *sim.Workspace) data.Batch {
		epoch, j := c.Round()/m.Batches, c.Round()%m.Batches
		batch := c.Sample(ws)
		for _, row := range w.allotted(c, c.ID(), epoch*m.Batches+(j+m.Batches-1)%m.Batches).Rows {
			again := w.cfg.Roots.Clients[c.ID()].Stream(rng.Perturbation, uint32(c.ID()), epoch<<16+int(row))
			if again.Float64() < size {
				batch.Rows = append(batch.Rows, row)
			}
		}
		return batch
	})
}

// extraRecord gives the person one record more than the mechanism accounts for. It is sampled like the others.
func extraRecord(w *world, _ float64) {
	m := &w.cfg.Mechanism
	if m.Group == 0 {
		return
	}
	w.sampledBy(func(c *sim.Client, ws *sim.Workspace) data.Batch {
		batch := c.Sample(ws)
		if w.by(c, float64(c.Size())/float64(m.DatasetSize)) {
			batch.Rows = append(batch.Rows, 0)
		}
		return batch
	})
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
