package propose

import (
	"strings"
	"testing"
)

// The settings of a study keep ε as those of a search do, and are sorted by their number of gradients. A
// grid without a setting is refused.
func TestStudySettings(t *testing.T) {
	r, o := request(), options(1)
	study, err := NewStudy(r, o)
	if err != nil {
		t.Fatal(err)
	}
	g := Grid{Rounds: []int{40, 60}, Noise: []float64{1, 4}, Clips: []float64{0.3}, Walks: []float64{6, 24},
		Schedules: []string{"zero"}, Averages: []string{""}}
	settings, err := study.Settings(t.Context(), r.Epsilon, g)
	if err != nil || len(settings) != 8 {
		t.Fatalf("%d settings, %v", len(settings), err)
	}
	for i, s := range settings[1:] {
		if s.GradComps < settings[i].GradComps {
			t.Errorf("%d gradients after %d", s.GradComps, settings[i].GradComps)
		}
	}
	g.Walks = nil
	if _, err := study.Settings(t.Context(), r.Epsilon, g); err == nil || err.Error() != "walks: none, must be at least one" {
		t.Errorf("no walks: %v", err)
	}
	for _, err := range []error{second(study.Predict(t.Context(), nil)), second(Study{}.Predict(t.Context(), settings)),
		second(Study{}.Settings(t.Context(), r.Epsilon, g))} {
		if err == nil || !strings.Contains(err.Error(), "no settings") && !strings.Contains(err.Error(), "NewStudy") {
			t.Errorf("%v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
