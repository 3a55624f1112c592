package train

import (
	"math"
	"strings"
	"testing"

	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/rng"
	"proactivedp/sim"
)

// Every step of a proxy has the signal η̄·s and the noise η̄·σ of the run's, in as many
// rounds ("TAN without a burn", arXiv 2210.03403: σ/s and η·s stay).
func TestProxyKeepsEachStep(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"constant": func(*Spec) {},
		"uneven":   func(s *Spec) { s.SampleSize, s.GradComps = "26", 26*40 },
		"sqrt":     func(s *Spec) { s.Schedule, s.Beta = "sqrt", 0.01 },
		"zero":     func(s *Spec) { s.Schedule, s.Beta = "zero", 0 },
		"cosine":   func(s *Spec) { s.Schedule, s.Beta = "cosine", 0 },
		"growing":  func(s *Spec) { s.SampleSize, s.GradComps = "linear:64,32", 100_000 },
		"list":     func(s *Spec) { s.SampleSize, s.GradComps = "list:32,64,320", 100_000 },
	} {
		whole := DefaultSpec()
		whole.SampleSize, whole.GradComps = "64", 64*1000+3
		change(&whole)
		proxy, err := whole.Proxy(1. / 16)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		of := func(s Spec) (sizes dp.Sizes, run dp.Run, steps sim.StepSize) {
			in, err := s.parse()
			if err != nil {
				t.Fatal(err)
			}
			return in.sizes, dp.Cut(in.sizes, s.GradComps), in.steps
		}
		sizes, run, steps := of(whole)
		small, cheap, proxied := of(proxy)
		if cheap.Rounds != run.Rounds || cheap.Remainder != 0 {
			t.Errorf("%s: %+v, want %d rounds and nothing left over", name, cheap, run.Rounds)
		}
		t0, t1 := 0, 0
		for i := range run.Rounds {
			eta, etaOfProxy := steps.At(t0, run.Computed), proxied.At(t1, cheap.Computed)
			// Sizes are whole numbers: half a record of some four is not seen elsewhere.
			if ratio := etaOfProxy * proxy.NoiseMultiplier / (eta * whole.NoiseMultiplier); math.Abs(ratio-1) > 0.02 {
				t.Fatalf("%s: round %d: the noise of a step is %v of the run's", name, i, ratio)
			}
			if ratio := etaOfProxy * float64(small.At(i)) / (eta * float64(sizes.At(i))); math.Abs(ratio-1) > 0.13 {
				t.Fatalf("%s: round %d: the signal of a step is %v of the run's", name, i, ratio)
			}
			t0, t1 = t0+sizes.At(i), t1+small.At(i)
		}
	}
}

// If batch sizes can be divided without remainder, all numbers are exact.
func TestProxyInNumbers(t *testing.T) {
	s := DefaultSpec()
	s.SampleSize, s.GradComps, s.NoiseMultiplier, s.Eta0, s.Beta = "370", 370*972+10, 12, 0.5, 0.25
	want := s
	want.SampleSize, want.GradComps, want.NoiseMultiplier, want.Eta0, want.Beta = "185", 185*972, 6, 1, 0.5
	if got, err := s.Proxy(0.5); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if got, err := s.Proxy(1); err != nil || got != s {
		t.Errorf("the whole: %+v, %v; want the run itself", got, err)
	}
}

func TestWhatHasNoProxy(t *testing.T) {
	for _, c := range []struct {
		want   string
		f      float64
		change func(*Spec)
	}{
		{"part of a sample = 0, must be in (0, 1]", 0, func(*Spec) {}},
		{"part of a sample = 2", 2, func(*Spec) {}},
		{"part of a sample = NaN", math.NaN(), func(*Spec) {}},
		{"sigma = 0, must be above 0: a run without noise has no proxy", 0.25, func(s *Spec) { s.NoiseMultiplier = 0 }},
		{`delay = "sqrt" counts gradients`, 0.25, func(s *Spec) { s.Delay = "sqrt" }},
		{"adapt = 4 changes sample sizes", 0.25, func(s *Spec) { s.Adapt = 4 }},
		{"part = 0.01 of the 26 records sampled in round 0", 0.01, func(*Spec) {}},
		{"part = 0.1 of the 4 records sampled in round 1", 0.1, func(s *Spec) { s.SampleSize = "list:26,4" }},
		{"rounds = 0, must be in [1, ", 0.25, func(s *Spec) { s.GradComps = 3 }},
		{`sample size = "x"`, 0.25, func(s *Spec) { s.SampleSize = "x" }},
		{"clipping norm 0.1 × noise multiplier 5e-31 = 5e-32, must be 0", 0.5,
			func(s *Spec) { s.NoiseMultiplier = 1e-30 }},
	} {
		s := DefaultSpec()
		c.change(&s)
		if got, err := s.Proxy(c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v, error %v; want one with %q", got, err, c.want)
		}
	}
}

// A proxy has about the accuracy of its run: 0.9288 and 0.9296 as means of three seeds. The seeds are
// fixed, so the test does not fail by chance.
func TestProxyPredictsTheRun(t *testing.T) {
	source := NewSource(synth.OneHot(rng.New(3), 4000))
	mean := func(f float64) (accuracy float64) {
		for seed := range 3 {
			s := smallSpec()
			s.SampleSize, s.GradComps, s.NoiseMultiplier, s.Schedule, s.Beta = "64", 64*200, 8, "zero", 0
			s.Seed = uint64(seed + 1)
			s, err := s.Proxy(f)
			if err != nil {
				t.Fatal(err)
			}
			p, err := source.Prepare(s)
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Run(t.Context(), sim.Perf{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			accuracy += p.Judge()(r.Params) / 3
		}
		return accuracy
	}
	whole, proxy := mean(1), mean(1./16)
	if math.Abs(whole-proxy) > 0.015 {
		t.Errorf("accuracy %v, by proxy %v", whole, proxy)
	}
	t.Logf("accuracy %v, by proxy %v", whole, proxy)
}

// A proxy samples whole records. Its fraction is the smallest at which the sampling noise is small
// compared with the added noise, or the one at which its work reaches the limit.
func TestFractionOfAProxy(t *testing.T) {
	source := NewSource(drawn())
	sampledBinds, workBinds := 0, 0
	for _, size := range []float64{40, 4000} {
		for _, coarse := range []float64{1, 4} {
			for _, rounds := range []int{60, 2e5, 1e6} {
				for _, sigma := range []float64{1, 3, 100} {
					spec := smallSpec()
					spec.SampleSize, spec.GradComps, spec.NoiseMultiplier = "40", 40*rounds, sigma
					p, err := source.Prepare(spec)
					if err != nil {
						t.Fatal(err)
					}
					noise := float64(p.Config.Model.NumParams()) * sigma * sigma
					enough := func(f float64) bool { // the conditions on f
						return (1/f-1)*size <= coarse*sampled*noise*(1+1e-9)
					}
					spends := func(f float64) bool { return f*p.Work()*coarse >= convexWork*(1-1e-9) }
					f := p.ProxyFraction(size, coarse)
					if n := f * size; f > 1 || math.Abs(n-math.Round(n)) > 1e-9*n || math.Round(n) < 1 {
						t.Errorf("f = %v of %v records", f, size)
					}
					if f < 1 && !(enough(f) && spends(f)) {
						t.Errorf("s = %v, σ = %v, %d rounds, coarse %v: f = %v is too small", size, sigma, rounds, coarse, f)
					}
					less := f - 1/size
					if less > 0 && enough(less) && spends(less) {
						t.Errorf("s = %v, σ = %v, %d rounds, coarse %v: f = %v is too large", size, sigma, rounds, coarse, f)
					}
					if f < 1 && !enough(less) {
						sampledBinds++
					}
					if f < 1 && !spends(less) {
						workBinds++
					}
				}
			}
		}
	}
	if sampledBinds == 0 || workBinds == 0 {
		t.Errorf("sampling decides %d times and work %d times: both must", sampledBinds, workBinds)
	}
}
