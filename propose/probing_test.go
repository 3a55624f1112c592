package propose

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/rng"
	"proactivedp/train"
)

// The statement about the records that proxies used depends on the probing. So the request must name a
// probing, and it must be the one that is used.
func TestWhatProxiesLookAtMustBeSaid(t *testing.T) {
	proposed := func(r Request, o Options) error {
		_, err := Propose(t.Context(), r, o)
		return err
	}
	steps := func(r Request, o Options) error {
		_, err := Steps(t.Context(), r, o)
		return err
	}
	for _, c := range []struct {
		ask     func(Request, Options) error
		probing Probing
		want    string
	}{
		{proposed, "", `probing = "", must be`}, {steps, "", `probing = "", must be`},
		{proposed, "others", `probing = "others", must be`},
		{steps, Private, `probing = "private", must be "own" or "other"`}, // whose proxies have no noise
		{proposed, Other, "are the data itself"}, {steps, Other, "are the data itself"},
	} {
		r, o := request(), options(1)
		r.Base.SampleSize, r.Base.GradComps, o.Probing = "10", 600, c.probing
		if err := c.ask(r, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, must say %q", c.probing, err, c.want)
		}
	}
	for _, probing := range []Probing{Own, Private} {
		o := options(1)
		o.Probing, o.Probe = probing, train.NewSource(synth.OneHot(rng.New(4), 200))
		if err := proposed(request(), o); err == nil || !strings.Contains(err.Error(), "but the probed data are other data") {
			t.Errorf("%q of other data: %v", probing, err)
		}
	}
}

// If a source of data is missing, the error names it.
func TestSourcesMustBeGiven(t *testing.T) {
	r, all := request(), options(1)
	r.Base.SampleSize, r.Base.GradComps = "10", 600
	for _, o := range []Options{{Probing: Own}, {Probing: Own, Data: all.Data}, {Probing: Other, Probe: all.Probe}} {
		_, proposed := Propose(t.Context(), r, o)
		_, stepped := Steps(t.Context(), r, o)
		for _, err := range []error{proposed, stepped} {
			if err == nil || !strings.Contains(err.Error(), "must both be given") {
				t.Errorf("%+v: %v", o, err)
			}
		}
	}
	if _, err := NewStudy(r, Options{Probing: Own}); err == nil || !strings.Contains(err.Error(), "must both be given") {
		t.Errorf("a study without a source: %v", err)
	}
}

// If ε is too small for private probing, the error names an ε that is enough. It is that of the whole
// request; a trial gets only a part of it.
func TestARefusedPrivateProbeSaysWhatIsEnough(t *testing.T) {
	r, o := request(), options(2)
	source := train.NewSource(synth.OneHot(rng.New(3), 800))
	o.Data, o.Probe, o.Probing = source, source, Private
	r.Epsilon = 0.01
	_, err := Propose(t.Context(), r, o)
	e, infeasible := isInfeasible(err)
	if !infeasible || len(e.Remedies) != 1 || !strings.Contains(e.Reason, "within ε = 0.01") {
		t.Fatalf("%v", err)
	}
	enough, _ := strings.CutPrefix(e.Remedies[0], "allow ε = ")
	if r.Epsilon, err = strconv.ParseFloat(enough, 64); err != nil || e.Epsilon != r.Epsilon {
		t.Fatalf("%q, and as a number %v: %v", enough, e.Epsilon, err)
	}
	propose(t, r, o)
}

// A search that was interrupted does not say that no setting is feasible.
func TestLeastSigmaCutShort(t *testing.T) {
	cut := errors.New("cut short")
	_, err := leastSigma(1, 1, func(float64) (dp.Bound, error) { return dp.Bound{}, cut })
	if _, infeasible := isInfeasible(err); infeasible || !errors.Is(err, cut) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, o := request(), options(1)
	o.Probing = Private
	if _, err := Propose(ctx, r, o); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "infeasible") {
		t.Errorf("%v", err)
	}
}
