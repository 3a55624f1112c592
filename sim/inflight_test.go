package sim

import (
	"strings"
	"testing"
)

// An update on its way is what its round can release at the run's σ and C: a state of
// another σ is refused wherever there is one, though everything else of it fits; one of
// the same goes on.
func TestUpdatesInFlightAreHeldAgainstTheNoise(t *testing.T) {
	const times = 10
	cfg := brief(t)
	other := *cfg
	other.Mechanism.NoiseMultiplier *= times
	v := newVirtual(t, cfg, Perf{})
	states, refused := 0, 0
	for {
		inFlight := 0
		for _, e := range *v.agenda.all() {
			if e.kind.update() {
				inFlight++
			}
		}
		file := written(t, v)
		if err := restore(newVirtual(t, cfg, Perf{}), file); err != nil {
			t.Fatalf("its own state is refused: %v", err)
		}
		err := restore(newVirtual(t, &other, Perf{}), file)
		switch {
		case inFlight == 0 && err != nil:
			t.Errorf("a state without an update is refused: %v", err)
		case inFlight > 0:
			if states++; err != nil && strings.Contains(err.Error(), "without the noise") {
				refused++
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
	if states < 20 || refused != states {
		t.Errorf("of %d states with updates on their way %d are refused under %d times the noise", states, refused,
			times)
	}
}
