package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
)

func leg(s, n, rounds int, sigma float64) dp.Event {
	return dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, SampleSize: s,
		DatasetSize: n, Count: rounds}
}

func replan(t *testing.T, r NextRequest, acc dp.Accountant) *Next {
	t.Helper()
	p, err := Replan(t.Context(), r, acc)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return p
}

// Appendix "DP Calculator", j > 0: N = 10000, K₀ = 50000 at s₀ = 100, then
// K₁ = 20000. ε is not monotone in s₁: none at 1, 2 and 5, then, by the printed
// γ (an independent program's), 2.04 at 10, 0.372 at 50, 0.268 at 100, 0.715 at
// 150. The plan uses the corrected γ, finds its least at 100, and does not stop
// at s₁ = 1.
func TestReplanLooksAtTheWholeRange(t *testing.T) {
	// Noise that is free: σ so large that (treq4) does not bind.
	past := []dp.Event{leg(100, 10000, 500, 1000)}
	p := replan(t, NextRequest{FixedBeforehand: true,
		Past: past, Delta: 1e-4, Epochs: 2, Sigma: 1000, Epsilon: 0.3}, closedform.Accountant{})
	byForm := func(form closedform.Form, s int) (float64, error) {
		return closedform.MinEpsilon(form, closedform.Setting{
			N: 10000, Rounds: 500 + float64(roundsOf(20000, s)), Computed: 50000 +
				float64(roundsOf(20000, s)*s), MaxSize: float64(max(s, 100)), Sigma: math.Inf(1), Delta: 1e-4,
		})
	}
	for s, want := range map[int]float64{1: 0, 2: 0, 5: 0, 10: 2.04, 50: 0.372, 100: 0.268, 150: 0.715} {
		if got, err := byForm(closedform.Printed, s); math.Abs(got-want) > 0.005 || (err == nil) != (want > 0) {
			t.Errorf("s = %d: ε = %v by the printed γ, want %v; %v", s, got, want, err)
		}
	}
	// The accountant claims no more than rounds all of the largest size cost.
	claimed := func(s int) (float64, error) {
		eps, err := byForm(closedform.Corrected, s)
		equal, uncovered := closedform.MinEpsilon(closedform.Corrected, closedform.Setting{
			N: 10000, Rounds: 500 + float64(roundsOf(20000, s)), Computed: (500 + float64(roundsOf(20000, s))) * float64(max(s, 100)),
			MaxSize: float64(max(s, 100)), Sigma: math.Inf(1), Delta: 1e-4,
		})
		if uncovered == nil && (err != nil || equal < eps) {
			return equal, nil
		}
		return eps, err
	}
	looked := map[int]bool{}
	for _, c := range p.Choices {
		looked[c.SampleSize] = true
		eps, err := claimed(c.SampleSize)
		if (err == nil) != (c.EpsilonUpper != nil) || err == nil && math.Abs(*c.EpsilonUpper/eps-1) > 1e-6 ||
			c.Rounds != roundsOf(20000, c.SampleSize) {
			t.Errorf("%+v, want ε = %v, %v", c, eps, err)
		}
	}
	if !looked[1] || !looked[100] || !looked[10000] {
		t.Errorf("sizes looked at: %v", looked)
	}
	if p.Least == nil || p.Least.SampleSize != 100 || math.Abs(*p.Least.EpsilonUpper-0.2703) > 5e-5 {
		t.Errorf("least %+v", p.Least)
	}
	if !p.Feasible || p.Run.SampleSize <= 100 || p.Run.SampleSize >= 150 || p.Bound.EpsilonUpper > 0.3 {
		t.Fatalf("%+v, %+v", p.Run, p.Bound)
	}
	if eps, err := claimed(p.Run.SampleSize + 1); err == nil && eps <= 0.3 {
		t.Errorf("s = %d costs %v only", p.Run.SampleSize+1, eps)
	}
}

// With a tight accountant, the cost grows with s after any past. The planned rounds are within the target
// when accounted for again with the past.
func TestReplanByTightAccountant(t *testing.T) {
	past := []dp.Event{leg(100, 10000, 500, 8)}
	r := NextRequest{FixedBeforehand: true, Past: past, Delta: 1e-4, Epochs: 2, Sigma: 7, Epsilon: 0.1}
	acc := pld.Accountant{}
	p := replan(t, r, acc)
	b, err := acc.Epsilon(t.Context(), append(past, p.Event()), 1e-4)
	if err != nil || b != *p.Bound || b.EpsilonUpper > 0.1 || b.EpsilonUpper < 0.099 || !p.Feasible {
		t.Errorf("%+v: %+v accounted again %+v, %v", p.Run, p.Bound, b, err)
	}
	if p.Past == nil || p.Past.EpsilonUpper >= p.Bound.EpsilonUpper || p.Least.SampleSize != 1 {
		t.Errorf("past %+v, least %+v", p.Past, p.Least)
	}
	if q := replan(t, NextRequest{FixedBeforehand: true, Past: past, Delta: 1e-4, Epochs: 2, Sigma: 7, Epsilon: 0.5},
		closedform.Accountant{}); q.Run.SampleSize >= p.Run.SampleSize {
		t.Errorf("s = %d by the closed form for five times the ε, %d by a tight accountant", q.Run.SampleSize,
			p.Run.SampleSize)
	}
	var text strings.Builder
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	text.WriteString(p.Statement())
	for _, want := range []string{"Next leg by the pld accountant, all rounds fixed beforehand",
		"budget   ε ≤ 0.1, δ = 0.0001",
		"500 rounds with sample rate q = 0.01 and noise multiplier σ = 8", "certified upper bound", "least ε"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if js, err := json.Marshal(p); err != nil || !strings.Contains(string(js),
		`"choices":[{"sample_size":1,"rounds":20000,"epsilon_upper":0.06`) {
		t.Errorf("%s, %v", js, err)
	}
}

// If σ_j is not given, it is σ_eq(ε, δ), but not above the least σ of the past.
func TestReplanNoise(t *testing.T) {
	low := replan(t, NextRequest{FixedBeforehand: true,
		Past: []dp.Event{leg(20, 10000, 500, 30)}, Delta: 1e-4, Epochs: 2, Epsilon: 0.5},
		closedform.Accountant{})
	want, err := closedform.Sigma(0.5, 1e-4)
	if err != nil || low.Sigma < want || low.Sigma > want*(1+1e-6) || !low.Feasible {
		t.Errorf("σ = %v, want σ_eq = %v; %v, %s", low.Sigma, want, err, low.Reason)
	}
	high := replan(t, NextRequest{FixedBeforehand: true,
		Past: []dp.Event{leg(20, 10000, 500, 5)}, Delta: 1e-4, Epochs: 2, Epsilon: 0.5}, pld.Accountant{})
	if high.Sigma != 5 || !high.Feasible {
		t.Errorf("%+v", high)
	}
}

// For random pasts, the planned rounds are within the target.
func TestReplanNeverExceedsTheTarget(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 1))
	feasible := 0
	for range 60 {
		n := int(logUniform(r, 1e4, 1e6))
		var past []dp.Event
		for range 1 + r.IntN(3) {
			s := int(logUniform(r, 1, float64(n)/200))
			past = append(past, leg(s, n, 1+int(logUniform(r, 0.1, 5)*float64(n)/float64(s)), logUniform(r, 5, 30)))
		}
		req := NextRequest{FixedBeforehand: true,
			Past: past, Delta: 1e-4, Epochs: logUniform(r, 0.1, 5), Epsilon: logUniform(r, 0.1, 3)}
		p := replan(t, req, closedform.Accountant{})
		if p.Feasible != (p.Reason == "") || p.Feasible != (p.Run != nil) {
			t.Fatalf("%+v: %+v", req, p)
		}
		if !p.Feasible {
			continue
		}
		feasible++
		b, err := closedform.Accountant{}.Epsilon(t.Context(), append(past, p.Event()), p.Delta)
		if err != nil || b.EpsilonUpper > req.Epsilon ||
			p.Run.Computations != roundsOf(epochsCount(req.Epochs, n), p.Run.SampleSize)*p.Run.SampleSize {
			t.Errorf("%+v: %+v costs %+v, %v", req, p.Run, b, err)
		}
	}
	if feasible < 15 {
		t.Errorf("%d feasible", feasible)
	}
}

// If five clients hold a record, it pays for the next rounds of all of them. The ε of all rounds is
// compared with a composition by hand.
func TestReplanSharedRecordsPayForAll(t *testing.T) {
	plan := solve(t, Request{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, Epsilon: 1, Clients: 5, Shared: true})
	for _, acc := range []dp.Accountant{closedform.MomentAccountant{}, rdp.Accountant{}} {
		r := NextRequest{FixedBeforehand: true, Past: plan.Events(), Delta: 1e-4, Epochs: 5, Epsilon: 2, Clients: 5}
		alone := replan(t, r, acc)
		r.Shared = true
		p := replan(t, r, acc)
		if !p.Feasible || p.Run.SampleSize >= alone.Run.SampleSize || p.Run.Rounds != roundsOf(50000, p.Run.SampleSize) {
			t.Fatalf("%s: %+v; of one client %+v", acc.Name(), p.Run, alone.Run)
		}
		all := leg(p.Run.SampleSize, 10000, 5*p.Run.Rounds, p.Sigma)
		b, err := acc.Epsilon(t.Context(), append(plan.Events(), all), p.Delta)
		if err != nil || b != *p.Bound || b.EpsilonUpper > 2 || b.EpsilonUpper < 1.9 || p.Event() != all {
			t.Errorf("%s: %+v claimed, all rounds cost %+v, %v", acc.Name(), p.Bound, b, err)
		}
		var text strings.Builder
		if err := p.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		text.WriteString(p.Statement())
		for _, want := range []string{fmt.Sprintf("%d rounds with sample rate", 5*p.Run.Rounds),
			fmt.Sprintf("in each of 5 clients that hold a record: %d rounds", 5*p.Run.Rounds)} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no %q in\n%s", want, text.String())
			}
		}
	}
}

// The changes that a refusal suggests also work for several clients.
func TestReplanSharedRemedies(t *testing.T) {
	r := NextRequest{FixedBeforehand: true,
		Past: []dp.Event{leg(100, 10000, 500, 8)}, Delta: 1e-4, Epochs: 2, Sigma: 1, Epsilon: 0.1, Clients: 3,
		Shared: true}
	p := replan(t, r, pld.Accountant{})
	if p.Feasible {
		t.Fatalf("%+v", p.Run)
	}
	sigma, k := r, r
	sigma.Sigma, k.Epochs = after(t, p.Reason, "raise σ to "), after(t, p.Reason, "lower k to ")
	for _, r := range []NextRequest{sigma, k} {
		if q := replan(t, r, pld.Accountant{}); !q.Feasible || q.Bound.EpsilonUpper > r.Epsilon {
			t.Errorf("%q, but %+v: %q", p.Reason, r, q.Reason)
		}
	}
}

// Theorem thm1, corrected, at σ_eq: Σ q²/(1-q) ≤ ε/2, with all σ ≥ σ_eq and
// q ≤ 1/(eσ_eq), is what may be chosen by results (closedform.Budget).
func TestReplanSaysWhetherItMayDependOnResults(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 2))
	met := map[bool]int{}
	for i := range 48 {
		acc := dp.Accountant(closedform.MomentAccountant{})
		if i%8 == 0 {
			acc = rdp.Accountant{} // allows more than any such choice may use
		}
		n := int(logUniform(r, 1e4, 1e6))
		eps, delta := logUniform(r, 0.2, 3), 1/float64(n)
		equal, err := closedform.Sigma(eps, delta)
		if err != nil {
			t.Fatal(err)
		}
		past := leg(int(logUniform(r, 2, float64(n)/100)), n, 1, equal*logUniform(r, 0.8, 2))
		q := past.SampleRate()
		past.Count = 1 + int(logUniform(r, 0.01, 0.9)*eps/2/(q*q))
		p := replan(t, NextRequest{FixedBeforehand: true,
			Past: []dp.Event{past}, Delta: 1 / float64(n), Epochs: logUniform(r, 0.1, 3), Epsilon: eps, Clients: 2,
			Shared: true}, acc)
		if !p.Feasible {
			continue
		}
		v, least, most := 0.0, math.Inf(1), 0.0
		for _, e := range []dp.Event{past, p.Event()} {
			q := e.SampleRate()
			v, least, most = v+float64(e.Count)*q*q/(1-q), min(least, e.NoiseMultiplier), max(most, q)
		}
		want := v <= eps/2 && least >= equal && most <= 1/(math.E*equal)
		if p.Adaptive != want || strings.Contains(p.Statement(), "Rényi filter") != want {
			t.Errorf("ε = %v: V = %v, σ from %v, q up to %v: %v, %s", eps, v, least/equal, most*math.E*equal,
				p.Adaptive, p.Statement())
		}
		if !strings.Contains(p.Statement(), "This assumes, as you stated, that these rounds were fixed beforehand, "+
			"and that the next leg was fixed then, too.") || p.Filter != nil {
			t.Error(p.Statement())
		}
		met[want]++
	}
	if met[true] < 5 || met[false] < 5 {
		t.Errorf("not the variety wanted: %v", met)
	}
}

func TestReplanInfeasible(t *testing.T) {
	past := []dp.Event{leg(100, 10000, 500, 8)}
	spent := replan(t, NextRequest{FixedBeforehand: true,
		Past: past, Delta: 1e-4, Epochs: 2, Sigma: 7, Epsilon: 0.1}, closedform.Accountant{})
	if spent.Feasible || !strings.Contains(spent.Reason, "the past rounds already cost ε = 0.29711, above 0.1") ||
		!strings.Contains(spent.Statement(), "No guarantee") {
		t.Errorf("%+v", spent)
	}
	r := NextRequest{FixedBeforehand: true, Past: past, Delta: 1e-4, Epochs: 2, Sigma: 1, Epsilon: 0.08}
	p := replan(t, r, pld.Accountant{})
	if p.Feasible || !strings.Contains(p.Reason, "the least ε over all sample sizes is ") {
		t.Fatalf("%+v", p)
	}
	sigma, k := after(t, p.Reason, "raise σ to "), after(t, p.Reason, "lower k to ")
	r.Sigma = sigma
	if q := replan(t, r, pld.Accountant{}); !q.Feasible {
		t.Errorf("%q, but %q", p.Reason, q.Reason)
	}
	r.Sigma, r.Epochs = 1, k
	if q := replan(t, r, pld.Accountant{}); !q.Feasible {
		t.Errorf("%q, but %q", p.Reason, q.Reason)
	}
	past[0].Adjacency = dp.ReplaceOne
	if q := replan(t, NextRequest{FixedBeforehand: true,
		Past: past, Delta: 1e-4, Epochs: 2, Epsilon: 0.5}, closedform.Accountant{}); q.Feasible ||
		q.Past != nil || q.Least != nil || !strings.Contains(q.Reason, "replace-one") {
		t.Errorf("%+v", q)
	}
}

func TestNextRequestRefusals(t *testing.T) {
	good := NextRequest{Past: []dp.Event{leg(100, 10000, 500, 8)}, Epochs: 2, Epsilon: 0.5}
	for _, tt := range []struct {
		set  func(*NextRequest)
		want string
	}{
		{func(r *NextRequest) { r.Past = nil }, "there are no past rounds"},
		{func(r *NextRequest) { r.Past = []dp.Event{{}} }, "event 0: sampling"},
		{func(r *NextRequest) {
			r.Past = []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 8, Rate: 0.1,
				Count: 3}}
		}, "data set size N is missing, must be given: the last event has a sample rate only"},
		{func(r *NextRequest) { r.N = -1 }, "N = -1"},
		{func(r *NextRequest) { r.Epochs = 0 }, "epochs k = 0, must be in [1e-06, 1e+09]"},
		{func(r *NextRequest) { r.Epochs = 1e-5 }, "at least one gradient computation"},
		{func(r *NextRequest) { r.N, r.Epochs = 1e10, 1e7 }, "at most 2^53"},
		{func(r *NextRequest) { r.N, r.Epochs, r.Clients, r.Shared = 1e10, 1e5, 1e6, true },
			"at most 2^53 gradient computations (of 1000000 clients that hold a record)"},
		{func(r *NextRequest) { r.Clients = -1 }, "clients = -1, must be in [1, 1000000]"},
		{func(r *NextRequest) { r.N = 50 }, "delta is missing, must be given for N = 50"},
		{func(r *NextRequest) { r.Sigma = -1 }, "sigma = -1"},
		{func(r *NextRequest) { r.Epsilon = 0 }, "epsilon is missing"},
		{func(r *NextRequest) { r.Delta = 1 }, "delta = 1"},
	} {
		r := good
		tt.set(&r)
		if p, err := Replan(t.Context(), r, closedform.Accountant{}); p != nil || err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: want %q, got %v", r, tt.want, err)
		}
	}
}

// One gradient computation is the least that can be planned.
func TestReplanOfOneComputation(t *testing.T) {
	some := &Next{N: 1000, past: []dp.Event{leg(1, 2, 5, 8), leg(1, 100, 5, 8)}} // 500 of 1,000 are more than 300 in all
	if sizes := some.sizes(300); slices.Max(sizes) > 300 || !slices.Contains(sizes, 10) {
		t.Errorf("sizes %v of at most 300", sizes)
	}
	r := NextRequest{Past: []dp.Event{leg(100, 10000, 500, 8)}, Delta: 1e-4, Epochs: 1e-4, Epsilon: 5}
	if err := r.Validate(); err != nil {
		t.Errorf("one gradient: %v", err)
	}
	r.Epochs = 0.99e-4
	if err := r.Validate(); err == nil {
		t.Error("less than a gradient was accepted")
	}
}

// fixedEvents reads events of rounds that were fixed beforehand.
func fixedEvents(r io.Reader, sampling dp.Sampling, adjacency dp.Adjacency) ([]dp.Event, error) {
	h, err := ReadHistory(r, sampling, adjacency)
	if err != nil {
		return nil, err
	}
	return h.Fixed()
}

func TestReadEvents(t *testing.T) {
	const scheme = `{"sampling":"poisson","adjacency":"add-or-remove",`
	const one = scheme + `"noise_multiplier":8,"sample_size":100,"dataset_size":10000,"count":500}`
	const byRate = scheme + `"noise_multiplier":8,"sample_rate":0.01,"count":500}`
	const short = `{"sigma":8,"sample_size":100,"dataset_size":10000,"steps":500}`
	read := func(text string) ([]dp.Event, error) {
		return fixedEvents(strings.NewReader(text), dp.Poisson, dp.AddOrRemove)
	}
	for text, want := range map[string]int{"[" + one + "]": 1, ` {"events": [` + one + `,` + byRate + `]} `: 2, "[" +
		short + "]": 1} {
		events, err := read(text)
		if err != nil || len(events) != want || events[0] != leg(100, 10000, 500, 8) {
			t.Errorf("%s: %+v, %v", text, events, err)
		}
	}
	for text, want := range map[string]string{
		"":               "events: it is empty, must be a JSON value",
		"[]":             "events: none",
		`{}`:             "events: none",
		`{"rounds": []}`: `unknown field "rounds"`,
		`[{"noise": 3}]`: `unknown field "noise"`,
		`[{"sigma": 3, "noise_multiplier": 3, "steps": 1, "count": 1}]`: "event 0: noise_multiplier and sigma are " +
			"the same, only one may be given\ncount and steps",
		"[" + one + "] []": "more text after the first",
		`[` + one + `, {"count": 1}]`: "event 1: noise_multiplier or sigma is missing\n" +
			"sample_rate is missing or 0, and so are sample_size and dataset_size",
		"[null]": "sample_size and dataset_size\ncount or steps is missing",
		`[{"sigma": null, "sample_size": 9}]`: "event 0: noise_multiplier or sigma is missing\n" +
			"dataset_size is missing or 0",
		`[{"dataset_size": 9, "sigma": -1}]`: "sample_size is missing or 0\n" +
			"count or steps is missing\nnoise multiplier = -1",
		`[{"sigma": 0, "dataset_size": 0}]`:                                   "event 0: sample_rate is missing",
		`[{"sigma": 3, "noise_multiplier": 0, "sample_rate": 1, "steps": 1}]`: "noise_multiplier and sigma",
		`[{"sigma": 3, "sample_rate": 1, "steps": 1, "count": 0}]`:            "count and steps are the same",
		`[{"sigma": 2, "Sigma": 200}]`:                                        `the key "Sigma" occurs twice`,
		`[{"count": 1.5}]`:                                                    "1.5",
		strings.Replace(one, "500", "0", 1):                                   `unknown field`,
		"[" + strings.Replace(one, "500", "0", 1) + "]":                       "event 0: count of rounds = 0",
	} {
		if events, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %+v, %v", text, want, events, err)
		}
	}
	stated := `[` + strings.Replace(one, "add-or-remove", "replace-one", 1) + `]` // flags complete it, and change nothing
	if events, err := read(stated); err != nil || events[0].Adjacency != dp.ReplaceOne {
		t.Errorf("%s: %+v, %v", stated, events, err)
	}
	if _, err := fixedEvents(failing{}, dp.Poisson, ""); !errors.Is(err, errFailing) {
		t.Errorf("the reader's error is lost: %v", err)
	}
}

// Malformed JSON is refused wherever the fault is, and never causes an endless loop.
func TestReadEventsEndsOnMalformedJSON(t *testing.T) {
	malformed := []string{
		"[x]", "[", "{", "[[", "[{", `[{"`, `{"events":`, `{"events":[`, `[{"sigma"}]`, `[{"sigma" 2}]`, `[{"sigma":}]`,
		`[{"sigma":2,}]`,
		`[{"sigma":2}`, `[{"sigma":NaN}]`, `[{"sigma":.5}]`, `[{"sigma":01}]`, `[{"sigma":+1}]`, `[{"sigma":1.}]`,
		`[{'sigma':1}]`, `[{sigma:1}]`,
		`[{"sigma":2} // a comment` + "\n]", `[{"sigma":2]}`, `[{"sigma":"open}]`, `[{"sigma":2},]`, `[,]`, `]`,
		"[\x00]", "[\xff]",
		strings.Repeat("[", 100_000), strings.Repeat(`{"events":`, 100_000), "[" + strings.Repeat(`{"a":[`, 9_000),
	}
	for _, text := range malformed {
		done := make(chan error, 1)
		go func() {
			_, err := fixedEvents(strings.NewReader(text), dp.Poisson, "")
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%.40q was read", text)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%.40q is read for ever", text)
		}
	}
}

// endless is a file without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestReadEventsIsBounded(t *testing.T) {
	_, err := fixedEvents(endless{}, dp.Poisson, "")
	if err == nil || !strings.Contains(err.Error(), "events: too large: more than 16777216 bytes") {
		t.Error(err)
	}
}

// Any file is either refused, or all its events are valid and are the same after they are written and read
// again.
func FuzzReadEvents(f *testing.F) {
	f.Add(`[{"sigma":8,"sample_rate":0.01,"steps":500}]`)
	f.Add(`{"events": [{"sampling":"fixed","noise_multiplier":8,"sample_size":3,"dataset_size":10,"count":5}]}`)
	f.Add("[x]")
	f.Add(`{"events": [{"sigma": 1, "sigma": 2}`)
	f.Fuzz(func(t *testing.T, text string) {
		events, err := fixedEvents(strings.NewReader(text), dp.Poisson, "")
		if err != nil {
			return
		}
		for _, e := range events {
			if err := e.Validate(); err != nil {
				t.Errorf("%+v: %v", e, err)
			}
		}
		again, err := json.Marshal(events)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := fixedEvents(bytes.NewReader(again), dp.FixedSize, ""); err != nil ||
			!slices.Equal(back, events) {
			t.Errorf("%s: %+v, %v", again, back, err)
		}
	})
}

var errFailing = errors.New("failing")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFailing }

// The change that a refusal suggests works even for a single round of one record, where the rate 1/N has
// more than six digits.
func TestRefusedLegMayBeOneRound(t *testing.T) {
	past, acc := []dp.Event{leg(30, 3000, 200, 2)}, rdp.Accountant{}
	one, err := acc.Epsilon(t.Context(), append(slices.Clone(past), leg(1, 3000, 1, 2)), 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	r := NextRequest{FixedBeforehand: true, Past: past, Epochs: 1, Sigma: 2, Epsilon: one.EpsilonUpper, Delta: 1e-5}
	p := replan(t, r, acc)
	if p.Feasible {
		t.Fatalf("feasible: %+v", p.Run)
	}
	r.Epochs = after(t, p.Reason, "lower k to ")
	if p := replan(t, r, acc); !p.Feasible || p.Run.Computations != 1 {
		t.Errorf("k = %v: %+v, %s", r.Epochs, p.Run, p.Reason)
	}
}

// Clients that hold the same records and shuffle them themselves do not share their epochs: a quarter of an epoch of
// each of four clients may use a record four times, and costs as much as four epochs. The next leg is one event, so it
// is planned for one client only.
func TestSharedShuffledLegsAreRefused(t *testing.T) {
	past := dp.Event{Sampling: dp.Shuffle, Adjacency: dp.ZeroOut, NoiseMultiplier: 20, SampleSize: 50, DatasetSize: 5000, Count: 100}
	r := NextRequest{Past: []dp.Event{past}, Epochs: 0.25, Sigma: 20, Epsilon: 2, Delta: 1e-5, Clients: 4}
	if err := r.Validate(); err != nil {
		t.Errorf("separate records: %v", err)
	}
	r.Shared = true
	if err := r.Validate(); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("shared records: %v, must not be covered", err)
	}
}
