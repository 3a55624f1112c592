package sim

import (
	"testing"

	"proactivedp/models"
	"proactivedp/rng"
)

// At every event, a vector has as many readers as there are clients that hold it and messages that carry
// it. A free vector has none.
func TestVectorsHaveTheirReaders(t *testing.T) {
	for name, timing := range map[string]option{
		"default": func(*Config) {}, "constant": constantTiming, "exponential": exponentialTiming, "rough": rough,
	} {
		v, err := NewVirtual(small(t, timing, withDelay(AtMost(3))), Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for event := 0; ; event++ {
			state := v.state()
			holders := state.holders()
			for held, n := range holders {
				if int(held.readers) != n {
					t.Fatalf("%s, event %d: %d readers counted of a vector with %d", name, event, held.readers, n)
				}
			}
			for _, free := range v.vectors.free {
				if free.readers != 0 || holders[free] != 0 {
					t.Fatalf("%s, event %d: a free vector has %d readers, counted %d", name, event, holders[free],
						free.readers)
				}
			}
			more, err := v.Step()
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
		}
	}
}

// dropping records what its gradients would draw.
type dropping struct {
	models.Model
	drawn map[uint64]int
}

func (d dropping) Draw(_ models.Scratch, s *rng.Stream) { d.drawn[s.Uint64()]++ }

// A model that draws random numbers in its gradient has a separate stream for each client and round.
func TestGradientsDrawFromTheirOwnStream(t *testing.T) {
	cfg := small(t)
	drawn := map[uint64]int{}
	cfg.Model = dropping{cfg.Model, drawn}
	runVirtual(t, cfg, Perf{})
	rounds := cfg.Run().Rounds
	if len(drawn) != rounds*cfg.Clients() {
		t.Errorf("%d streams for %d rounds of %d clients", len(drawn), rounds, cfg.Clients())
	}
	for client := range cfg.Clients() {
		for round := range rounds {
			if u := cfg.Roots.Clients[client].Stream(rng.Dropout, uint32(client), round).Uint64(); drawn[u] != 1 {
				t.Errorf("client %d drew %d times in round %d", client, drawn[u], round)
			}
		}
	}
}

var _ models.Stochastic = dropping{}
