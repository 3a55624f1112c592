package rdp

import (
	"math"
	"math/rand/v2"
	"testing"
)

func drawn(r *rand.Rand, n int, span float64) (rounds []node) {
	for range n {
		rounds = append(rounds, node{1e-3 * math.Pow(span, r.Float64()), 0.5 * math.Pow(span, r.Float64()), float64(1 + r.IntN(3))})
	}
	return rounds
}

// The cells hold all rounds, their weights are probabilities, and their means are those of the rounds:
// of q, and of u = erf(1/(√8·σ)), up to the slack, which is on the costly side.
func TestWeightsInterpolate(t *testing.T) {
	u := func(sigma float64) float64 { return math.Erf(1 / (2 * math.Sqrt2 * sigma)) }
	r := rand.New(rand.NewPCG(1, 1))
	for _, span := range []float64{1, 1.01, 3, 100} {
		for _, most := range []int{4, 50, 500} {
			rounds := drawn(r, 300, span)
			nodes, cells := inCells(rounds, most, false)
			if len(nodes) > most {
				t.Fatalf("span %v: %d nodes, must be at most %d", span, len(nodes), most)
			}
			var count, q, noise, wantCount, wantQ, wantNoise float64
			for _, x := range rounds {
				wantCount, wantQ, wantNoise = wantCount+x.count, wantQ+x.count*x.q, wantNoise+x.count*u(x.sigma)
			}
			for _, c := range cells {
				sum := 0.0
				for k, n := range c.corner {
					if c.weight[k] < 0 {
						t.Errorf("weight %v", c.weight[k])
					}
					sum += c.weight[k]
					q += c.count * c.weight[k] * nodes[n].q
					noise += c.count * c.weight[k] * u(nodes[n].sigma)
				}
				if count += c.count; math.Abs(sum-1) > 1e-15 {
					t.Errorf("the weights sum to %v", sum)
				}
			}
			if count != wantCount || q < wantQ*(1-1e-13) || q > wantQ*(1+1e-6) || noise < wantNoise*(1-1e-13) ||
				noise > wantNoise*(1+1e-6) {
				t.Errorf("span %v, %d nodes: %v rounds with means %v and %v, want %v, %v and %v", span, most, count, q, noise,
					wantCount, wantQ, wantNoise)
			}
		}
	}
}

// With only the top corner, every round is at a node that has at least its rate and at most its noise.
func TestTopCorner(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rounds := drawn(r, 1, 10)
	rounds = append(rounds, node{rounds[0].q * 1.3, rounds[0].sigma * 0.8, 1})
	nodes, cells := inCells(rounds, 1, true)
	if len(cells) != 1 || cells[0].weight != [4]float64{0, 0, 1, 0} {
		t.Fatalf("%+v", cells)
	}
	if n := nodes[cells[0].corner[2]]; n.q != rounds[1].q || n.sigma != rounds[1].sigma {
		t.Errorf("node %+v", n)
	}
}

// h(γ) of the Gaussian mechanism is convex in u = erf(μ/√8), and a round between four corners has at
// most the mean H of the corners, at every γ.
func TestDivergencesAreConvex(t *testing.T) {
	gaussian := func(mu, gamma float64) float64 { // Balle, Wang 2018, Theorem 8
		if gamma <= 0 {
			return 1 - gamma
		}
		eps := math.Log(gamma)
		return math.Erfc((eps/mu-mu/2)/math.Sqrt2)/2 - gamma*math.Erfc((eps/mu+mu/2)/math.Sqrt2)/2
	}
	sampled := func(x node, gamma float64) float64 {
		if at := 1 + (gamma-1)/x.q; at > 0 {
			return x.q * gaussian(1/x.sigma, at)
		}
		return 1 - gamma
	}
	r := rand.New(rand.NewPCG(1, 3))
	for range 2000 {
		q, s := math.Pow(10, -4*r.Float64())*0.9, 0.3*math.Pow(30, r.Float64())
		box := []node{{q, s, 1}, {q * (1 + r.Float64()) / 2, s * (1 + 2*r.Float64()), 1}}
		part, other := r.Float64(), r.Float64()
		box = append(box, node{box[1].q + part*(q-box[1].q), s + other*(box[1].sigma-s), 1})
		nodes, cells := grid(box, 100, 4, false)
		for range 20 {
			gamma := math.Exp(3 * r.NormFloat64() * q)
			var got, most float64
			for _, x := range box {
				got += sampled(x, gamma)
			}
			for k, n := range cells[0].corner {
				most += 3 * cells[0].weight[k] * sampled(nodes[n], gamma)
			}
			if len(cells) != 1 || got > most+1e-14 {
				t.Fatalf("%v at γ = %v: %v, must be at most %v", box, gamma, got, most)
			}
		}
	}
}
