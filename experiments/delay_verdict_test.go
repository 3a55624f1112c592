package experiments

import (
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// ended returns runs that end with these accuracies after a second, one for each seed. NaN stands for a
// run that diverged.
func ended(lag int, accuracies ...float64) []pool.Timed {
	var runs []pool.Timed
	for _, a := range accuracies {
		r := pool.Timed{At: []sim.Time{0, 5e8, 1e9}, Accuracy: []float64{0.1, a, a}, Clock: 1e9, TestRows: 1000,
			Busy: []sim.Time{1e9}, Done: []sim.Time{1e9}, Staleness: make([]int, lag+1)}
		r.Staleness[lag] = 10
		if math.IsNaN(a) {
			r.Diverged, r.Accuracy = true, []float64{0, 0, 0}
		}
		runs = append(runs, r)
	}
	return runs
}

func comparisonOf(delays []string, runs ...[]pool.Timed) *comparison {
	var all []series
	for _, d := range delays {
		all = append(all, series{delayName(d), train.Spec{Delay: d}})
	}
	return newComparison(all, runs)
}

func TestDelayVerdict(t *testing.T) {
	sync := ended(0, 0.90, 0.92, 0.91)
	nan := math.NaN()
	for _, c := range []struct {
		name                   string
		delays                 []string
		runs                   [][]pool.Timed
		majority               float64
		keeps, loses, unclear  []string
		affordable, saysAtOnce string
	}{
		{"all keep", []string{"0", "1", "unlimited"}, [][]pool.Timed{sync, ended(1, 0.90, 0.92, 0.91),
			ended(9, 0.901, 0.919, 0.91)}, 0.5, []string{"1", "unlimited"}, nil, nil, "unlimited",
			"You can afford every delay tried"},
		{"the largest loses", []string{"0", "1", "4"}, [][]pool.Timed{sync, ended(1, 0.90, 0.92, 0.91),
			ended(4, 0.80, 0.82, 0.81)}, 0.5, []string{"1"}, []string{"4"}, nil, "1", "lost with delay 4 (0.1000)"},
		{"scattered", []string{"0", "4"}, [][]pool.Timed{sync, ended(4, 0.90, 0.70, 0.91)}, 0.5, nil, nil,
			[]string{"4"}, "", "Undecided: delay 4 (0.0733 lower on average)"},
		{"one diverges", []string{"0", "4"}, [][]pool.Timed{sync, ended(4, 0.90, nan, 0.91)}, 0.5, nil,
			[]string{"4"}, nil, "", "diverged with 1 of 3 seeds"},
		{"one seed shows nothing", []string{"0", "1"}, [][]pool.Timed{sync[:1], ended(1, 0.90)}, 0.5, nil, nil,
			[]string{"1"}, "", "delay 1 (equal on average). Try --seeds 5"},
		{"one seed is better", []string{"0", "1"}, [][]pool.Timed{sync[:1], ended(1, 0.91)}, 0.5, nil, nil,
			[]string{"1"}, "", "delay 1 (0.0100 higher on average)"},
		{"the reference learns nothing", []string{"0", "1"}, [][]pool.Timed{sync, sync}, 0.91, nil, nil,
			[]string{"1"}, "", "No verdict: the synchronous run does not beat"},
		{"the reference diverges", []string{"0", "1"}, [][]pool.Timed{ended(0, 0.9, nan, 0.9), sync}, 0.5, nil, nil,
			[]string{"1"}, "", "diverged with 1 of 3 seeds"},
		{"only the reference", []string{"0"}, [][]pool.Timed{sync}, 0.5, nil, nil, nil, "", "only the synchronous"},
		{"better is no loss", []string{"0", "1"}, [][]pool.Timed{sync, ended(1, 0.95, 0.99, 0.93)}, 0.5,
			[]string{"1"}, nil, nil, "1", "You can afford every delay tried"},
	} {
		v := comparisonOf(c.delays, c.runs...).verdict(0.01, c.majority)
		if !slices.Equal(v.Keeps, c.keeps) || !slices.Equal(v.Loses, c.loses) || !slices.Equal(v.Undecided, c.unclear) ||
			v.Affordable != c.affordable || !strings.Contains(v.Text, c.saysAtOnce) {
			t.Errorf("%s: %+v", c.name, v)
		}
		if v.Keeps == nil || v.Loses == nil || v.Undecided == nil {
			t.Errorf("%s: a list is null in JSON", c.name)
		}
	}
}

// The advice holds: with the advised number of seeds and the same spread, the half-width is within the
// margin, and with one seed less it is not. The quantile 2.919986 of Student's t with two degrees of
// freedom is from Abramowitz and Stegun, table 26.10.
func TestSeedsAdvised(t *testing.T) {
	if got, want := halfWidth(1, 3), 2.919986/math.Sqrt(3); math.Abs(got-want) > 1e-5 {
		t.Errorf("half-width %v, must be %v", got, want)
	}
	for _, sd := range []float64{0.011, 0.02, 0.05} {
		n := seedsFor(sd, 0.01, 2)
		if n < 3 || halfWidth(sd, n) > 0.01 || n > 3 && halfWidth(sd, n-1) <= 0.01 {
			t.Errorf("sd %v: %d seeds, half-width %v", sd, n, halfWidth(sd, n))
		}
	}
	if n := seedsFor(1, 0.01, 2); n != 0 {
		t.Errorf("%d seeds advised, must be none", n)
	}
}

// A run that reaches its target but ends far below it does not count as having reached it.
func TestLostTargetsAreNotReached(t *testing.T) {
	lost := ended(1, 0.9, 0.92, 0.91)
	for i := range lost {
		lost[i].Accuracy = []float64{0.1, 0.95, 0.6}
	}
	s := comparisonOf([]string{"0", "1"}, ended(0, 0.90, 0.92, 0.91), lost).summaries()[1]
	if s.Reached != 0 || s.ToTarget != nil || s.SpeedUp != nil {
		t.Errorf("%+v, must have reached nothing", s)
	}
}
