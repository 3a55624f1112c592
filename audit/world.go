package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"proactivedp/rng"
	"proactivedp/sim"
)

// tinyStep keeps the parameters practically constant, so that all gradients are those that the
// adversary has prepared. He loses nothing by this: he sees the releases, and everything else is
// computed from them.
const tinyStep = 1e-9

// world is one of the two data sets that the adversary must distinguish: the setting without some
// records. It runs one training at a time.
type world struct {
	name   string
	probe  string
	o      *Options
	cfg    sim.Config
	s      setting
	absent []bool
	why    sim.HappeningKind // the last happening on the virtual clock, if there is a wire
	first  sim.Roots         // roots of the first of two legs; the current run is one of them
}

// newWorld prepares runs of the setting s without its absent records (by row of the data). see is called in place
// of Client.Release, and so sees everything that is released.
func newWorld(probe, name string, s setting, absent []bool, o *Options, see sim.Substitute) *world {
	w := &world{name: name, probe: probe, o: o, cfg: s.config(absent), s: s, absent: absent}
	w.cfg.Mechanism.Exact = o.Exact
	o.Fault.described().plant(w, o.size())
	release := w.cfg.Substitute
	w.cfg.Substitute = func(c *sim.Client, u []float32, ws *sim.Workspace) error {
		if err := release(c, u, ws); err != nil {
			return err
		}
		return see(c, u, ws)
	}
	return w
}

// onWire calls see for each update when it is sent.
func (w *world) onWire(see func(sim.Update)) {
	send := w.cfg.Wire
	w.cfg.Wire = func(u sim.Update) {
		if send != nil {
			send(u)
		}
		see(u)
	}
}

// run trains once, with new randomness.
func (w *world) run(ctx context.Context, number int) (*sim.Result, error) {
	w.first = sim.SharedRoots(rng.New(w.seed(number)), w.cfg.Clients())
	w.cfg.Roots = w.first
	return w.train(ctx)
}

// leg trains once, as one of two legs with the same root: the number divided by 2 selects the root, and
// its remainder is the number of the run.
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

// seed returns the seed of a run, which only depends on the run's position in the audit.
func (w *world) seed(number int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "proactivedp/audit/%d/%s/%s/%d", w.o.Seed, w.probe, w.name, number))
	return binary.LittleEndian.Uint64(sum[:])
}
