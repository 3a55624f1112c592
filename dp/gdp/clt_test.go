package gdp

import (
	"fmt"
	"math"
	"testing"

	"proactivedp/internal/testkit"
)

// The CLT rows of TensorFlow Privacy's gdp_accountant, which have 10 digits.
func TestAgainstTensorFlowPrivacy(t *testing.T) {
	rows, err := testkit.Accountants()
	if err != nil {
		t.Fatal(err)
	}
	formulas := map[string]func(q, sigma, rounds float64) (float64, error){
		"tf_privacy-CLT-uniform": MuUniform, "tf_privacy-CLT-poisson": MuPoisson,
	}
	tested := map[string]int{}
	for _, r := range rows {
		formula, ok := formulas[r.Accountant]
		if !ok {
			continue
		}
		q, delta := r.Q, r.Delta
		if r.N > 0 { // the columns q and δ = 1/N have 10 digits only
			q = float64(r.S) / float64(r.N)
			delta = 1 / float64(r.N)
		}
		mu := must(t)(formula(q, r.Sigma, float64(r.T)))
		if eps := must(t)(Epsilon(mu, delta)); math.Abs(eps/r.Epsilon-1) > 1e-9 {
			t.Errorf("%s q = %v σ = %v T = %d: ε = %v, want %v (%.1e)", r.Accountant, q, r.Sigma, r.T, eps, r.Epsilon,
				eps/r.Epsilon-1)
		}
		tested[r.Accountant]++
	}
	for name := range formulas {
		if tested[name] < 100 {
			t.Errorf("%d rows of %s", tested[name], name)
		}
	}
}

// The paper's tables 10 to 12, column ε_f-DP at T_min, are MuUniform at the
// real-valued T; the second column is at T = k²/(4ε).
func TestPaperTables(t *testing.T) {
	for _, c := range []struct {
		n, k, sigma        float64
		gamma, least, asym float64
	}{
		{10000, 5, 19.29962, 3.8149, 0.0105, 0.0533},
		{60000, 6, 12.10881, 5.2811, 0.0389, 0.2097},
		{50000, 7, 6.572, 9.2253, 0.1133, 0.8239},
	} {
		target := 2 * math.Log(c.n) / (c.sigma*c.sigma - 2)
		for _, p := range []struct{ rounds, want float64 }{{c.gamma * c.k * c.k / target, c.least},
			{c.k * c.k / (4 * target), c.asym}} {
			mu := must(t)(MuUniform(c.k/p.rounds, c.sigma, p.rounds))
			if eps := must(t)(Epsilon(mu, 1/c.n)); math.Abs(eps-p.want) > 0.00006 {
				t.Errorf("N = %v, T = %v: ε = %v, printed %v", c.n, p.rounds, eps, p.want)
			}
		}
	}
}

// Corollary 5.4 as it stands, in 6000 bits, and expm1 for Poisson sampling.
func TestCentralLimitFormulas(t *testing.T) {
	e := newExact()
	const q, rounds = 0.125, 16.0 // q·√T = 0.5
	for _, sigma := range []float64{MinSigma, 0.1, 0.5, 1, 4, 20, 1000, MaxSigma} {
		u := bigOf(0).Quo(bigOf(1), bigOf(sigma))
		exponential := bigExp(bigOf(0).Mul(u, u))
		h2 := e.tail(bigOf(0).Mul(u, bigOf(-1.5)))
		h2.Mul(h2, exponential)
		last := e.tail(bigOf(0).Mul(u, bigOf(0.5)))
		h2.Add(h2, last.Mul(last, bigOf(3)))
		h2.Mul(h2.Sub(h2, bigOf(2)), bigOf(2))
		want := h2.Sqrt(h2)
		nearBig(t, fmt.Sprintf("MuUniform at σ = %v", sigma), must(t)(MuUniform(q, sigma, rounds)),
			want.Mul(want, bigOf(q*math.Sqrt(rounds))), 1e-9)

		root := exponential.Sqrt(exponential.Sub(exponential, bigOf(1)))
		nearBig(t, fmt.Sprintf("MuPoisson at σ = %v", sigma), must(t)(MuPoisson(q, sigma, rounds)),
			root.Mul(root, bigOf(q*math.Sqrt(rounds))), 1e-12)
	}
}

func TestRoundsAreChecked(t *testing.T) {
	nan := math.NaN()
	for _, f := range []func(q, sigma, rounds float64) (float64, error){MuPoisson, MuUniform} {
		for _, c := range [][3]float64{{0, 0, 0}, {1.1, 1e7, math.Inf(1)}, {nan, nan, nan}} {
			_, err := f(c[0], c[1], c[2])
			if joined, ok := err.(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) != 3 {
				t.Errorf("arguments %v: %v", c, err)
			}
		}
	}
}
