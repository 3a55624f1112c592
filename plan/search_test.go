package plan

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
)

// For any cost and any starting point: the returned value is within the target, and a slightly less
// private one is not, or is out of range.
func TestDial(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 1))
	var met, calls, runs int
	for range 3000 {
		power := logUniform(r, 0.3, 6)
		if r.IntN(2) == 0 {
			power = -power
		}
		scale, target := logUniform(r, 1e-6, 1e6), logUniform(r, 1e-6, 1e4)
		// Beyond the wall there is no price, on the dear side.
		wall := math.Inf(int(math.Copysign(1, power)))
		if r.IntN(3) == 0 {
			wall = math.Log(logUniform(r, 1e-3, 1e3))
		}
		cost := func(v float64) float64 {
			if (math.Log(v)-wall)*power > 0 {
				return math.Inf(1)
			}
			return scale * math.Pow(v, power)
		}
		d := dial{
			price: func(v float64) (dp.Bound, error) {
				calls++
				if c := cost(v); !math.IsInf(c, 1) {
					return dp.Bound{EpsilonUpper: c}, nil
				}
				return dp.Bound{}, errors.New("no price")
			},
			safe: roundDown, start: logUniform(r, 1e-7, 1e7), least: 1e-5, most: 1e5, slope: power * logUniform(r, 0.3,
				3), tol: 1e-4,
		}
		if power < 0 {
			d.safe = roundUp
		}
		runs++
		s, err := d.turn(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		safest, dearest := d.least, d.most
		if power < 0 {
			safest, dearest = d.most, d.least
		}
		if !s.met {
			if s.value != safest || cost(safest) <= target {
				t.Fatalf("power %v, scale %v, wall %v, target %v: %+v", power, scale, wall, target, s)
			}
			continue
		}
		met++
		further := s.value * math.Exp(math.Copysign(2.1e-4, power))
		if cost(s.value) > target || s.value != dearest && cost(further) <= target {
			t.Fatalf("power %v, scale %v, wall %v, target %v: %+v, but %v costs %v", power, scale, wall, target, s,
				further, cost(further))
		}
	}
	if met < 1500 || calls > 20*runs {
		t.Errorf("%d of %d met, %d prices", met, runs, calls)
	}
}

func TestRoundedIsOnTheSafeSide(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 2))
	for range 5000 {
		v := math.Exp(100 * (r.Float64() - 0.5))
		if u, d := roundUp(v), roundDown(v); u < v || d > v || u > v*(1+1.1e-6) || d < v*(1-1.1e-6) ||
			roundUp(u) != u || roundDown(d) != d {
			t.Fatalf("%v: up %v, down %v", v, u, d)
		}
	}
}
