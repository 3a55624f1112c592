package train

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"proactivedp/dp/pld"
	"proactivedp/plan"
	"proactivedp/sim"
)

// For any setting, the calibrated run costs a record at most the target, and with slightly less noise it
// would cost more.
func TestCalibratedRunsKeepTheTarget(t *testing.T) {
	source := NewSource(drawn())
	for name, change := range map[string]func(*Spec){
		"one client":  func(s *Spec) { s.Clients = 1 },
		"replicate":   func(*Spec) {},
		"shard":       func(s *Spec) { s.Partition = "shard" },
		"fixed":       func(s *Spec) { s.Sampling = "fixed" },
		"growing":     func(s *Spec) { s.SampleSize = "linear:2,0.5" },
		"adapted":     func(s *Spec) { s.Adapt, s.Speeds = 4, "1,1,1,2,0.1" },
		"large":       func(s *Spec) { s.SampleSize = "300" },
		"many rounds": func(s *Spec) { s.GradComps, s.SampleSize = 20_000, "1" },
		"by-record":   func(s *Spec) { s.Split = RecordSplit },
	} {
		for _, epsilon := range []float64{0.05, 0.5, 4} {
			spec := smallSpec()
			spec.Delta = 1e-5
			change(&spec)
			what := fmt.Sprintf("%s, ε = %v", name, epsilon)
			spec.NoiseMultiplier = 0 // decides nothing
			got, err := source.Calibrate(t.Context(), spec, epsilon)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			upper := func(sigma float64) float64 {
				s := got
				s.NoiseMultiplier = sigma
				p, err := source.Prepare(s)
				if err != nil {
					t.Fatal(err)
				}
				planned, err := p.Config.PlannedPrivacy(t.Context(), pld.Accountant{}, p.Delta)
				if err != nil || planned.PerRecord.EpsilonUpper == nil {
					t.Fatalf("%s: %v, %s", what, err, planned.PerRecord.Reason)
				}
				return *planned.PerRecord.EpsilonUpper
			}
			if e := upper(got.NoiseMultiplier); e > epsilon {
				t.Errorf("%s: σ = %v costs %v", what, got.NoiseMultiplier, e)
			}
			if e := upper(0.995 * got.NoiseMultiplier); e <= epsilon {
				t.Errorf("%s: 0.995 of σ = %v costs %v: it is not the least", what, got.NoiseMultiplier, e)
			}
			spec.NoiseMultiplier, spec.TargetEpsilon = got.NoiseMultiplier, epsilon
			if got != spec {
				t.Errorf("%s: %+v, want %+v", what, got, spec)
			}
		}
	}
}

// A run reports the target for which it was calibrated, and keeps it. A spec with a target that it does
// not keep is neither trained nor forecast.
func TestTargetsAreKept(t *testing.T) {
	source := NewSource(drawn())
	spec, err := source.Calibrate(t.Context(), smallSpec(), 2)
	if err != nil {
		t.Fatal(err)
	}
	p, err := source.Prepare(spec)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Train(t.Context(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if upper := r.Privacy.Certified.PerRecord.EpsilonUpper; !(*upper <= 2) || r.Spec.TargetEpsilon != 2 {
		t.Errorf("ε ≤ %v, target %v, want at most 2", *upper, r.Spec.TargetEpsilon)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "σ is the smallest for which the certified ε "+
		"of a record is at most 2") {
		t.Errorf("notes %q", notes)
	}
	spec.NoiseMultiplier *= 0.99
	if p, err = source.Prepare(spec); err != nil {
		t.Fatal(err)
	}
	_, trained := p.Train(t.Context(), sim.Perf{}, nil)
	_, forecast := p.Forecast(t.Context(), sim.Perf{})
	for _, err := range []error{trained, forecast} {
		if err == nil || !strings.Contains(err.Error(), "must be at most the target 2") {
			t.Errorf("with less noise: error %v", err)
		}
	}
	if proxy, err := spec.Proxy(0.5); err != nil || proxy.TargetEpsilon != 0 {
		t.Errorf("a proxy has the target %v, %v", proxy.TargetEpsilon, err)
	}
}

func TestTargetsThatCannotBe(t *testing.T) {
	source := NewSource(drawn())
	for want, change := range map[string]func(*Spec) float64{
		"epsilon = 0, must be in":  func(*Spec) float64 { return 0 },
		"epsilon = -1, must be in": func(*Spec) float64 { return -1 },
		"clients = 0":              func(s *Spec) float64 { s.Clients = 0; return 1 },
	} {
		s := smallSpec()
		epsilon := change(&s)
		if got, err := source.Calibrate(t.Context(), s, epsilon); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, error %v, want %q", got, err, want)
		}
	}
	s := smallSpec()
	s.SampleSize, s.GradComps, s.Delta = "320", 320*100_000, 1e-300
	if _, err := source.Calibrate(t.Context(), s, 1e-8); !errors.As(err, new(*plan.Infeasible)) {
		t.Errorf("error %v, want Infeasible", err)
	}
	s = smallSpec()
	s.TargetEpsilon = 1e5
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "epsilon = 100000, must be in") {
		t.Errorf("error %v", err)
	}
}

// If the accountant covers no smaller noise multiplier, the result is not reported as the least noise for
// the target.
func TestTheLeastNoiseThatIsCovered(t *testing.T) {
	spec, err := NewSource(drawn()).Calibrate(t.Context(), smallSpec(), 1e4)
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(spec.Notes(), "\n")
	if spec.NoiseMultiplier != pld.MinSigma || !strings.Contains(notes, "σ = 0.05 is the smallest that the accountant accepts") ||
		strings.Contains(notes, "smallest for which") {
		t.Errorf("σ = %v, notes %q", spec.NoiseMultiplier, notes)
	}
}
