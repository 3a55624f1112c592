package experiments

import (
	"slices"
	"testing"
)

// A client returns if it takes part again after a stage without it. A client that first takes part in a
// later stage does not count as returning.
func TestReturnsOfACourse(t *testing.T) {
	for _, c := range []struct {
		in   []int
		want int
		text string
	}{
		{nil, 0, "–"}, {[]int{0, 1, 2, 3, 4, 5}, 0, "0–5"}, {[]int{3, 4}, 0, "3–4"}, {[]int{0, 2}, 1, "0, 2"},
		{[]int{1, 3, 4, 5}, 1, "1, 3–5"}, {[]int{0, 2, 4}, 2, "0, 2, 4"},
	} {
		var course Course
		for number := range 6 {
			sigma := 0.0
			if slices.Contains(c.in, number) {
				sigma = 2
			}
			course.Stages = append(course.Stages, CourseStage{Sigma: []float64{sigma}})
		}
		if got := course.returns(0); got != c.want {
			t.Errorf("in stages %v: %d returns, want %d", c.in, got, c.want)
		}
		if got := stretches(c.in); got != c.text {
			t.Errorf("%v: %q, want %q", c.in, got, c.text)
		}
	}
	if err := (&Course{Clients: make([]CourseEnd, 1), Stages: []CourseStage{{Rounds: 1}}}).Validate(1); err == nil {
		t.Error("a stage without the client's σ was accepted")
	}
}
