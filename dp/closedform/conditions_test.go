package closedform

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func find(t *testing.T, cs []Condition, theorem, name string) Condition {
	t.Helper()
	i := slices.IndexFunc(cs, func(c Condition) bool { return c.Theorem == theorem && c.Name == name })
	if i < 0 {
		t.Fatalf("no condition %s of %s", name, theorem)
	}
	return cs[i]
}

// setting is a run of constant, real-valued size.
func setting(n int, k, t, sigma, eps, delta float64) Setting {
	computed := k * float64(n)
	return Setting{N: n, Rounds: t, Computed: computed, MaxSize: computed / t, Sigma: sigma, Epsilon: eps, Delta: delta}
}

func TestConditionsAreAllListed(t *testing.T) {
	cs := must[[]Condition](t)(Conditions(Corrected, setting(10000, 5, 1600, 19.3, 0.05, 1e-4)))
	var names []string
	for _, c := range cs {
		names = append(names, c.Theorem+"."+c.Name)
	}
	want := "Main.sigma Main.delta Main.epsilon Main.N Main.theta Main.minK Main.minT simpleF.treq1 simpleF.treq2 " +
		"simpleF.treq3 simpleF.treq4"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("conditions %s, want %s", got, want)
	}
	if !Holds(cs, Main) || !Holds(cs, SimpleF) {
		t.Errorf("not all met: %+v", cs)
	}
	if Holds(cs, "other") {
		t.Error("a theorem without conditions holds")
	}
	got, err := json.Marshal(Condition{Main, "minK", true, 0.5})
	if want := `{"theorem":"Main","name":"minK","met":true,"margin":0.5}`; err != nil || string(got) != want {
		t.Errorf("JSON %s, want %s", got, want)
	}
}

// Theorem Main, (minK) with δ = 1/N: k ≥ 4.24, 4.61, 5.14, 5.54.
func TestMainMinK(t *testing.T) {
	for n, want := range map[int]float64{10000: 4.24, 60000: 4.61, 1e6: 5.14, 1e7: 5.54} {
		met := func(k float64) bool {
			cs := must[[]Condition](t)(Conditions(Corrected, setting(n, k, 1e6, 20, 0.1, 1/float64(n))))
			return find(t, cs, Main, "minK").Met
		}
		if met(want-0.005) || !met(want+0.005) {
			t.Errorf("N = %d: (minK) does not turn at k = %v", n, want)
		}
	}
}

// Each condition changes from met to violated at the right place. Its margin has the right sign, and the
// other conditions do not change.
func TestConditionsTurn(t *testing.T) {
	base := setting(20000, 6, 3000, 20, 0.1, 1./20000)
	sigmaEq := must[float64](t)(Sigma(0.1, base.Delta))
	below, above := func(x float64) float64 {
		return math.Nextafter(x,
			0)
	}, func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	limit := must[Limits](t)(Limit(Corrected, base.N, 6, 1, 0.1, base.Delta))
	tests := []struct {
		theorem, name string
		set           func(*Setting)
		met           bool
	}{
		{Main, "sigma", func(s *Setting) { s.Sigma = sigmaEq }, true},
		{Main, "sigma", func(s *Setting) { s.Sigma = below(sigmaEq) }, false},
		{SimpleF, "treq4", func(s *Setting) { s.Sigma = sigmaEq }, true},
		{SimpleF, "treq4", func(s *Setting) { s.Sigma = below(sigmaEq) }, false},
		{Main, "delta", func(s *Setting) { s.Delta = 1. / 20000 }, true},
		{Main, "delta", func(s *Setting) { s.Delta = above(1. / 20000) }, false},
		{Main, "delta", func(s *Setting) { s.N, s.Delta = 60000, 1.667e-5 }, false}, // as the paper prints 1/60000
		{Main, "epsilon", func(s *Setting) { s.Epsilon = below(0.5) }, true},
		{Main, "epsilon", func(s *Setting) { s.Epsilon = 0.5 }, false},
		{Main, "N", func(s *Setting) { s.N = 10000 }, true},
		{Main, "N", func(s *Setting) { s.N = 9999 }, false},
		{Main, "theta", func(s *Setting) { s.MaxSize *= 6.849 }, true},
		{Main, "theta", func(s *Setting) { s.MaxSize *= 6.851 }, false},
		{Main, "minT", func(s *Setting) { *s = setting(s.N, 6, limit.TTreq3, 20, 0.1, s.Delta) }, true},
		{Main, "minT", func(s *Setting) { *s = setting(s.N, 6, limit.TTreq3*(1-1e-12), 20, 0.1, s.Delta) }, false},
		{SimpleF, "treq3", func(s *Setting) { *s = setting(s.N, 6, limit.TTreq3, 20, 0.1, s.Delta) }, true},
		{SimpleF, "treq3", func(s *Setting) { *s = setting(s.N, 6, limit.TTreq3*(1-1e-12), 20, 0.1, s.Delta) }, false},
		{SimpleF, "treq1", func(s *Setting) { *s = setting(s.N, 6, limit.TTreq1, 20, 0.1, s.Delta) }, true},
		{SimpleF, "treq1", func(s *Setting) { *s = setting(s.N, 6, limit.TTreq1*(1-1e-12), 20, 0.1, s.Delta) }, false},
		{SimpleF, "treq2", func(s *Setting) { s.Epsilon = 1e3 }, true}, // by the choice of γ
	}
	for i, tt := range tests {
		s := base
		tt.set(&s)
		c := find(t, must[[]Condition](t)(Conditions(Corrected, s)), tt.theorem, tt.name)
		if c.Met != tt.met {
			t.Errorf("test %d: %+v, want met = %v", i, c, tt.met)
		}
		strict := c.Name == "epsilon" && c.Margin == 0
		if c.Met != (c.Margin >= 0) && !strict {
			t.Errorf("test %d: margin does not say what met says: %+v", i, c)
		}
	}
}

// Theorem simpleF is the more general one: where Main's conditions are met,
// its are too, with either γ. Of Main's only (minK), (minT) and ε < ½ are needed,
// not N ≥ 10000, δ ≤ 1/N or θ ≤ 6.85.
func TestMainImpliesSimpleF(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	needed, inMain := 0, 0
	for i := range 20000 {
		form := []Form{Corrected, Printed}[i%2]
		n := int(logUniform(r, 100, 1e8))
		k, eps, theta := logUniform(r, 1, 1e3), 0.5*logUniform(r, 1e-3, 1), 1+10*r.Float64()*r.Float64()
		delta := logUniform(r, 1e-12, 0.9)
		l := must[Limits](t)(Limit(form, n, k, theta, eps, delta))
		s := setting(n, k, l.TTreq3, must[float64](t)(Sigma(eps, delta)), eps, delta)
		if s.MaxSize *= theta; s.MaxSize > float64(n) {
			continue
		}
		cs := must[[]Condition](t)(Conditions(form, s))
		if find(t, cs, Main, "minK").Met && find(t, cs, Main, "epsilon").Met {
			if needed++; !Holds(cs, SimpleF) {
				t.Fatalf("%s, %+v: Main holds, simpleF does not: %+v", form, s, cs)
			}
		}
		if Holds(cs, Main) {
			inMain++
		}
		if !find(t, cs, SimpleF, "treq3").Met || !find(t, cs, Main, "minT").Met {
			t.Fatalf("%+v: (treq3) is not met at its own T: %+v", s, cs)
		}
	}
	if needed < 5000 || inMain < 500 || inMain > needed/2 {
		t.Errorf("%d settings, %d of Theorem Main: not the variety wanted", needed, inMain)
	}
}

func TestLimitMeetsSimpleF(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	for range 20000 {
		n := int(logUniform(r, 1, 1e9))
		k, eps, theta := logUniform(r, 1e-3, 1e6), logUniform(r, 1e-8, 1e3), 1+r.ExpFloat64()
		delta := logUniform(r, 1e-300, 0.999)
		l := must[Limits](t)(Limit(Corrected, n, k, theta, eps, delta))
		computed := k * float64(n)
		sigma := must[float64](t)(Sigma(eps, delta))
		for _, rounds := range []float64{l.TMin, computed / l.SMax} {
			s := Setting{n, rounds, computed, theta * computed / rounds, sigma, eps, delta}
			if cs := must[[]Condition](t)(Conditions(Corrected, s)); !Holds(cs, SimpleF) {
				t.Fatalf("%+v: %+v", s, cs)
			}
			s.Rounds *= 1 - 1e-12
			s.MaxSize /= 1 - 1e-12
			cs := must[[]Condition](t)(Conditions(Corrected, s))
			if c := find(t, cs, SimpleF, l.Binding); c.Met {
				t.Fatalf("%+v: fewer rounds do as well: %+v", s, c)
			}
		}
	}
}

func TestSettingRefusals(t *testing.T) {
	s := Setting{N: 0, Rounds: -1, Computed: math.NaN(), MaxSize: 0, Sigma: math.Inf(1), Epsilon: 0, Delta: 1}
	_, err := Conditions("other", s)
	for _, want := range []string{"form", "N = 0", "rounds = -1", "computed = NaN", "largest size = 0", "sigma = +Inf",
		"epsilon = 0", "delta = 1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	for name, size := range map[string]float64{"smaller than the mean": 9, "larger than N": 101} {
		s := Setting{N: 100, Rounds: 10, Computed: 100, MaxSize: size, Sigma: 5, Epsilon: 1, Delta: 0.01}
		if _, err := Conditions(Corrected, s); err == nil || !strings.Contains(err.Error(), "largest size") {
			t.Errorf("%s: %v", name, err)
		}
	}
	over := setting(10000, 5, 1600, 1e308, 1e-3, 1e-4)
	over.Delta = 1 - 1e-16 // σ_eq = √2
	if _, err := Conditions(Corrected, over); err != nil {
		t.Errorf("extreme, but in range: %v", err)
	}
	huge := setting(1<<62, 1e160, 1e170, 20, 1e-3, 1e-4)
	if _, err := Conditions(Corrected, huge); err == nil {
		t.Error("k² overflows, yet no error")
	}
}

// The σ at which u₁ is 1 is the pole of the quotient: 2e√q/(1-q).
func TestPoleOfTheQuotient(t *testing.T) {
	for _, size := range []float64{1, 16, 500} {
		s := Setting{N: 10000, Rounds: 50000 / size, Computed: 50000, MaxSize: size, Delta: 1e-5}
		q := newQuotient(Printed, s)
		_, u1 := ratios(q.q, q.second, q.second*q.second)
		near(t, "u₁ at the pole", u1, 1, 1e-12)
	}
}
