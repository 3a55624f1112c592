package closedform

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// The paper's settings of tables tbl:accountant_comparison_ICML_table_2, _3
// and _4: δ = 1/N, ε = 2 ln(1/δ)/(σ²-2), θ = 1. γ and s are the paper's
// formulas solved exactly by an independent program (the tables have γ after
// one step of an iteration).
var paper = []struct {
	n                   int
	k, sigma            float64
	eps                 float64
	gammaPrinted, gamma float64
	sizePrinted, size   float64
}{
	{10000, 5, 19.29962, 0.04972, 3.12524, 3.13103, 31.82, 31.76},
	{60000, 6, 12.10881, 0.15215, 3.66788, 3.68599, 414.81, 412.78},
	{50000, 7, 6.572, 0.52534, 4.62462, 4.68855, 811.41, 800.35},
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, tol)
	}
}

// must returns a function that passes a value through and fails on an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func logUniform(r *rand.Rand, lo, hi float64) float64 {
	return lo * math.Exp(r.Float64()*math.Log(hi/lo))
}

func TestPaperSettings(t *testing.T) {
	num := must[float64](t)
	for _, p := range paper {
		delta := 1 / float64(p.n)
		eps := num(Epsilon(p.sigma, delta))
		near(t, "ε", eps, p.eps, 5e-6)
		near(t, "σ_eq", num(Sigma(eps, delta)), p.sigma, 1e-12)
		near(t, "printed γ", num(Gamma(Printed, eps, delta, p.k)), p.gammaPrinted, 5e-6)
		near(t, "γ", num(Gamma(Corrected, eps, delta, p.k)), p.gamma, 5e-6)

		lp := must[Limits](t)(Limit(Printed, p.n, p.k, 1, eps, delta))
		lc := must[Limits](t)(Limit(Corrected, p.n, p.k, 1, eps, delta))
		near(t, "printed s", lp.SMax, p.sizePrinted, 5e-3)
		near(t, "s", lc.SMax, p.size, 5e-3)
		near(t, "T", lc.TMin, p.k*float64(p.n)/p.size, lc.TMin*1e-3)
		near(t, "T at k²/(2ε)", lc.TMinAsym, p.k*p.k/(2*eps), 1e-6)
		if lc.Binding != "treq3" {
			t.Errorf("binding = %q", lc.Binding)
		}
	}
	// The tables print s_max_asym rounded down: 198, 3042, 7504.
	for i, want := range []float64{198, 3042, 7504} {
		p := paper[i]
		eps := num(Epsilon(p.sigma, 1/float64(p.n)))
		if got := must[Limits](t)(Limit(Corrected, p.n, p.k, 1, eps,
			1/float64(p.n))).SMaxAsym; math.Floor(got) != want {
			t.Errorf("s_max_asym = %v, printed %v", got, want)
		}
	}
}

// Section "Proof of the Main Theorem": σ ≥ √(2+4 ln N) at ε = 0.5, h(6), h(10).
func TestSigmaAndH(t *testing.T) {
	num := must[float64](t)
	near(t, "σ(0.5, 1e-4)", num(Sigma(0.5, 1e-4)), 6.232, 5e-4)
	near(t, "σ(0.5, 1e-5)", num(Sigma(0.5, 1e-5)), 6.93, 5e-3)
	near(t, "h(6)", hOf(6), 0.4158, 5e-5) // the paper rounds it up to 0.42
	near(t, "h(10)", hOf(10), 0.58, 5e-3)
	near(t, "h(√2)", hOf(math.Sqrt2), 0.0598, 5e-5)
	near(t, "eσh(σ) at 6.232", math.E*6.232*hOf(6.232), 7.26, 5e-3)
	// h = 1/(eσ) at 2.467 (the paper says 2.5).
	if x := 2.4665; gOf(x) != hOf(x) {
		t.Errorf("g(%v) = %v is not h", x, gOf(x))
	}
	if x := 2.4675; gOf(x) != 1/(math.E*x) {
		t.Errorf("g(%v) = %v is not 1/(ex)", x, gOf(x))
	}
	// h as printed, where that does not cancel; and its definition as a pole.
	for x := 0.01; x < 1e3; x *= 1.1 {
		printed := math.Pow(math.Sqrt(1+(math.E/x)*(math.E/x))-math.E/x, 2)
		near(t, "h", hOf(x), printed, 1e-12)
		h := hOf(x)
		near(t, "σ(1-h) - 2e√h", (x*(1-h)-2*math.E*math.Sqrt(h))/x, 0, 4e-15/min(x, 1))
		if !(hOf(1.01*x) > h && h > 0 && h < 1) {
			t.Errorf("h(%v) = %v, h(1.01x) = %v", x, h, hOf(1.01*x))
		}
	}
}

// Theorem simpleF, equation (treq4): the ε that is computed for a σ is allowed at this σ in float64. It is
// above the exact one by rounding only.
func TestEpsilonIsTheInverseOfSigma(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	num := must[float64](t)
	for range 50000 {
		sigma := math.Sqrt(2 + logUniform(r, 2e-7, 1e12))
		delta := logUniform(r, 1e-300, 0.999)
		eps := num(Epsilon(sigma, delta))
		if s := num(Sigma(eps, delta)); s > sigma {
			t.Fatalf("σ = %v, δ = %v: σ_eq(ε = %v) = %v is larger", sigma, delta, eps, s)
		}
		v := math.FMA(sigma, sigma, -2)
		if e := 2 * -math.Log(delta) / v; eps < e || eps > e*(1+1e-14*(1+2/v)) {
			t.Fatalf("σ = %v, δ = %v: ε = %v, exactly %v", sigma, delta, eps, e)
		}
	}
	for _, bad := range []float64{math.Sqrt2, 1, 0, -3, math.NaN(), math.Inf(1)} {
		if eps, err := Epsilon(bad, 1e-5); err == nil {
			t.Errorf("Epsilon(%v) = %v", bad, eps)
		}
	}
	// The first number above √2: no float64 ε has so small a σ_eq.
	if eps, err := Epsilon(math.Nextafter(math.Sqrt2, 2), 1e-5); err == nil {
		t.Errorf("ε = %v, want an error", eps)
	}
	for _, sigma := range []float64{MinSigma, maxFreeSigma} {
		for _, delta := range []float64{MinDelta, math.Nextafter(1, 0)} {
			if eps := num(Epsilon(sigma, delta)); num(Sigma(eps, delta)) > sigma {
				t.Errorf("σ = %v, δ = %v: ε = %v", sigma, delta, eps)
			}
		}
	}
	_, err := Sigma(math.NaN(), 1)
	if err == nil || !strings.Contains(err.Error(), "epsilon = NaN") || !strings.Contains(err.Error(), "delta = 1") {
		t.Errorf("all problems at once: %v", err)
	}
	if s, err := Sigma(1e-308, 1e-300); err == nil {
		t.Errorf("σ = %v", s)
	}
}

// The spurious solutions of "the smallest solution satisfying γ ≥ …".
func TestGammaIgnoresSpuriousRoots(t *testing.T) {
	// σ = 1.5, x = 1: γ = 3.411 solves the printed equation too, with ᾱ > h(σ).
	got := must[float64](t)(GammaAt(Printed, 1.5, 1))
	near(t, "γ", got, 39.97, 5e-3)
	if x := 1 / 3.411; !(x > hOf(1.5)) {
		t.Errorf("ᾱ = %v of the spurious root is not beyond h(σ) = %v", x, hOf(1.5))
	}
}

// bigRHS is the right-hand side as printed in the theorem, with 300 bits.
func bigRHS(form Form, sigma, x, gamma float64) *big.Float {
	f := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	op := func() *big.Float { return new(big.Float).SetPrec(300) }
	add := func(a, b *big.Float) *big.Float { return op().Add(a, b) }
	sub := func(a, b *big.Float) *big.Float { return op().Sub(a, b) }
	mul := func(a, b *big.Float) *big.Float { return op().Mul(a, b) }
	quo := func(a, b *big.Float) *big.Float { return op().Quo(a, b) }
	sqrt := func(a *big.Float) *big.Float { return op().Sqrt(a) }
	exp := func(a *big.Float) *big.Float { // halved 40 times, for a short series
		small := op().SetMantExp(a, -40)
		sum, term := f(1), f(1)
		for i := 1.; i < 12; i++ {
			term = quo(mul(term, small), f(i))
			sum = add(sum, term)
		}
		for range 40 {
			sum = mul(sum, sum)
		}
		return sum
	}
	s := f(sigma)
	e := exp(f(1))
	alpha := quo(f(x), f(gamma))
	root := sqrt(alpha)
	one := sub(f(1), alpha)
	first := sub(one, mul(f(2), root))
	if form == Printed {
		first = mul(sub(f(1), root), sub(f(1), root))
	}
	second := sub(mul(s, one), mul(f(2), mul(e, root)))
	if one.Sign() <= 0 || second.Sign() <= 0 || sub(one, mul(f(2), root)).Sign() <= 0 && form == Corrected {
		return nil
	}
	bracket := add(quo(s, first), quo(mul(e, mul(e, e)), mul(second, s)))
	scale := mul(quo(mul(f(16), alpha), one), exp(quo(f(3), mul(s, s))))
	return add(quo(f(2), one), mul(scale, bracket))
}

// The computed γ is at least the root of its equation, and at most 1e-12 above it. In exact arithmetic, γ
// ≥ rhs(x/γ) holds, where rhs is the right-hand side of the equation. A slightly smaller γ does not
// satisfy this, or is beyond the pole.
func TestGammaSolvesItsEquation(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	check := func(form Form, sigma, x float64) {
		t.Helper()
		gamma := must[float64](t)(GammaAt(form, sigma, x))
		if v := bigRHS(form, sigma, x, gamma); v == nil || big.NewFloat(gamma).Cmp(v) < 0 {
			t.Fatalf("%s, σ = %v, x = %v: γ = %v is below its right-hand side %v", form, sigma, x, gamma, v)
		}
		less := gamma * (1 - 2e-13)
		if v := bigRHS(form, sigma, x, less); v != nil && big.NewFloat(less).Cmp(v) >= 0 {
			t.Fatalf("%s, σ = %v, x = %v: γ = %v is not the smallest, right-hand side %v", form, sigma, x, gamma, v)
		}
	}
	for _, form := range []Form{Corrected, Printed} {
		for range 3000 {
			eps, delta, k := logUniform(r, 1e-8, 1e3), logUniform(r, 1e-300, 0.999), logUniform(r, 1e-3, 1e6)
			check(form, must[float64](t)(Sigma(eps, delta)), eps/k)
		}
		for _, eps := range []float64{1e-8, 1e3} {
			for _, delta := range []float64{1e-300, 0.999} {
				for _, k := range []float64{1e-3, 1e6} {
					check(form, must[float64](t)(Sigma(eps, delta)), eps/k)
				}
			}
		}
		for _, sigma := range []float64{0.3, 1, math.Sqrt2, math.E, math.Nextafter(math.E, 3), 1e4} {
			for _, x := range []float64{1e-250, 1e-14, 0.1, 1e6, 1e12, 1e100} {
				check(form, sigma, x)
			}
		}
	}
}

func TestGammaProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	num := must[float64](t)
	for range 5000 {
		eps, delta, k := logUniform(r, 1e-8, 1e3), logUniform(r, 1e-300, 0.999), logUniform(r, 1e-3, 1e6)
		g := num(Gamma(Corrected, eps, delta, k))
		if p := num(Gamma(Printed, eps, delta, k)); !(2 < p && p <= g*(1+1e-12)) {
			t.Fatalf("ε = %v, δ = %v, k = %v: printed γ = %v, γ = %v", eps, delta, k, p, g)
		}
		// γ falls and γk grows with k.
		more := num(Gamma(Corrected, eps, delta, 1.01*k))
		if more > g*(1+1e-12) || 1.01*more < g*(1-1e-12) {
			t.Fatalf("ε = %v, δ = %v: γ(%v) = %v, γ(%v) = %v", eps, delta, k, g, 1.01*k, more)
		}
		// The printed upper bound: γ ≤ rhs(ε/(2k)), where that is in the domain.
		sigma := num(Sigma(eps, delta))
		alpha := eps / (2 * k)
		if top := num(MaxAlphaBar(Corrected, sigma)); alpha < top*(1-1e-9) {
			if bound := num(RHS(Corrected, sigma, alpha)); g > bound*(1+1e-12) {
				t.Fatalf("γ = %v > rhs at γ = 2, %v", g, bound)
			}
			// A fixed point of RHS as a caller sees it, where that is well-conditioned.
			if alpha = eps / (g * k); alpha < top/2 {
				if v := num(RHS(Corrected, sigma, alpha)); math.Abs(v/g-1) > 1e-12 {
					t.Fatalf("γ = %v, right-hand side %v", g, v)
				}
			}
		}
	}
	// γ = 2 + O(ᾱ).
	near(t, "γ at small ᾱ", num(GammaAt(Corrected, 20, 1e-14)), 2, 1e-10)
}

func TestRHS(t *testing.T) {
	num := must[float64](t)
	for _, form := range []Form{Corrected, Printed} {
		if v := num(RHS(form, 3, 0)); v != 2 {
			t.Errorf("rhs at 0 = %v", v)
		}
		r := rand.New(rand.NewPCG(3, 4))
		for range 2000 {
			sigma := logUniform(r, 0.5, 1e3)
			top := num(MaxAlphaBar(form, sigma))
			alpha := top * r.Float64() * 0.999
			got := num(RHS(form, sigma, alpha))
			want, _ := bigRHS(form, sigma, alpha, 1).Float64()
			if math.Abs(got/want-1) > 1e-11 {
				t.Fatalf("%s: rhs(%v, %v) = %v, exactly %v", form, sigma, alpha, got, want)
			}
		}
		for _, bad := range []float64{-1e-9, math.NaN(), num(MaxAlphaBar(form, 3)) * 1.001, 2} {
			if v, err := RHS(form, 3, bad); err == nil {
				t.Errorf("%s: rhs(3, %v) = %v", form, bad, v)
			}
		}
	}
	near(t, "domain, σ large", num(MaxAlphaBar(Corrected, 1e3)), 3-2*math.Sqrt2, 1e-15)
	near(t, "domain, σ small", num(MaxAlphaBar(Corrected, 1.5)), hOf(1.5), 0)
	near(t, "domain as printed", num(MaxAlphaBar(Printed, 1e3)), hOf(1e3), 0)
}

func TestRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, f := range map[string]func() error{
		"sigma = 0":                              func() error { _, err := RHS(Corrected, 0, 0.1); return err },
		"form = \"other\"":                       func() error { _, err := RHS("other", 1, 0.1); return err },
		"form = \"\"":                            func() error { _, err := Gamma("", 1, 0.1, 1); return err },
		"k = -1":                                 func() error { _, err := Gamma(Corrected, 1, 0.1, -1); return err },
		"epsilon = +Inf":                         func() error { _, err := Gamma(Corrected, inf, 0.1, 1); return err },
		"delta = 0":                              func() error { _, err := Gamma(Corrected, 1, 0, 1); return err },
		"delta = 5e-324, must be in [1e-300, 1)": func() error { return checkDelta(5e-324) },
		"sigma = NaN":                            func() error { _, err := MaxAlphaBar(Corrected, nan); return err },
		"epsilon/k = 0":                          func() error { _, err := GammaAt(Corrected, 1, 0); return err },
		"sigma = 0.001, must be in [0.1, 1e+35]": func() error {
			_,
				err := GammaAt(Corrected, 1e-3, 1e308)
			return err
		},
		"epsilon/k = 1e+308, must be in [1e-250, 1e+100]": func() error {
			_,
				err := GammaAt(Corrected, 1e-3, 1e308)
			return err
		},
		"epsilon = 1e+300, must be in [1e-60, 1e+30]": func() error {
			_,
				err := Gamma(Corrected, 1e300, 0.1, 1)
			return err
		},
		"theta = 0.5":  func() error { _, err := Limit(Corrected, 10, 1, 0.5, 1, 0.1); return err },
		"N = 0":        func() error { _, err := Limit(Corrected, 0, nan, inf, 1, 0.1); return err },
		"k = NaN":      func() error { _, err := Limit(Corrected, 0, nan, inf, 1, 0.1); return err },
		"theta = +Inf": func() error { _, err := Limit(Corrected, 0, nan, inf, 1, 0.1); return err },
		"epochs k = 1e+200, must be in [1e-20, 1e+20]": func() error {
			_,
				err := Limit(Corrected, 10, 1e200, 1, 1, 0.1)
			return err
		},
		"theta = 1e+200, must be in [1, 1e+10]": func() error {
			_,
				err := Limit(Corrected, 10, 1, 1e200, 1, 0.1)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want an error with %q, got %v", name, err)
		}
	}
}

// At every corner of the ranges, and between them, γ and the limits are finite numbers that meet the
// conditions.
func TestRangesAreCovered(t *testing.T) {
	for _, form := range []Form{Corrected, Printed} {
		for _, sigma := range []float64{minGammaSigma, MinSigma, MaxSigma, maxGammaSigma} {
			for _, x := range []float64{minX, 1e-100, 1, 1e50, maxX} {
				if g, err := GammaAt(form, sigma, x); err != nil || !(g > 2) || math.IsInf(g, 0) {
					t.Errorf("%s: γ(%v, %v) = %v, %v", form, sigma, x, g, err)
				}
			}
		}
		for _, eps := range []float64{minEpsilon, 1e-8, 1, 1e4, maxEpsilon} {
			for _, k := range []float64{minEpochs, 1e-6, 1, 1e9, maxEpochs} {
				for _, theta := range []float64{1, 1e6, maxTheta} {
					for _, delta := range []float64{MinDelta, 1e-5, math.Nextafter(1, 0)} {
						for _, n := range []int{1, MaxN} {
							l, err := Limit(form, n, k, theta, eps, delta)
							if err != nil {
								t.Fatalf("%s: %v", form, err)
							}
							for _, v := range []float64{l.Gamma, l.TTreq3, l.TTreq1, l.SMax, l.TMinAsym, l.SMaxAsym} {
								if !(v > 0) || math.IsInf(v, 0) {
									t.Fatalf("%s: %d, %v, %v, %v, %v: %+v", form, n, k, theta, eps, delta, l)
								}
							}
							computed := k * float64(n)
							s := Setting{n, computed / l.SMax, computed, theta * l.SMax, MaxSigma, eps, delta}
							if s.Sigma, err = Sigma(eps, delta); err != nil {
								t.Fatal(err)
							}
							if cs := must[[]Condition](t)(Conditions(form, s)); !Holds(cs, SimpleF) {
								t.Fatalf("%s: %+v: %+v", form, s, cs)
							}
						}
					}
				}
			}
		}
	}
}

func FuzzGamma(f *testing.F) {
	f.Add(1.5, 1.0, true)
	f.Add(19.3, 0.01, false)
	f.Add(1e-3, 1e300, true)
	f.Fuzz(func(t *testing.T, sigma, x float64, corrected bool) {
		form := Printed
		if corrected {
			form = Corrected
		}
		gamma, err := GammaAt(form, sigma, x)
		if err != nil {
			return
		}
		top, err := MaxAlphaBar(form, sigma)
		if err != nil {
			t.Fatal(err)
		}
		if !(gamma >= 2 && x/gamma <= top) {
			t.Errorf("γ(%v, %v) = %v, ᾱ = %v, pole %v", sigma, x, gamma, x/gamma, top)
		}
	})
}
