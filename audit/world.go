package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"proactivedp/rng"
	"proactivedp/sim"
)

// tinyStep keeps the parameters where they are, in effect, so that the gradients
// are those that the adversary has prepared. It loses nothing: he sees the
// releases, and all else is made of them.
const tinyStep = 1e-9

// world is one of the two data sets that the adversary must tell apart: the
// setting with some records absent. It runs one training at a time.
type world struct {
	name   string
	probe  string
	o      *Options
	cfg    sim.Config
	s      setting
	absent []bool
	why    sim.HappeningKind // what happened last on the virtual clock, if there is a wire
	first  sim.Roots         // those of the first of two legs, as the run under way is one
}

// newWorld prepares runs without the absent records (by row of the data), in
// which see is shown everything that is released.
func newWorld(probe, name string, s setting, absent []bool, o *Options, see sim.Substitute) *world {
	w := &world{name: name, probe: probe, o: o, cfg: s.config(absent), s: s, absent: absent}
	w.cfg.Mechanism.Exact = o.Exact
	o.Fault.plant(w, o.size())
	release := w.cfg.Substitute
	w.cfg.Substitute = func(c *sim.Client, u []float32, ws *sim.Workspace) error {
		if err := release(c, u, ws); err != nil {
			return err
		}
		return see(c, u, ws)
	}
	return w
}

// onWire shows see each update as it is put on its way.
func (w *world) onWire(see func(sim.Update)) {
	send := w.cfg.Wire
	w.cfg.Wire = func(u sim.Update) {
		if send != nil {
			send(u)
		}
		see(u)
	}
}

// run trains once, with randomness of its own.
func (w *world) run(ctx context.Context, number int) (*sim.Result, error) {
	w.first = sim.SharedRoots(rng.New(w.seed(number)), w.cfg.Clients())
	w.cfg.Roots = w.first
	return w.train(ctx)
}

// leg trains once: run 0 or 1 of the release to which two numbers belong.
func (w *world) leg(ctx context.Context, number int) (*sim.Result, error) {
	w.first = sim.SharedRoots(rng.New(w.seed(number/2)), w.cfg.Clients())
	w.cfg.Roots = w.first.ForRun(uint64(number % 2))
	return w.train(ctx)
}

func (w *world) train(ctx context.Context) (*sim.Result, error) {
	if w.o.Runner == Hogwild {
		return sim.Hogwild(ctx, &w.cfg, nil)
	}
	v, err := sim.NewVirtual(&w.cfg, sim.Perf{}, nil)
	if err != nil {
		return nil, err
	}
	if w.cfg.Wire != nil {
		v.Record(func(h sim.Happening) { w.why = h.Kind })
	}
	return v.Run(ctx)
}

// seed is that of one run, a function of its place alone.
func (w *world) seed(number int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "proactivedp/audit/%d/%s/%s/%d", w.o.Seed, w.probe, w.name, number))
	return binary.LittleEndian.Uint64(sum[:])
}
