package pld

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// Both ways to compute fourier are as close to sums in 200 bits as they say.
func TestFourierBound(t *testing.T) {
	const bits = 200
	wide := func(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }
	turn, _ := new(big.Float).SetPrec(bits).SetString("6.28318530717958647692528676655900576839433879875021164194988918461")
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		n, nodes int
		spread   float64 // of n·step·(y-center) at the last n
	}{
		{1, 32, 1}, {2, 5, 1}, {31, 64, 30}, {70, 2000, 0}, {70, 700, 3}, {128, 700, 300}, {129, 700, 3e4}, {400, 500, 2000},
	} {
		y, w := make([]float64, c.nodes), make([]float64, c.nodes)
		sum, center, step := 0.0, r.NormFloat64(), math.Exp(r.NormFloat64())
		for j := range y {
			x := r.NormFloat64()
			y[j] = center + x*c.spread/(step*float64(c.n))
			w[j] = math.Exp(r.NormFloat64() * 3)
			sum += w[j]
		}
		size := 0.0
		for j := range w {
			w[j] /= sum
			size += w[j] * math.Abs(y[j]-center)
		}
		exact := make([][2]float64, c.n)
		for j, v := range y {
			angle := new(big.Float).SetPrec(bits).Sub(wide(v), wide(center))
			angle.Quo(angle.Mul(angle, wide(step)), turn)
			for n := range exact {
				at := new(big.Float).SetPrec(bits).Mul(angle, wide(float64(n)))
				whole, _ := at.Int(nil)
				part, _ := at.Sub(at, new(big.Float).SetPrec(bits).SetInt(whole)).Float64()
				sin, cos := math.Sincos(2 * math.Pi * part)
				exact[n][0] += w[j] * cos
				exact[n][1] += w[j] * sin
			}
		}
		for _, way := range []string{"rotations", "fast"} {
			re, im := make([]float64, c.n), make([]float64, c.n)
			units, edge := float64(c.nodes)/panelNodes+1+panelNodes+4*chunk, 1.0
			if way == "rotations" {
				rotations(re, im, w, y, center, step)
			} else {
				units, edge = new(fast).sums(re, im, w, y, center, step), kernelEdge
			}
			for n := range exact {
				x := float64(n) / float64(max(c.n-1, 1))
				bound := unit * (units*(1+(edge-1)*x*x) + 4*float64(n+chunk)*step*size)
				off := math.Hypot(re[n]-exact[n][0], im[n]-exact[n][1])
				if off > bound {
					t.Fatalf("%+v, %s, n = %d: off by %v, bound %v", c, way, n, off, bound)
				}
			}
		}
	}
}

// These layouts have the largest rounding of a phase that was found, and phases of many turns.
func TestFourierOfLargePhases(t *testing.T) {
	for _, c := range []struct {
		n               int
		y, center, step float64
	}{
		{4000, 4.021751063767642, 1.8309393323660912, 1.6125664052832218 * (1 << 12)},
		{100_000, 1, 0, 1.176736813569835e13},
	} {
		re, im := make([]float64, c.n), make([]float64, c.n)
		units := new(fast).sums(re, im, []float64{1}, []float64{c.y}, c.center, c.step)
		for _, n := range []int{0, 1, c.n / 2, c.n - 1} {
			const bits = 300
			wide := func(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }
			turns := new(big.Float).SetPrec(bits).Sub(wide(c.y), wide(c.center))
			turns.Mul(turns.Mul(turns, wide(c.step)), wide(float64(n)))
			turn, _, _ := big.ParseFloat("6.28318530717958647692528676655900576839433879875021164194988918461563281257241799726", 10, bits, big.ToNearestEven)
			turns.Quo(turns, turn)
			whole, _ := turns.Int(nil)
			part, _ := turns.Sub(turns, new(big.Float).SetPrec(bits).SetInt(whole)).Float64()
			sin, cos := math.Sincos(2 * math.Pi * part)
			off := math.Hypot(re[n]-cos, im[n]-sin)
			if bound := unit * (units*kernelEdge + 4*float64(n)*c.step*math.Abs(c.y-c.center)); off > bound {
				t.Errorf("n = %d of %d: off by %v, bound %v", n, c.n, off, bound)
			}
		}
	}
}

// A transform takes at most 32 bytes for each of mostFast points. More points than that are rotated.
func TestFastTransformsAreBounded(t *testing.T) {
	f := new(fast)
	if most := mostFast / 8; !f.pays(most, 1<<20) || f.pays(most+1, 1<<20) || f.pays(1<<30, 1<<20) {
		t.Errorf("a transform with %d results must pay, and none with more", most)
	}
}
