package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"proactivedp/dp"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// tinyStep keeps the parameters where they are, in effect, so that the gradients
// are those that the adversary has prepared. It loses nothing: he sees the
// releases, and all else is made of them.
const tinyStep = 1e-9

// world is one of the two data sets that the adversary must tell apart: the
// setting with some records absent. It runs one training at a time.
type world struct {
	name  string
	probe string
	o     *Options
	cfg   sim.Config
}

// newWorld prepares runs without the absent records (by row of the data), in
// which see is shown everything that is sent.
func newWorld(probe, name string, s setting, absent []bool, o *Options, see sim.Substitute) *world {
	w := &world{name: name, probe: probe, o: o}
	w.cfg = sim.Config{
		Model: without{s.model, absent}, Rows: s.rows(), Partition: s.partition,
		Mechanism: dp.Mechanism{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: clip, NoiseMultiplier: s.sigma,
			DatasetSize: s.places, Sizes: dp.ConstantSizes(s.size),
		},
		GradComps:  s.rounds * s.size,
		Delay:      sim.AtMost(1),
		Steps:      sim.StepSize{Eta0: tinyStep, Decay: sim.NoDecay},
		Timing:     clock.DefaultTiming(),
		Substitute: (*sim.Client).Release,
	}
	o.Fault.plant(&w.cfg, absent)
	release := w.cfg.Substitute
	w.cfg.Substitute = func(c *sim.Client, u []float32, ws *sim.Workspace) error {
		if err := release(c, u, ws); err != nil {
			return err
		}
		return see(c, u, ws)
	}
	return w
}

// run trains once, with randomness of its own.
func (w *world) run(ctx context.Context, number int) (*sim.Result, error) {
	w.cfg.Roots = sim.SharedRoots(rng.New(w.seed(number)), w.cfg.Clients())
	if w.o.Runner == Hogwild {
		return sim.Hogwild(ctx, &w.cfg, nil)
	}
	v, err := sim.NewVirtual(&w.cfg, sim.Perf{}, nil)
	if err != nil {
		return nil, err
	}
	return v.Run(ctx)
}

// seed is that of one run, a function of its place alone.
func (w *world) seed(number int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "proactivedp/audit/%d/%s/%s/%d", w.o.Seed, w.probe, w.name, number))
	return binary.LittleEndian.Uint64(sum[:])
}
