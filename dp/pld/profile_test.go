package pld

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
	"proactivedp/internal/testkit"
)

// spaced returns n numbers from 0 to most.
func spaced(most float64, n int) []float64 {
	eps := make([]float64, n)
	for i := range eps {
		eps[i] = most * float64(i) / float64(n-1)
	}
	return eps
}

// The contours that several ε share hold the exact δ between them, where there is one: a single
// round, or rounds of all records. Removing costs at least as much as adding there, also if it is
// looked at last.
func TestProfilesHoldTheExactDelta(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 1))
	for i := range 10 * testkit.Sweeps(t) {
		q, sigma, rounds, _ := draw(r)
		s := spec{q: q, sigma: max(sigma, 0.4), count: 1}
		if r.IntN(2) == 0 {
			s = spec{q: 1, sigma: max(sigma, math.Sqrt(float64(rounds))/3), count: float64(rounds)}
		}
		query := query{effort: &effort{ctx: t.Context(), most: sharedWork, left: profileWork}, directions: []direction{remove},
			specs: []spec{s}, accuracy: 1e-3, sampling: dp.Poisson, adjacency: dp.AddOrRemove}
		exact := query.exact()
		last, err := exact.epsilon(1e-9)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			query.directions = []direction{add, remove}
		}
		eps := spaced(last, 100)
		p := query.composeDeltas(eps)
		for i, e := range eps {
			want := exact.delta(e)
			if p.lower[i] > want*(1+1e-9) || p.upper[i] < want*(1-1e-9) {
				t.Errorf("%v, %+v, ε = %v: δ in [%v, %v], want %v", query.directions, s, e, p.lower[i], p.upper[i], want)
			}
		}
	}
}

// Rounding may move losses to either side. Here it moves them so far that the wrong side is seen.
func TestContoursAreCertifiedForMovedLosses(t *testing.T) {
	s, eps := spec{q: 0.1, sigma: 1, count: 1}, spaced(2, 9)
	query := query{effort: free(t), directions: []direction{remove}, specs: []spec{s}, accuracy: 1e-3}
	p := newProfile(eps)
	query.narrowAt(p, 4, remove, 1e-3)
	c := p.contours[4][0]
	c.shift = 0.05
	for i, e := range eps {
		if i == 4 {
			continue
		}
		p.share(i, 1e-3, query.effort)
		if least, most := oneDelta(s, e+c.shift), oneDelta(s, max(0, e-c.shift)); p.lower[i] > least || p.upper[i] < most {
			t.Errorf("ε = %v: δ in [%v, %v], want [%v, %v] in it", e, p.lower[i], p.upper[i], least, most)
		}
	}
}

// What a profile says of an ε never contradicts what Delta says of it, and its effort ends:
// 200 ε of these settings took up to a minute, one by one.
func TestProfilesAgreeWithDeltaAndEnd(t *testing.T) {
	a := Accountant{}
	for i, e := range []dp.Event{
		event(1e-6, 0.5, 1000), event(0.1484, 1.059, 2_396_872),
		{Sampling: dp.FixedSize, Adjacency: dp.ReplaceOne, NoiseMultiplier: 0.8, Rate: 1e-7, Count: 30},
		{Sampling: dp.Poisson, Adjacency: dp.ReplaceOne, NoiseMultiplier: 0.6, Rate: 1e-5, Count: 300},
	} {
		events := []dp.Event{e}
		last := epsilon(t, a, 1e-9, e)
		eps := spaced(last.Epsilon, 200)
		q, err := a.query(t.Context(), events, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.most, q.left = sharedWork, profileWork
		p := q.composeDeltas(eps)
		if q.left < -profileWork {
			t.Errorf("%+v: %v steps, want about %v at the most", e, profileWork-q.left, profileWork)
		}
		for _, at := range []int{1 + i, 150 + i} {
			one, err := a.Delta(t.Context(), events, eps[at])
			if err != nil {
				t.Fatal(err)
			}
			if lo, up := p.lower[at], p.upper[at]; !(lo <= up) || lo > one.DeltaUpper || up < one.DeltaLower {
				t.Errorf("%+v, ε = %v: δ in [%v, %v] of the profile, %+v alone", e, eps[at], lo, up, one)
			}
		}
	}
}

// An easy release has a profile of the accuracy that was asked for.
func TestProfilesAreAccurate(t *testing.T) {
	a := Accountant{Accuracy: 1e-3}
	e := event(0.01, 1, 1000)
	bounds, err := a.Profile(t.Context(), []dp.Event{e}, spaced(epsilon(t, a, 1e-9, e).Epsilon, 200))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bounds {
		if !(b.DeltaUpper-b.DeltaLower <= 1.01e-3*b.DeltaUpper) {
			t.Errorf("ε = %v: δ in [%v, %v]", b.Epsilon, b.DeltaLower, b.DeltaUpper)
		}
	}
}

func TestProfilesOfWrongEpsilons(t *testing.T) {
	a, events := Accountant{}, []dp.Event{event(0.01, 1, 10)}
	for _, eps := range [][]float64{{math.NaN()}, {1, 0.5}, {-1, 1}, {0, math.Inf(1)}, {0, math.NaN()}} {
		if _, err := a.Profile(t.Context(), events, eps); err == nil || errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%v: %v", eps, err)
		}
	}
	for eps, want := range map[[2]float64]int{{1, 1}: 2, {1, 2 * MaxEpsilon}: 1} {
		if bounds, err := a.Profile(t.Context(), events, eps[:]); err != nil || len(bounds) != want {
			t.Errorf("%v: %d bounds, %v", eps, len(bounds), err)
		}
	}
	if _, err := a.Profile(t.Context(), events, []float64{2 * MaxEpsilon}); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("only what is not covered: %v", err)
	}
	if bounds, err := a.Profile(t.Context(), events, nil); err != nil || len(bounds) != 0 {
		t.Errorf("none: %v, %v", bounds, err)
	}
}

func TestSpreadOut(t *testing.T) {
	for n, want := range map[int]string{0: "[]", 1: "[0]", 2: "[0 1]", 3: "[0 2 1]", 6: "[0 5 2 1 3 4]"} {
		if got := fmt.Sprint(spreadOut(n)); got != want {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
}

// If ε is far above all losses that truncation leaves, contours cannot make the bound of δ sharper, and none is made.
func TestFarAboveTheLossesThereIsNoContour(t *testing.T) {
	specs := []spec{{q: 0.1, sigma: 1, count: 100}, {q: 0.01, sigma: 2, count: 50}}
	q := query{effort: free(t), directions: []direction{remove}, specs: specs, accuracy: DefaultAccuracy}
	for _, eps := range []float64{200, 2000} {
		p := newProfile([]float64{eps})
		q.narrowAt(p, 0, remove, q.accuracy)
		if n := len(p.contours[0]); n != 0 || !(p.upper[0] > 0 && p.upper[0] < 1e-190) {
			t.Errorf("ε = %v: %d contours, δ ≤ %v", eps, n, p.upper[0])
		}
	}
}

// A truncation that was chosen for a δ far above the answer does not end the search.
func TestATooLargeTruncationIsNotTheBound(t *testing.T) {
	b, err := Accountant{}.Delta(t.Context(), []dp.Event{event(4.463989686795622e-05, 0.9828264196621672, 8)}, 0.09739210468489953)
	if err != nil || !(b.DeltaLower > 2.7e-17 && b.DeltaUpper < 2.9e-17) {
		t.Errorf("δ in [%v, %v], want about 2.79e-17 (%v)", b.DeltaLower, b.DeltaUpper, err)
	}
}
