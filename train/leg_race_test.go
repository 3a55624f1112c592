package train

import (
	"sync"
	"testing"

	"proactivedp/data/synth"
	"proactivedp/rng"
)

// Several goroutines may prepare stages from one source, as a loop that is audited does:
// the race detector sees it.
func TestLegsArePreparedSideBySide(t *testing.T) {
	source := NewSource(synth.OneHot(rng.New(3), 100))
	spec := DefaultSpec()
	spec.Data, spec.Clients, spec.GradComps, spec.SampleSize, spec.NoiseMultiplier = "drawn", 2, 60, "6", 0
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			stage := Stage{Participants: []Participant{{Client: 0, NoiseMultiplier: 2, Run: uint64(i + 1)}}}
			if _, err := source.PrepareStage(spec, stage); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}
