package rdp

import (
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
)

// Merged rounds cost at least the sum of all, at every order and for every pair, and not much more. The moments
// of fixed-size samples grow faster with the order, because the sum moves by 2C.
func TestMergedRoundsCostAtLeastTheirSum(t *testing.T) {
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
			few := all.merged(most)
			if len(few.nodes) > most || len(few.alone) > 0 {
				t.Fatalf("%d nodes", len(few.nodes))
			}
			for _, alpha := range []float64{1.001, 4, 16, 400} {
				got, want := few.divergence(t.Context(), alpha), all.divergence(t.Context(), alpha)
				limit := want * 1.36
				if k.adjacency == dp.AddOrRemove || k.sampling == dp.FixedSize && alpha < 4 {
					limit = want * 1.03
				}
				if got < want*(1-1e-12) || got > limit && alpha < 10 {
					t.Errorf("%v, %v, span %v, order %v: %v merged, %v one by one", k.sampling, k.adjacency, span, alpha,
						got, want)
				}
			}
		}
	}
}

// A moment is convex in q and in u = erf(1/(√8·σ)): a round costs at most the mean of the corners.
func TestMomentsAreConvex(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 3))
	for range 300 {
		shape := mixture
		if r.IntN(2) == 0 {
			shape = symmetric
		}
		a := logUniform(r, 1e-3, 300)
		var three []node // two corners, and a round between them
		q0, s0 := logUniform(r, 1e-6, 0.9), logUniform(r, 0.3, 100)
		q1, s1 := min(0.9, q0*logUniform(r, 1, 100)), s0*logUniform(r, 1, 100)
		for _, part := range []float64{0, 1, r.Float64()} {
			three = append(three, node{q: q0 * math.Pow(q1/q0, part), sigma: s0 * math.Pow(s1/s0, r.Float64()*part), count: 1})
		}
		nodes, all := inCells(three, 4, false)
		var most, sum float64
		for _, c := range all {
			var s logSum
			for k, n := range c.corner {
				s.add(pair{shape, nodes[n].q, nodes[n].sigma}.logMoment(a) + math.Log(c.weight[k]))
			}
			most += c.count * math.Log1p(math.Exp(s.log()))
		}
		for _, x := range three {
			sum += math.Log1p(math.Exp(pair{shape, x.q, x.sigma}.logMoment(a)))
		}
		if sum > most*(1+1e-9) {
			t.Errorf("shape %v, order %v, %v: %v, must be at most %v", shape, 1+a, three, sum, most)
		}
	}
}

// Rounds that use every record are counted exactly in a mixture of many, and ε of many rounds is near
// that of a few with the same sums.
func TestMergedWithGaussians(t *testing.T) {
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
