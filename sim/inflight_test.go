package sim

import (
	"strings"
	"testing"
)

// An update in a saved state must be one that its round can release with the run's σ and C. A state of a
// run with another σ is refused, even if everything else fits. A state with the same σ is accepted.
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
