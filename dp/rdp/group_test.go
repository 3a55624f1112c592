package rdp

import (
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
)

// Grouped rounds cost at least the sum of all, at every order and for every pair. For the pairs that
// are interpolated they cost hardly more.
func TestGroupedRoundsCostAtLeastTheirSum(t *testing.T) {
	const most = 200
	r := rand.New(rand.NewPCG(8, 2))
	for _, k := range kinds {
		for _, span := range []float64{1.001, 1.5, 4} {
			var all release
			for range most + 100 {
				e := dp.Event{Sampling: k.sampling, Adjacency: k.adjacency, Rate: logUniform(r, 1e-2/span, 1e-2*span),
					NoiseMultiplier: logUniform(r, 2/math.Sqrt(span), 2*math.Sqrt(span)), Count: 1 + r.IntN(4)}
				p, err := newPair(e)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, rounds{p, float64(e.Count)})
			}
			few := all.grouped(most)
			if len(few.nodes) > most || len(few.alone) > 0 {
				t.Fatalf("%d nodes", len(few.nodes))
			}
			for _, alpha := range []float64{1.001, 4, 16, 400} {
				got, want := few.divergence(t.Context(), alpha), all.divergence(t.Context(), alpha)
				if got < want*(1-1e-12) || k.adjacency == dp.AddOrRemove && got > want*1.03 && alpha < 10 {
					t.Errorf("%v, %v, span %v, order %v: %v grouped, %v one by one", k.sampling, k.adjacency, span, alpha,
						got, want)
				}
			}
		}
	}
}

// A moment is convex in q and in u = erf(1/(√8·σ)): between two nodes a round costs at most their
// weighted mean.
func TestMomentsAreConvex(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 3))
	for range 300 {
		shape := mixture
		if r.IntN(2) == 0 {
			shape = symmetric
		}
		a := logUniform(r, 1e-3, 300)
		q0, q1 := logUniform(r, 1e-6, 0.9), logUniform(r, 1e-6, 0.9)
		s0, s1 := logUniform(r, 0.3, 100), logUniform(r, 0.3, 100)
		q0, q1, s0, s1 = min(q0, q1), max(q0, q1), min(s0, s1), max(s0, s1)
		q, s := q0+(q1-q0)*r.Float64(), s0*math.Pow(s1/s0, r.Float64())
		moment := func(q, s float64) float64 { return pair{shape, q, s}.logMoment(a) }
		mean := func(x, y, part float64) float64 {
			var sum logSum
			sum.add(x + math.Log(1-part))
			sum.add(y + math.Log(part))
			return sum.log()
		}
		if got, most := moment(q, s), mean(moment(q0, s), moment(q1, s), part(q0, q, q1)); got > most+1e-9 {
			t.Errorf("shape %v, order %v, σ = %v: q = %v in [%v, %v]: %v, must be at most %v", shape, 1+a, s, q, q0, q1, got, most)
		}
		if got, most := moment(q, s), mean(moment(q, s1), moment(q, s0), partOfNoise(s1, s, s0)); got > most+1e-9 {
			t.Errorf("shape %v, order %v, q = %v: σ = %v in [%v, %v]: %v, must be at most %v", shape, 1+a, q, s, s0, s1, got, most)
		}
	}
}

// Rounds that use every record are counted exactly in a mixture of many, and ε of many rounds is near
// that of a few with the same sums.
func TestGroupedWithGaussians(t *testing.T) {
	var events []dp.Event
	for i := range maxPairs + 50 {
		events = append(events, event(0.01*(1+float64(i)*1e-5), 1.5, 2))
	}
	events = append(events, event(1, 30, 3), event(1, 40, 1))
	many, err := Accountant{}.Epsilon(t.Context(), events, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	few, err := Accountant{}.Epsilon(t.Context(), []dp.Event{event(0.01*(1+float64(maxPairs+50)*1e-5), 1.5, 2*(maxPairs+50)),
		event(1, 30, 3), event(1, 40, 1)}, 1e-6)
	if err != nil || !(many.Epsilon <= few.Epsilon*(1+1e-9)) || many.Epsilon < few.Epsilon*0.99 {
		t.Errorf("ε = %v, %v with the largest rate for all (%v)", many.Epsilon, few.Epsilon, err)
	}
}
