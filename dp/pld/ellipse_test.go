package pld

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"proactivedp/internal/testkit"
)

// complexTransforms returns B and J of the cell at z for complex q and v, by Simpson's rule.
func complexTransforms(c *cell, q, v, z complex128) (b, j complex128) {
	integral := func(from, to float64, f func(w float64) complex128) (sum complex128) {
		const n = 800
		for i := range n + 1 {
			weight := 4.0
			if i%2 == 0 {
				weight = 2
			}
			if i == 0 || i == n {
				weight = 1
			}
			sum += complex(weight*(to-from)/(3*n), 0) * f(from+(to-from)*float64(i)/n)
		}
		return sum
	}
	k := func(w float64) complex128 {
		m := complex(w, 0) + v/2
		return cmplx.Exp(-m*m/(2*v)) / cmplx.Sqrt(2*math.Pi*v)
	}
	g := func(w complex128) complex128 { return 1 + q*(cmplx.Exp(w)-1) }
	large := func(w float64) complex128 { // the branch with the jumps
		switch x := complex(w, 0); c.d {
		case add:
			return k(w) * cmplx.Pow(g(x), -z)
		case replace:
			return k(w) * cmplx.Pow(g(x), 1+z) * cmplx.Pow(g(-x-v), -z)
		default:
			return k(w) * cmplx.Pow(g(x), 1+z)
		}
	}
	edge := min(c.edge, c.to)
	b = integral(c.from, edge, large)
	if edge < c.to {
		j = integral(edge, c.to, large)
	}
	if c.d == fixed {
		b += integral(0, c.to, func(w float64) complex128 { return k(w) * cmplx.Pow(g(complex(w, 0)), -z) })
		end := 12*math.Sqrt(cmplx.Abs(v)) + 2*cmplx.Abs(v)
		b += (1 - q) * integral(0, end, func(w float64) complex128 { return k(w) * complex(math.Expm1(w), 0) }) // the atom
	}
	return b, j
}

// On the Bernstein ellipses, |log B| and |log(1 + J/B)| are at most the bounds F, for complex q and complex v.
func TestLogarithmsAreBoundedOnEllipses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 13))
	compared, near := 0, 0
	for range 25 * testkit.Sweeps(t) {
		c := &cell{d: direction(r.IntN(4))}
		for i, mid := range [...]float64{math.Log(logUniform(r, 1e-4, 0.5)), -2 * math.Log(logUniform(r, 0.4, 8))} {
			half := logUniform(r, 0.01, 0.3)
			c.axes[i] = axis{lo: mid - half, hi: min(mid+half, -1e-3+float64(i)*100)}
		}
		threshold := math.Inf(1)
		if r.IntN(2) == 0 {
			threshold = logUniform(r, 0.05, 2)
		}
		c.restrict(1e-9, threshold)
		lambda, last := logUniform(r, 0.1, 10), logUniform(r, 0.1, 100)
		for dim := range 2 {
			f := c.analytic(dim, lambda, []float64{last})
			for i, rho := range f.rho {
				if math.IsInf(f.bulk[i][0], 1) {
					continue
				}
				for n := range 6 {
					u := cmplx.Rect(rho, 2*math.Pi*float64(n)/6)
					at := complex(c.axes[dim].mid(), 0) + complex(c.axes[dim].half()/2, 0)*(u+1/u)
					other := c.axes[1-dim].lo + r.Float64()*(c.axes[1-dim].hi-c.axes[1-dim].lo)
					q, v := cmplx.Exp(at), complex(math.Exp(other), 0)
					if dim == 1 {
						q, v = complex(math.Exp(other), 0), cmplx.Exp(at)
					}
					b, j := complexTransforms(c, q, v, complex(lambda, last*(2*float64(n%2)-1)))
					compared++
					got, most := cmplx.Abs(cmplx.Log(b)), f.bulk[i][0]
					if got > most+1e-7 {
						t.Errorf("direction %v, axis %d, λ = %v, t = %v: |log B| = %v, must be at most %v", c.d, dim, lambda, last, got, most)
					}
					if got > most/4 {
						near++
					}
					if got, most := cmplx.Abs(cmplx.Log(1+j/b)), f.jump[i][0]; c.edge < c.to && got > most+1e-7 {
						t.Errorf("direction %v, axis %d, λ = %v, t = %v: |log(1 + J/B)| = %v, must be at most %v", c.d, dim, lambda, last, got,
							most)
					}
				}
			}
		}
	}
	if compared < 200 || near == 0 {
		t.Errorf("%d points, %d near the bound", compared, near)
	}
}

// Between two times, |B| of each round is below its value at t = 0 by at least the bound.
func TestTransformsFallAtLeastByTheDrop(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 14))
	some := 0
	for range 30 * testkit.Sweeps(t) {
		c := &cell{d: direction(r.IntN(4))}
		var rounds []placed
		q, sigma := logUniform(r, 1e-3, 0.5), logUniform(r, 0.4, 8)
		for range 3 {
			s := spec{q: q * logUniform(r, 1, 1.2), sigma: sigma * logUniform(r, 1, 1.1), count: 1}
			rounds = append(rounds, placed{s, s.place(c.d)})
		}
		first, last := rounds[0].at, rounds[0].at
		for _, p := range rounds {
			for i, x := range p.at {
				first[i], last[i] = min(first[i], x), max(last[i], x)
			}
		}
		c.axes = [2]axis{{lo: first[0], hi: last[0]}, {lo: first[1], hi: last[1]}}
		threshold := math.Inf(1)
		if r.IntN(2) == 0 {
			threshold = logUniform(r, 0.05, 2)
		}
		c.restrict(1e-9, threshold)
		const points, apart = 65, 8
		end := logUniform(r, 3, 300)
		lambda, step := logUniform(r, 0.1, 10), end/(points-1)
		parts := c.stretches(lambda)
		for _, p := range rounds {
			one := c.node(p.spec)
			b := one.bulk.transform(one, &contour{lambda: lambda, step: step, fast: new(fast)}, end, math.NaN(), points)
			for first := 0; first < points; first += apart {
				last := min(first+apart, points-1)
				least := dropAt(parts, float64(first)*step, float64(last)*step)
				if least > 0.01 {
					some++
				}
				for i := first; i <= last; i++ {
					if got := -math.Log(math.Hypot(b.re[i], b.im[i])); got < least-1e-9 {
						t.Errorf("direction %v, %+v, λ = %v: log|B| is lower by %v at t = %v, must be at least %v", c.d, p.spec, lambda,
							got, float64(i)*step, least)
					}
				}
			}
		}
	}
	if some == 0 {
		t.Error("no bound says anything")
	}
}
