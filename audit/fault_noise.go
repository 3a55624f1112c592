package audit

import (
	"math"
	"slices"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/rng"
	"proactivedp/sim"
)

// std returns the standard deviation that the noise of a release should have.
func (w *world) std() float64 { return w.cfg.Mechanism.ClipNorm * w.cfg.Mechanism.NoiseMultiplier }

// stream returns the stream that a client's noise of a round should come from.
func (w *world) stream(roots sim.Roots, client, round int) *rng.Stream {
	return roots.Clients[client].Stream(rng.Noise, uint32(client), round)
}

// noisedBy makes the clients call add to add noise to their sums.
func (w *world) noisedBy(add func(c *sim.Client, sum []float64, batch data.Batch)) {
	w.cfg.Substitute = func(c *sim.Client, u []float32, ws *sim.Workspace) error {
		sum, batch := ws.Sum(), c.Sample(ws)
		if err := c.GradSum(sum, batch, ws); err != nil {
			return err
		}
		add(c, sum, batch)
		f32.Narrow(u, sum)
		return nil
	}
}

// own adds the noise that the mechanism prescribes for client c, times a factor, to the sum.
func (w *world) own(c *sim.Client, sum []float64, factor float64) {
	addNormals(sum, factor*w.std(), w.stream(w.cfg.Roots, c.ID(), c.Round()), w.o.Exact)
}

func lessNoise(w *world, size float64) {
	w.noisedBy(func(c *sim.Client, sum []float64, _ data.Batch) { w.own(c, sum, size) })
}

func bareCoordinates(w *world, size float64) {
	w.noisedBy(func(c *sim.Client, sum []float64, _ data.Batch) {
		bare := int(math.Round(size * float64(len(sum))))
		w.own(c, sum[:len(sum)-bare], 1)
	})
}

func cutNoise(w *world, size float64) {
	w.noisedBy(func(c *sim.Client, sum []float64, _ data.Batch) {
		s := w.stream(w.cfg.Roots, c.ID(), c.Round())
		for i := range sum {
			x := s.Normal()
			for math.Abs(x) > size {
				x = s.Normal()
			}
			sum[i] += float64(w.std() * x)
		}
	})
}

func coarseGenerator(w *world, size float64) {
	w.noisedBy(func(c *sim.Client, sum []float64, _ data.Batch) {
		key := w.stream(w.cfg.Roots, c.ID(), c.Round()).Uint64() % (1 << uint(size))
		addNormals(sum, w.std(), rng.New(key).Stream(rng.Noise, 0, 0), w.o.Exact)
	})
}

func openShare(w *world, size float64) {
	w.noisedBy(func(c *sim.Client, sum []float64, _ data.Batch) {
		scale(sum, 1+size)
		w.own(c, sum, 1)
	})
}

func silentEmptyBatch(w *world, _ float64) {
	w.noisedBy(func(c *sim.Client, sum []float64, batch data.Batch) {
		if slices.ContainsFunc(batch.Rows, func(r int32) bool { return !w.absent[r] }) {
			w.own(c, sum, 1)
		}
	})
}

// mixed makes the clients add noise that is partly the noise of another release, from the stream
// other(c). size says how large that part is.
func (w *world) mixed(size float64, other func(c *sim.Client) *rng.Stream) {
	w.noisedBy(func(c *sim.Client, sum []float64, _ data.Batch) {
		theirs := other(c)
		if theirs == nil {
			w.own(c, sum, 1)
			return
		}
		w.own(c, sum, math.Sqrt(1-size*size))
		addNormals(sum, size*w.std(), theirs, w.o.Exact)
	})
}

func reusedNoise(w *world, size float64) {
	w.mixed(size, func(c *sim.Client) *rng.Stream {
		if c.Round() == 0 {
			return nil
		}
		return w.stream(w.cfg.Roots, c.ID(), 0)
	})
}

func sharedNoise(w *world, size float64) {
	w.mixed(size, func(c *sim.Client) *rng.Stream {
		if c.ID() == 0 {
			return nil
		}
		return w.stream(w.cfg.Roots, 0, c.Round())
	})
}

func sharedLegs(w *world, size float64) {
	w.mixed(size, func(c *sim.Client) *rng.Stream {
		if w.first.Clients[c.ID()].Name() == w.cfg.Roots.Clients[c.ID()].Name() {
			return nil
		}
		return w.stream(w.first, c.ID(), c.Round())
	})
}

func freshResend(w *world, size float64)    { w.freshOnWire(sim.MessageResent, size) }
func freshDuplicate(w *world, size float64) { w.freshOnWire(sim.MessageDuplicated, size) }

// freshOnWire replaces the noise of a fraction of the updates to which on happens. If an update is
// duplicated, both copies get the new noise. A setting without a storm sends every update once, and is
// not affected.
func (w *world) freshOnWire(on sim.HappeningKind, size float64) {
	if w.o.Runner == Hogwild {
		return
	}
	sent := 0
	w.cfg.Wire = func(u sim.Update) {
		if w.why != on {
			return
		}
		sent++
		other := w.cfg.Roots.Clients[u.Client].Stream(rng.Perturbation, uint32(u.Client), u.Round+sent<<16)
		if other.Float64() >= size {
			return
		}
		x := make([]float64, len(u.U))
		f32.Widen(x, u.U)
		scale(x, -1)
		addNormals(x, w.std(), w.stream(w.cfg.Roots, u.Client, u.Round), w.o.Exact)
		scale(x, -1)
		addNormals(x, w.std(), other, w.o.Exact)
		f32.Narrow(u.U, x)
	}
}
