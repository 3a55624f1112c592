package closedform

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"proactivedp/dp"
)

// exactMoment is α(λ) = ln E[e^{K(K-1)/(2σ²)}], K ~ Bin(λ+1, q) (Mironov,
// Talwar, Zhang 2019, at the integer order λ+1), as ln(1+x) of the sum x over
// K ≥ 2 of P(K)·(e^{…}-1), so that small moments keep their digits.
func exactMoment(q, sigma float64, lambda int) float64 {
	a, n := 1/(2*sigma*sigma), float64(lambda+1)
	whole, _ := math.Lgamma(n + 1)
	x := 0.0
	for k := 2.0; k <= n; k++ {
		c1, _ := math.Lgamma(k + 1)
		c2, _ := math.Lgamma(n - k + 1)
		up := a * k * (k - 1)
		x += math.Exp(whole-c1-c2+k*math.Log(q)+(n-k)*math.Log1p(-q)+up) * -math.Expm1(-up)
	}
	return math.Log1p(x)
}

// otherMoment is the moment of the other direction, E over N(0, σ²) of
// (μ₀/μ)^λ with μ = (1-q)μ₀ + qμ₁, by the trapezoidal rule.
func otherMoment(q, sigma float64, lambda int) float64 {
	const steps = 20000
	lo, hi := -12*sigma-float64(lambda)/sigma, 12*sigma
	sum := 0.0
	for i := range steps + 1 {
		z := lo + (hi-lo)*float64(i)/steps
		ratio := math.Log1p(q * math.Expm1((2*z-1)/(2*sigma*sigma)))
		sum += math.Exp(-z*z/(2*sigma*sigma)-float64(lambda)*ratio) / (sigma * math.Sqrt(2*math.Pi))
	}
	return math.Log(sum * (hi - lo) / steps)
}

// Lemma lemthree: wherever the corrected conditions hold, the quadratic term alone is above the exact
// moment. The test tries the corners of the ranges and random values.
func TestMomentIsABound(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	worst := 0.0
	for i := range 20000 {
		variance := logUniform(r, 1, 2000)
		if i%3 == 0 {
			variance = math.Floor(variance)
		}
		sigma := math.Sqrt(variance)
		lambda := 1 + r.IntN(int(variance))
		if i%2 == 0 {
			lambda = int(variance)
		}
		if float64(lambda) > sigma*sigma {
			continue // √ rounded down
		}
		q := (1 - 1e-12) / (math.E * sigma)
		if i%5 != 0 {
			q *= logUniform(r, 1e-4, 1)
		}
		bound := must[float64](t)(Moment(Corrected, q, sigma, lambda))
		exact := exactMoment(q, sigma, lambda)
		if worst = max(worst, exact/bound); exact > bound {
			t.Fatalf("q = %v, σ = %v, λ = %d: moment %v, bound %v", q, sigma, lambda, exact, bound)
		}
		if i%1000 == 0 {
			if other := otherMoment(q, sigma, lambda); other > exact*(1+1e-6)+1e-12 {
				t.Errorf("q = %v, σ = %v, λ = %d: moments %v, and the other way %v", q, sigma, lambda, exact, other)
			}
		}
		if b, err := Moment(Printed, q, sigma, lambda); err == nil && b < bound {
			t.Errorf("q = %v, σ = %v, λ = %d: with the cubic term %v, without %v", q, sigma, lambda, b, bound)
		}
	}
	t.Logf("largest moment/bound: %.4f", worst)
	if worst < 0.5 {
		t.Errorf("largest moment is %v of its bound: not near it", worst)
	}
}

// The steps of the proof in Moment's comment: M < 3 for every n ≤ ⌊m⌋-1 and
// q ≤ 1/(e√m), by its largest values n = ⌊m⌋-1 at whole m.
func TestMomentProof(t *testing.T) {
	bound := func(m, n float64) float64 {
		q := 1 / (math.E * math.Sqrt(m))
		return 1/m + n*q*(math.Exp(2/m)/(1-q)-1)
	}
	near(t, "m = 1", bound(1, 0), 1, 1e-15)
	q := 1 / (math.E * math.Sqrt2)
	near(t, "m = 2, J = 0 or 1", (1-q)*math.Exp(1./2)+q*math.Exp(3./2), 2.386, 5e-4)
	near(t, "m = 3", bound(3, 2), 0.9590, 5e-5)
	near(t, "m = 4", bound(4, 3), 0.81304, 1e-5)
	near(t, "m = 4, n = m", bound(4, 4), 1.00073, 1e-5)
	if bound(4, 4) > math.Log(3) {
		t.Error("M may reach 3")
	}
	for m := 4.0; m <= 1e6; m++ {
		if bound(m, m-1) > bound(4, 3) || bound(m+1, m+1) > bound(m, m) {
			t.Fatalf("m = %v: ln M ≤ %v, with m for n %v and then %v", m, bound(m, m-1), bound(m, m), bound(m+1, m+1))
		}
	}
	// Between whole m, at random.
	r := rand.New(rand.NewPCG(7, 2))
	for range 100000 {
		m := logUniform(r, 3, 1e6)
		if n := math.Floor(m) - 1; bound(m, n) > bound(math.Floor(m), n) {
			t.Fatalf("m = %v is worse than %v", m, math.Floor(m))
		}
	}
}

// Lemma lemthree as printed, by hand at q = 0.01, σ = 4, λ = 4: r₀ = 0.04,
// U₀ = 2√(4·0.01)/(4-0.04), U₁ = U₀·e/4.
func TestPrintedMoment(t *testing.T) {
	u0 := 0.4 / 3.96
	u1 := u0 * math.E / 4
	r := 0.04 * 8 * (1/(1-u0) + 1/(1-u1)*math.Exp(3)/64) * math.Exp(3./16)
	want := 1e-4*4*5/(0.99*16) + r/0.04*1e-6*16*5/(0.99*0.99*64)
	near(t, "α(4)", must[float64](t)(Moment(Printed, 0.01, 4, 4)), want, 1e-15)
	near(t, "α(4), quadratic term", must[float64](t)(Moment(Corrected, 0.01, 4, 4)), 1e-4*20/(0.99*16), 1e-15)
}

// The ratio of the paper's geometric series is larger than the U₀ that the proof
// claims; what its steps bound it by is larger still. In the first of the
// paper's settings, at the largest order.
func TestPrintedSeriesRatio(t *testing.T) {
	const q, sigma, lambda = 0.0031, 19.3, 372
	claimed, _ := ratios(q, sigma, lambda)
	near(t, "claimed", claimed, 0.1116, 1e-4)
	near(t, "ratio", 2*lambda*q*math.Exp(lambda/(2*sigma*sigma))/((1-q)*sigma), 0.1975, 5e-5)
	near(t, "bound", math.Sqrt(lambda/sigma)*claimed, 0.490, 5e-4)
}

func TestMomentConditions(t *testing.T) {
	for _, tt := range []struct {
		form     Form
		q, sigma float64
		lambda   int
		unmet    string // names of the conditions not met
	}{
		{Corrected, 0.01, 4, 16, ""},
		{Corrected, 0.01, 4, 17, "lambda"},
		{Corrected, 0.1, 4, 1, "r0"},
		{Corrected, 0.1, 0.9, 1, "sigma lambda"},
		{Printed, 0.01, 4, 51, ""}, // 16·ln 25 = 51.5
		{Printed, 0.01, 4, 52, "lambda"},
		{Printed, 0.5, 2, 1, "r0 lambda u0 u1"},
		{Printed, 0.3, 1.001, 1, "sigma u0 u1"},
	} {
		cs := must[[]Condition](t)(MomentConditions(tt.form, tt.q, tt.sigma, tt.lambda))
		var names []string
		for _, c := range cs {
			if c.Theorem != Lemma {
				t.Errorf("theorem %q", c.Theorem)
			}
			if !c.Met {
				names = append(names, c.Name)
			}
		}
		if got := strings.Join(names, " "); got != tt.unmet {
			t.Errorf("%s, q = %v, σ = %v, λ = %d: not met %q, want %q (%+v)", tt.form, tt.q, tt.sigma, tt.lambda, got,
				tt.unmet, cs)
		}
		_, err := Moment(tt.form, tt.q, tt.sigma, tt.lambda)
		if (err == nil) != (tt.unmet == "") || err != nil && !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%s, q = %v, σ = %v, λ = %d: %v", tt.form, tt.q, tt.sigma, tt.lambda, err)
		}
	}
	_, err := Moment("other", 1, math.NaN(), 0)
	for _, want := range []string{"form", "sample rate = 1", "sigma = NaN", "lambda = 0"} {
		if err == nil || errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
