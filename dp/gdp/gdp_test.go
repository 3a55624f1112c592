package gdp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func must(t *testing.T) func(v float64, err error) float64 {
	return func(v float64, err error) float64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Corollary 2.13 of Dong, Roth, Su computed as it stands, in 6000 bits: all
// branches, δ from 1e-300 to 1 and cancellation of up to 16 digits.
func TestDelta(t *testing.T) {
	e := newExact()
	r := rand.New(rand.NewPCG(1, 2))
	type args struct{ mu, eps float64 }
	cases := []args{{1e-4, 1e-6}, {1e-4, 0}, {1e-8, 1e-9}, {1, 1}, {0.5, 1}, {3, 0}, {3, 0.5}, {4, 0}, {4, 1e-9},
		{10, 20}, {20, 100}, {30, 900}, {0.01, 0.36}, {0.27, 10}, {2, 5}, {4.8, 35}, {9.9, 148}, {29.7, 1332}}
	for range 40 {
		mu := math.Exp(r.Float64()*22 - 18)
		a := r.Float64()*39 - 2
		cases = append(cases, args{mu, max(0, mu*a+mu*mu/2)})
	}
	smallest := 1.0
	for _, c := range cases {
		want := e.delta(c.mu, c.eps)
		if d, _ := want.Float64(); d >= 1e-300 {
			nearBig(t, fmt.Sprintf("Delta(%v, %v)", c.mu, c.eps), Delta(c.mu, c.eps), want, 1e-12)
			smallest = min(smallest, d)
		}
	}
	if smallest > 1e-250 {
		t.Errorf("the smallest δ tested is %v", smallest)
	}
}

// At ε = 0, δ is the total variation distance erf(μ/√8).
func TestDeltaAtZeroIsTotalVariation(t *testing.T) {
	for mu := 1e-12; mu < 100; mu *= 1.7 {
		if got, want := Delta(mu, 0), math.Erf(mu/math.Sqrt(8)); math.Abs(got/want-1) > 1e-14 {
			t.Errorf("Delta(%v, 0) = %v, want %v", mu, got, want)
		}
	}
}

func TestDeltaAtTheEnds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct{ mu, eps, want float64 }{
		{0, 0, 0}, {0, 1, 0}, {inf, 0, 1}, {inf, 1e308, 1}, {1, inf, 0}, {1, 1e308, 0}, {1e160, 1e308, 1}, {1e308,
			1e308, 1},
		{5e-324, 0, 0}, {5e-324, 1, 0}, {1e-200, 1, 0}, {nan, 1, 1}, {1, nan, 1}, {-1, 1, 1}, {1, -1, 1}, {inf, inf, 1},
	} {
		if got := Delta(c.mu, c.eps); !(math.Abs(got-c.want) < 1e-307) {
			t.Errorf("Delta(%v, %v) = %v, want %v", c.mu, c.eps, got, c.want)
		}
	}
}

// δ falls with ε and grows with μ, strictly but for rounding.
func TestDeltaIsMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		mu := math.Exp(r.Float64()*16 - 12)
		eps := mu * (mu/2 + r.Float64()*20)
		l := LogDelta(mu, eps)
		if up := LogDelta(mu, eps*(1+1e-6)); up >= l {
			t.Errorf("μ = %v, ε = %v: ln δ = %v, then %v for a larger ε", mu, eps, l, up)
		}
		if up := LogDelta(mu*(1+1e-6), eps); up < l || up == l && l < -1e-9 {
			t.Errorf("μ = %v, ε = %v: ln δ = %v, then %v for a larger μ", mu, eps, l, up)
		}
	}
}

// Epsilon is the smallest float64 or nearly so: δ(ε) ≤ δ there, and more just
// below. Mu likewise is the largest.
func TestEpsilonAndMuAreTight(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 3000 {
		delta := math.Exp(-r.Float64() * 690)
		if i%3 == 0 {
			delta = r.Float64()
		}
		mu := math.Exp(r.Float64()*30 - 20)
		eps := must(t)(Epsilon(mu, delta))
		switch {
		case LogDelta(mu, eps) > math.Log(delta):
			t.Errorf("Epsilon(%v, %v) = %v: δ is %v", mu, delta, eps, Delta(mu, eps))
		case eps > 0 && LogDelta(mu, eps*(1-1e-9)-1e-14*mu) <= math.Log(delta) && Delta(mu, 0) < 0.999:
			t.Errorf("Epsilon(%v, %v) = %v is not the smallest", mu, delta, eps)
		}
		eps = math.Exp(r.Float64()*30 - 20)
		if i%5 == 0 {
			eps = 0
		}
		m := must(t)(Mu(eps, delta))
		if l := math.Log(delta); LogDelta(m, eps) > l || LogDelta(m*(1+1e-9), eps) <= l && delta < 0.999 {
			t.Errorf("Mu(%v, %v) = %v: ln δ = %v, wanted %v", eps, delta, m, LogDelta(m, eps), l)
		}
	}
}

// The extremes of the stated ranges have answers.
func TestEpsilonAndMuInTheCorners(t *testing.T) {
	for _, delta := range []float64{1e-300, 1e-9, 0.5, 1 - 0x1p-53} {
		for _, v := range []float64{0, 5e-324, 1e-300, 1e-9, 1, 1e9, Largest} {
			if eps := must(t)(Epsilon(v, delta)); !(eps >= 0) || math.IsInf(eps, 0) {
				t.Errorf("Epsilon(%v, %v) = %v", v, delta, eps)
			}
			if mu := must(t)(Mu(v, delta)); !(mu > 0) || math.IsInf(mu, 0) {
				t.Errorf("Mu(%v, %v) = %v", v, delta, mu)
			}
		}
	}
	if eps := must(t)(Epsilon(0, 1e-5)); eps != 0 {
		t.Errorf("no signal has ε = %v", eps)
	}
}

func TestBadArgumentsAreAllNamed(t *testing.T) {
	for _, f := range []func(a, b float64) (float64, error){Epsilon, Mu} {
		for _, c := range [][2]float64{{-1, 0}, {math.NaN(), 1}, {math.Inf(1), math.NaN()}} {
			_, err := f(c[0], c[1])
			if joined, ok := err.(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) != 2 {
				t.Errorf("arguments %v: %v", c, err)
			}
		}
	}
}
