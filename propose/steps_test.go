package propose

import (
	"testing"

	"proactivedp/dp/pld"
)

// Settings that the user gave are kept, σ is just within the budget, and the number of workers does not
// change the result.
func TestStepsKeepWhatIsGiven(t *testing.T) {
	r := request()
	r.Base.SampleSize, r.Base.GradComps = "10", 600
	spec, err := Steps(t.Context(), r, options(2))
	if err != nil {
		t.Fatal(err)
	}
	if spec.SampleSize != "10" || spec.GradComps != 600 || spec.Clients != r.Base.Clients {
		t.Errorf("s = %s, K = %d, %d clients: must be as given", spec.SampleSize, spec.GradComps, spec.Clients)
	}
	p, err := options(1).Data.Prepare(spec)
	if err != nil {
		t.Fatal(err)
	}
	private, err := p.Config.PlannedPrivacy(t.Context(), pld.Accountant{}, p.Delta)
	if err != nil {
		t.Fatal(err)
	}
	if eps := private.PerRecord.EpsilonUpper; eps == nil || *eps > r.Epsilon || *eps < 0.98*r.Epsilon {
		t.Errorf("ε = %v, must be just within %v", eps, r.Epsilon)
	}
	r.Rounds, r.TargetAccuracy, r.Count = nil, 2, -1 // which are not used
	again, err := Steps(t.Context(), r, options(1))
	if err != nil || again != spec {
		t.Errorf("with another number of workers %+v, error %v", again, err)
	}
}

func TestStepsRefuseWhatTheyCannotPrice(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"epsilon":     func(r *Request) { r.Epsilon, r.TargetAccuracy = 0, 0.9 },
		"sample size": func(r *Request) { r.Base.SampleSize = "700000" },
		"growing":     func(r *Request) { r.Base.SampleSize = "linear:4,0.5" },
	} {
		r := request()
		r.Base.SampleSize, r.Base.GradComps = "10", 600
		change(&r)
		if spec, err := Steps(t.Context(), r, options(1)); err == nil {
			t.Errorf("%s: accepted as %+v", name, spec)
		}
	}
}
