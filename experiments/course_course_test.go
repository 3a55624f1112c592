package experiments

import (
	"slices"
	"strings"
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

// The table of a course has the batch size and the rounds of each client that took part: T = ⌊K/s⌋ for its own s.
func TestCourseOfOwnSizes(t *testing.T) {
	course := Course{Clients: make([]CourseEnd, 3), Stages: []CourseStage{{SampleSize: 4, Rounds: 10, Sizes: []int{4, 0, 9},
		Sigma: []float64{3, 0, 1}, HeldOut: make([]float64, 3), Used: make([]float64, 3)}}}
	if err := course.Validate(3); err != nil {
		t.Fatal(err)
	}
	table := CourseTable("paper", make([]CourseClient, 3), []Course{course})
	for i, want := range []string{"10,4,10", "10,4,10", "10,9,4"} { // rounds so far, size, rounds
		if got := strings.Join(table[i+1][3:6], ","); got != want {
			t.Errorf("client %d: %s, want %s", i, got, want)
		}
	}
	for want, sizes := range map[string][]int{"2 sample sizes": {4, 9}, "client 2: sample size = 3": {4, 0, 3},
		"client 0: sample size = 0": {0, 0, 9}, "client 1: sample size = -1": {4, -1, 9}} {
		course.Stages[0].Sizes = sizes
		if err := course.Validate(3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", sizes, err, want)
		}
	}
}
