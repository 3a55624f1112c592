package audit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"proactivedp/dp"
)

// If a probe refutes its claim, the report shows such a probe, wherever it is in the list. A probe with ε
// = 0 that found nothing does not take its place.
func TestARefutedClaimIsTheReports(t *testing.T) {
	idle := Finding{Probe: "idle"}
	kept := Finding{Probe: "kept", EpsilonLowerBound: 1, EpsilonUpper: 4}
	refuted := Finding{Probe: "refuted", EpsilonLowerBound: 2, EpsilonUpper: 1, Violated: true}
	nothing := Finding{Probe: "nothing", EpsilonLowerBound: 0.1, Violated: true}
	for _, c := range []struct {
		all  []Finding
		want string
	}{
		{[]Finding{idle, refuted}, "refuted"}, {[]Finding{refuted, idle}, "refuted"}, {[]Finding{idle, kept}, "kept"},
		{[]Finding{idle, kept, refuted}, "refuted"}, {[]Finding{refuted, nothing, idle}, "nothing"},
		{[]Finding{idle}, "idle"},
	} {
		r := newReport(DefaultOptions(), &audit{}, c.all, nil, time.Second)
		if violated := c.want == "refuted" || c.want == "nothing"; r.Probe != c.want || r.Violated != violated ||
			r.Alarm() != violated {
			t.Errorf("of %+v the report is on %s, violated: %v", c.all, r.Probe, r.Violated)
		}
	}
}

// The report says for each probe which claim its bound is compared with.
func TestEachProbeHasItsOwnClaim(t *testing.T) {
	removed := Finding{Probe: "full-batch", Adjacency: dp.AddOrRemove, Sampling: dp.Poisson, Accountant: "pld",
		EpsilonUpper: 1, Tests: []Test{{}}}
	replaced, loop := removed, removed
	replaced.Probe, replaced.Adjacency, replaced.Sampling = "replaced", dp.ReplaceOne, dp.FixedSize
	replaced.EpsilonLowerBound = 0.9 // so that the report is on this one
	loop.Probe, loop.Accountant = "loop", "rdp-filter"
	r := newReport(DefaultOptions(), &audit{}, []Finding{removed, replaced, loop}, nil, time.Second)
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nadd-or-remove adjacency, poisson sampling; claimed per record by pld.\n",
		"\nreplaced: replace-one adjacency, fixed sampling; claimed per record by pld.\n",
		"\nloop: add-or-remove adjacency, poisson sampling; claimed per record by rdp-filter.\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q does not say %q", text.String(), want)
		}
	}
}

// δ is printed exactly, because a lower bound on ε at δ may not hold at a larger δ, and an upper bound may
// not hold at a smaller one. A p-value is never printed smaller than it is.
func TestReportRoundsToTheSafeSide(t *testing.T) {
	f := Finding{Probe: "full-batch", Delta: 1. / 3, EpsilonLowerBound: 2, EpsilonUpper: 1, Violated: true,
		Tests: []Test{{}}}
	checks := []Check{{World: "crowd", Failed: true, PValue: 1.4e-9}}
	r := newReport(DefaultOptions(), &audit{}, []Finding{f}, checks, time.Second)
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"full-batch  0.3333333333333333  2 ", "VIOLATED: at δ = 0.3333333333333333 ε is",
		"  2e-09\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q does not say %q", text.String(), want)
		}
	}
}

// If the clock did not advance during a probe, the report still has only numbers that JSON can express.
func TestAProbeThatTookNoTime(t *testing.T) {
	f := Finding{}
	f.conclude(1, 0)
	if _, err := json.Marshal(f); err != nil {
		t.Error(err)
	}
}
