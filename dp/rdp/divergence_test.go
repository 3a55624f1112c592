package rdp

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"proactivedp/dp"
)

func logUniform(r *rand.Rand, lo, hi float64) float64 {
	return lo * math.Exp(r.Float64()*math.Log(hi/lo))
}

func relative(got, want float64) float64 { return math.Abs(got-want) / math.Abs(want) }

// Mironov, Talwar, Zhang 2019, Section 3.3: for integer α the moment is
// Σ_k binomial(α, k)·(1-q)^(α-k)·q^k·e^(k(k-1)/2σ²), here without its 1.
func TestIntegerOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	check := func(q, sigma float64, n int) {
		t.Helper()
		want := atInteger(q, sigma, n)
		got, err := Divergence(dp.Poisson, dp.AddOrRemove, q, sigma, float64(n))
		if err != nil || !(relative(got, want) <= margin/100) {
			t.Errorf("q = %v, σ = %v, α = %d: %v, want %v (%v)", q, sigma, n, got, want, err)
		}
	}
	for i := range 3000 {
		q := logUniform(r, 1e-9, 1)
		if i%3 == 0 {
			q = r.Float64()
		}
		check(q, logUniform(r, MinSigma, 1e4), 2+int(logUniform(r, 1, 2000)))
	}
	// Two peaks beyond the origin: the lower matters, both do, the higher does.
	for _, q := range []float64{0.047, 0.047428132, 0.0478} {
		check(q, 100, 60000)
	}
}

func atInteger(q, sigma float64, n int) float64 {
	logFactorial := func(n int) float64 { l, _ := math.Lgamma(float64(n) + 1); return l }
	logExpm1 := func(x float64) float64 {
		if x > 40 {
			return x
		}
		return math.Log(math.Expm1(x))
	}
	var s logSum
	for k := 2; k <= n; k++ {
		s.add(logFactorial(n) - logFactorial(k) - logFactorial(n-k) + float64(k)*math.Log(q) +
			float64(n-k)*math.Log1p(-q) +
			logExpm1(float64(k)*float64(k-1)/(2*sigma*sigma)))
	}
	l := s.log()
	if l > 0 {
		return (l + math.Log1p(math.Exp(-l))) / float64(n-1)
	}
	return math.Log1p(math.Exp(l)) / float64(n-1)
}

// Real orders of all pairs against the trapezoidal rule, with steps far below
// the width of anything in the integrand.
func TestRealOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	for i := range 150 {
		p := pair{[]shape{mixture, opposite, symmetric}[i%3], logUniform(r, 1e-6, 1), logUniform(r, 0.3, 30)}
		if i%2 == 0 {
			p.q = 1 - p.q
		}
		a := logUniform(r, 1e-7, 60)
		var s logSum
		if p.shape == symmetric { // on a half-line, with x = ½ + e^u
			right := 2 + a + 14*p.sigma
			step := min(p.sigma, p.sigma*p.sigma) / right / 3
			for u := -14.0; u < math.Log(right); u += step {
				s.add(u + math.Log(step) + p.integrand(0.5+math.Exp(u), a))
			}
		} else {
			step := min(p.sigma, p.sigma*p.sigma) / 6
			for x := -2 - 14*p.sigma; x < 3+2*a+14*p.sigma; x += step {
				s.add(math.Log(step) + p.integrand(x, a))
			}
		}
		if got, want := p.logMoment(a), s.log(); !(math.Abs(got-want) <= margin/100*max(1, math.Abs(want))) {
			t.Errorf("%+v, α = 1 + %v: %v, want %v", p, a, got, want)
		}
	}
}

// The moment of the trade-off function C_q(G_μ), μ = 2/σ, from its shape (Dong,
// Roth, Su 2022, Definition 4.1 and Theorem 4.2): up to the point x = Φ(-μ/2)
// the slope of q·G_μ + (1-q)·Id, from its image on that of the inverse, -1
// between the two. A test at level x = P(Z > z) has the slope -e^(μz-μ²/2) of G_μ.
func TestFixedSizePair(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		q, sigma, alpha := logUniform(r, 0.05, 1), logUniform(r, 1, 10), 1+logUniform(r, 0.5, 10)
		mu := 2 / sigma
		x := math.Erfc(mu/2/math.Sqrt2) / 2
		moment := (1 - q) * (1 - 2*x) // f(x) - x with f(x) = qx + (1-q)(1-x)
		const n = 20000
		top := mu*alpha + 14
		for i := range n + 1 { // Simpson's rule
			z := mu/2 + (top-mu/2)*float64(i)/n
			slope := 1 - q + q*math.Exp(mu*z-mu*mu/2)
			weight := float64(2+2*(i%2)) * (top - mu/2) / (3 * n)
			if i == 0 || i == n {
				weight /= 2
			}
			moment += weight * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * (math.Pow(slope, alpha) +
				math.Pow(slope, 1-alpha))
		}
		want := math.Log(moment) / (alpha - 1)
		got, err := Divergence(dp.FixedSize, dp.ReplaceOne, q, sigma, alpha)
		if err != nil || !(relative(got, want) <= margin) {
			t.Errorf("q = %v, σ = %v, α = %v: %v, want %v (%v)", q, sigma, alpha, got, want, err)
		}
	}
}

// R^α - 1 - α(R-1) has the factor (R-1)² for integer α, and (s-1)² for α = 5/4
// and R = s⁴.
func TestLogExcess(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	for range 2000 {
		l := logUniform(r, 1e-12, 200) * float64(1-2*r.IntN(2))
		v := 2 * math.Log(math.Abs(math.Expm1(l)))
		s := math.Exp(l / 4)
		for a, want := range map[float64]float64{
			1:    v,
			2:    v + math.Log(math.Exp(l)+2),
			3:    v + math.Log(math.Exp(2*l)+2*math.Exp(l)+3),
			0.25: 2*math.Log(math.Abs(math.Expm1(l/4))) + math.Log(s*s*s+0.75*s*s+0.5*s+0.25),
		} {
			if got := logExcess(l, a); !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
				t.Errorf("log R = %v, α = %v: %v, want %v", l, 1+a, got, want)
			}
		}
	}
}

// Without sampling the pair is N(0,σ²) and N(Δ,σ²), with divergence αΔ²/(2σ²)
// (Mironov 2017, Corollary 3). Sampling almost all is continuous in q, and
// sampling less is never worse.
func TestGaussian(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 4))
	for _, c := range []struct {
		sampling  dp.Sampling
		adjacency dp.Adjacency
		distance  float64
	}{{dp.Poisson, dp.AddOrRemove, 1}, {dp.Poisson, dp.ReplaceOne, 2}, {dp.FixedSize, dp.ReplaceOne, 2}} {
		for range 500 {
			sigma, alpha := logUniform(r, 0.3, MaxSigma), 1+logUniform(r, 1e-6, 1e6)
			want := alpha * c.distance * c.distance / (2 * sigma * sigma)
			at := func(q float64) float64 {
				d, err := Divergence(c.sampling, c.adjacency, q, sigma, alpha)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			if got := at(1); !(relative(got, want) <= 1e-14) {
				t.Errorf("%v: σ = %v, α = %v: %v, want %v", c, sigma, alpha, got, want)
			}
			q := logUniform(r, 1e-9, 1)
			if got, more := at(q), at(math.Sqrt(q)); !(0 < got && got <= more*(1+1e-11) && more <= want*(1+1e-11)) {
				t.Errorf("%v: σ = %v, α = %v, q = %v: %v at q, %v at √q, %v at 1", c, sigma, alpha, q, got, more, want)
			}
		}
	}
	p := pair{mixture, 1 - 0x1p-53, 2}
	if got, want := p.divergence(3.5), 4.5/8; !(relative(got, want) <= 1e-11) {
		t.Errorf("q = 1 - 2⁻⁵³: %v, want %v", got, want)
	}
}

// τ(α) grows with α and (α-1)τ(α) is convex (van Erven, Harremoës 2014, Theorem 3
// and Corollary 2), across integer and other orders and both regimes of α.
func TestGrowthAndConvexity(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 5))
	for i := range 3000 {
		p := pair{[]shape{mixture, opposite, symmetric}[i%3], logUniform(r, 1e-8, 1), logUniform(r, 0.2, 1e4)}
		a := logUniform(r, 1e-6, 1e7)
		b := a * (1 + logUniform(r, 1e-3, 3))
		m := a + (b-a)*r.Float64()
		da, dm, db := p.divergence(a), p.divergence(m), p.divergence(b)
		if !(da <= dm*(1+1e-11) && dm <= db*(1+1e-11)) {
			t.Errorf("%+v: τ = %v, %v, %v at α - 1 = %v, %v, %v", p, da, dm, db, a, m, b)
		}
		if chord := (a*da*(b-m) + b*db*(m-a)) / (b - a); !(m*dm <= chord*(1+1e-10)) {
			t.Errorf("%+v: (α-1)τ = %v is above its chord %v at α - 1 = %v in [%v, %v]", p, m*dm, chord, m, a, b)
		}
	}
}

// Opposite unit vectors are the worst gradients that can replace each other in
// a Poisson sample: no pair of gradients u, v in [-1, 1], on a line or in the
// plane, has a larger divergence.
func TestOppositeIsWorst(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 6))
	for i := range 60 {
		q, sigma, alpha := logUniform(r, 1e-3, 1), logUniform(r, 0.5, 3), 1+logUniform(r, 0.1, 10)
		ux, vx := 2*r.Float64()-1, 2*r.Float64()-1
		uy, vy := 0.0, 0.0
		if i%2 == 0 { // on the unit circle, and to the opposite side of it
			ux, uy = math.Sincos(2 * math.Pi * r.Float64())
			vx, vy = math.Sincos(2 * math.Pi * r.Float64())
		}
		step := min(sigma, sigma*sigma) / 2
		sum := 0.0
		ratio := func(x, y, ax, ay float64) float64 {
			return 1 - q + q*math.Exp((2*(x*ax+y*ay)-ax*ax-ay*ay)/(2*sigma*sigma))
		}
		reach := 2*alpha + 9*sigma
		for x := -reach; x < reach; x += step {
			for y := -reach; y < reach; y += step {
				p, q := ratio(x, y, ux, uy), ratio(x, y, vx, vy)
				sum += q * math.Pow(p/q, alpha) * math.Exp(-(x*x+y*y)/(2*sigma*sigma))
			}
		}
		sum *= step * step / (2 * math.Pi * sigma * sigma)
		if got, worst := math.Log(sum)/(alpha-1), (pair{opposite, q, sigma}).divergence(alpha-1); !(got <= worst+1e-9) {
			t.Errorf("q = %v, σ = %v, α = %v, u = (%v, %v), v = (%v, %v): %v, above %v", q, sigma, alpha, ux, uy, vx,
				vy, got, worst)
		}
	}
}

// Over the whole ranges, far beyond useful values, the divergence is never NaN or infinite, and never
// worse than without sampling.
func TestDivergenceInAllRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 6000 {
		q := logUniform(r, MinRate, 1)
		switch i % 4 {
		case 0:
			q = 1 - logUniform(r, 0x1p-53, 1)
		case 1:
			q = max(MinRate, r.Float64())
		}
		p := pair{[]shape{mixture, opposite, symmetric}[i%3], q, logUniform(r, MinSigma/2, MaxSigma)}
		a := logUniform(r, minExcess, 1e7)
		most := (1 + a) / (2 * p.sigma * p.sigma)
		if p.shape == opposite {
			most *= 4
		}
		if d := p.divergence(a); !(d >= 0 && d <= most*(1+1e-11)) {
			t.Errorf("%+v, α = 1 + %v: %v, want at most %v", p, a, d, most)
		}
	}
}

func TestDivergenceErrors(t *testing.T) {
	for _, c := range []struct {
		sampling        dp.Sampling
		adjacency       dp.Adjacency
		q, sigma, alpha float64
		uncovered       bool
	}{
		{dp.FixedSize, dp.AddOrRemove, 0.1, 1, 2, true},
		{dp.Poisson, dp.AddOrRemove, 0.1, 0, 2, true},
		{dp.Poisson, dp.AddOrRemove, 0.1, 0.09, 2, true},
		{dp.Poisson, dp.AddOrRemove, 0.1, 2e6, 2, true},
		{dp.Poisson, dp.AddOrRemove, 1e-31, 1, 2, true},
		{dp.Poisson, dp.AddOrRemove, 0.1, 1, 1, false},
		{dp.Poisson, dp.AddOrRemove, 0.1, 1, math.NaN(), false},
		{dp.Poisson, dp.AddOrRemove, 0.1, math.NaN(), 2, false},
		{dp.Poisson, dp.AddOrRemove, 1.1, 1, 2, false},
		{dp.Poisson, "near", 0.1, 1, 2, false},
	} {
		if d, err := Divergence(c.sampling, c.adjacency, c.q, c.sigma, c.alpha); err == nil ||
			errors.Is(err, dp.ErrNotCovered) != c.uncovered {
			t.Errorf("%+v: %v, %v", c, d, err)
		}
	}
}
