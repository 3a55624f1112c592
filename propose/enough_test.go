package propose

import (
	"strings"
	"testing"
)

// If all settings of a list have little noise, a setting with σ ≥ 2 is added, with all its seeds, at any
// ε.
func TestListsHaveEnoughNoise(t *testing.T) {
	r, o := request(), options(2)
	r.Base.Clients, r.Count = 1, 3
	s, err := newSearcher(r, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, epsilon := range []float64{0.2, 3} {
		l, err := s.layOut(t.Context(), epsilon, kind{60, 1})
		if err != nil || l.size == 0 {
			t.Fatal(l, err)
		}
		var found []*candidate
		for _, walk := range triedWalks[:4] {
			found = append(found, s.candidate(l, stride{0.3, walk}, s.plain()))
		}
		if found, err = s.rung(t.Context(), found, r.Seeds, 1, len(found)); err != nil {
			t.Fatal(err)
		}
		list, note, err := s.listed(t.Context(), epsilon, found)
		if err != nil || note != "" || len(list) != r.Count || list[0] != found[0] || list[1] != found[1] {
			t.Fatalf("ε = %v: %d settings, note %q, %v", epsilon, len(list), note, err)
		}
		more := list[2]
		if more.spec.NoiseMultiplier < enoughNoise || more.spec.NoiseMultiplier > 1.2*enoughNoise || len(more.each) != r.Seeds {
			t.Errorf("ε = %v: %+v", epsilon, more)
		}
		again, _, err := s.listed(t.Context(), epsilon, append(found[:2:2], more))
		if err != nil || len(again) != 3 || again[2] != more {
			t.Errorf("ε = %v: a list with enough noise is changed, %v", epsilon, err)
		}
	}
	s.TargetAccuracy = 0.999999
	l, err := s.layOut(t.Context(), 1, kind{60, 1})
	if err != nil {
		t.Fatal(err)
	}
	found := []*candidate{s.candidate(l, stride{0.3, 6}, s.plain())}
	if list, note, err := s.listed(t.Context(), 1, found); err != nil || len(list) != 1 ||
		!strings.Contains(note, "no setting with σ ≥ 2 is listed: its predicted accuracy is 0.") {
		t.Errorf("%d settings, note %q, %v", len(list), note, err)
	}
	s.TargetAccuracy = 0
	if list, note, err := s.listed(t.Context(), 60, found); err != nil || len(list) != 1 || !strings.Contains(note, "less noise even for batches of all records") {
		t.Errorf("%d settings, note %q, %v", len(list), note, err)
	}
	s.Count = 1
	if list, note, err := s.listed(t.Context(), 1, found); err != nil || len(list) != 1 || note != "" {
		t.Errorf("%d settings, note %q, %v", len(list), note, err)
	}
}
