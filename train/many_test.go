package train

import (
	"runtime"
	"testing"

	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/sim"
)

// A client of so many that streams' first bits are not kept takes at most 650 bytes at the
// start of a run, of the virtual clock's own included; it took 924 when they were.
func TestOneOfManyClientsTakesLittleMemory(t *testing.T) {
	const clients = 20_000
	spec := DefaultSpec()
	spec.Data, spec.Clients, spec.SampleSize, spec.GradComps = "synth-drawn", clients, "1", 10
	p, err := spec.Prepare(synth.OneHot(rng.New(3), 400), nil)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v, err := sim.NewVirtual(p.Config, sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if each := float64(after.TotalAlloc-before.TotalAlloc) / clients; each > 680 {
		t.Errorf("%.0f bytes a client, must be at most 680", each)
	}
	runtime.KeepAlive(v)
}
