package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/internal/testkit"
)

// The next rounds, which may depend on results, have the largest batch size that the filter lets through
// after the past ones. The claim is the filter's whole ε. For comparison, the plan has the ε of pld and of
// the closed form for fixed rounds.
func TestReplanByFilter(t *testing.T) {
	past := []dp.Event{leg(100, 10000, 500, 8), leg(50, 10000, 300, 6)}
	p := replan(t, NextRequest{Past: past, Delta: 1e-4, Epochs: 2, Sigma: 7, Epsilon: 0.3}, pld.Accountant{})
	if !p.Feasible || !p.Adaptive || p.FixedBeforehand || p.Accountant != "rdp-filter" || p.Filter.Recorded {
		t.Fatalf("%+v", p)
	}
	order, err := rdp.PlannedOrder(t.Context(), 0.3, 1e-4, past[:1])
	if err != nil || !slices.Equal(p.Filter.Orders, []float64{order}) || p.Filter.Epsilon != 0.3 ||
		p.Filter.Delta != 1e-4 {
		t.Errorf("%+v, want order %v; %v", p.Filter, order, err)
	}
	f, err := rdp.NewFilter(p.Filter.Limits)
	if err != nil {
		t.Fatal(err)
	}
	larger := p.Event()
	larger.SampleSize++
	larger.Count = roundsOf(20000, larger.SampleSize)
	if err := f.Spend(t.Context(), append(slices.Clone(past), larger)); !errors.Is(err, rdp.ErrBudgetSpent) {
		t.Errorf("s = %d would do: %v", larger.SampleSize, err)
	}
	if err := f.Spend(t.Context(), append(slices.Clone(past), p.Event())); err != nil || *p.Bound != f.Guarantee() ||
		p.Bound.EpsilonUpper != 0.3 || *p.Filter.All != f.Used() || !(p.Filter.Past > 0 && p.Filter.Past < f.Used()) {
		t.Errorf("%+v, %+v: %v, used %v", p.Bound, p.Filter, err, f.Used())
	}
	for events, got := range map[*[]dp.Event]*dp.Bound{&past: p.Past, {past[0], past[1], p.Event()}: p.Composed} {
		b, err := pld.Accountant{}.Epsilon(t.Context(), *events, 1e-4)
		if err != nil || *got != b || b.EpsilonUpper >= 0.3 {
			t.Errorf("%+v, want %+v; %v", got, b, err)
		}
	}
	if b, err := (closedform.Accountant{}).Epsilon(t.Context(), past, 1e-4); err != nil ||
		*p.ClosedForm.Past != b.EpsilonUpper {
		t.Errorf("closed form %v, want %+v; %v", *p.ClosedForm.Past, b, err)
	}
	fixed := replan(t, NextRequest{FixedBeforehand: true, Past: past, Delta: 1e-4, Epochs: 2, Sigma: 7, Epsilon: 0.3},
		pld.Accountant{})
	if fixed.Filter != nil || !fixed.FixedBeforehand || fixed.Run.SampleSize <= p.Run.SampleSize ||
		fixed.Accountant != "pld" {
		t.Errorf("fixed beforehand %+v, by results %+v", fixed.Run, p.Run)
	}
	text := p.text(t)
	for _, want := range []string{"Next leg by a Rényi filter: rounds, and when to stop, may depend on results",
		"order " + p.filterOrders(), "assumed to be fixed before the first release: the past uses",
		"if fixed beforehand ε in [",
		"ε needed of the filter", "may have been chosen from earlier results", "there is no record of it",
		"ε ≤ 0.3 at δ = 0.0001 (an upper bound, by the rdp-filter accountant), under add-or-remove adjacency"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "number of rounds are assumed to be fixed") {
		t.Errorf("both statements in\n%s", text)
	}
}

func (p *Next) filterOrders() string {
	text, _ := json.Marshal(p.Filter.Orders)
	return strings.Trim(string(text), "[]")
}

func (p *Next) text(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	return text.String() + p.Statement()
}

// For rounds that cost too much, the tight ε is reported: here 0.41 for 500 rounds, for which the closed
// form gives 73.
func TestReplanSaysTheTightCost(t *testing.T) {
	past := []dp.Event{leg(80, 10000, 500, 1.5)}
	tight, err := pld.Accountant{}.Epsilon(t.Context(), past, 1e-4)
	if err != nil {
		t.Fatal(err)
	}
	p := replan(t, NextRequest{Past: past, Delta: 1e-4, Epochs: 2, Epsilon: 0.3}, pld.Accountant{})
	if p.Feasible || !strings.HasPrefix(p.Reason, "the past rounds already cost ε = "+up(tight.EpsilonUpper, 5)+
		" by pld if they were fixed beforehand, and ") || !strings.Contains(p.Reason,
		"of the filter of ε = 0.3 at order") ||
		p.Adaptive || !(p.Filter.Past > 1) || p.Filter.All != nil {
		t.Errorf("%+v: %s", p.Filter, p.Reason)
	}
	if tight.EpsilonUpper > 0.42 || *p.ClosedForm.Past < 70 || !strings.Contains(p.text(t),
		"by the closed form ε ≤ 73.") {
		t.Errorf("pld %v, closed form %v\n%s", tight.EpsilonUpper, *p.ClosedForm.Past, p.text(t))
	}
	// Without an accountant that knows replace-one, and without a filter that knows
	// fixed sizes under add-or-remove.
	past[0].Adjacency = dp.ReplaceOne
	p = replan(t, NextRequest{Past: past, Delta: 1e-4, Epochs: 2, Epsilon: 0.3}, closedform.Accountant{})
	if !strings.HasPrefix(p.Reason, "the past rounds already use ") || p.Past != nil || p.ClosedForm.Past != nil {
		t.Errorf("%+v", p)
	}
	past[0].Adjacency, past[0].Sampling = dp.AddOrRemove, dp.FixedSize
	p = replan(t, NextRequest{Past: past, Delta: 1e-4, Epochs: 2, Epsilon: 0.3}, pld.Accountant{})
	if text := p.text(t); p.Feasible || p.Filter != nil || !strings.Contains(p.Reason, "past rounds: event 0: ") ||
		!strings.Contains(text, "no ε if fixed beforehand") || !strings.Contains(text, "by a Rényi filter") {
		t.Errorf("%+v", p)
	}
}

// If five clients hold a record, the rounds of all five go through its one filter.
func TestReplanByFilterSharedRecordsPayForAll(t *testing.T) {
	past := []dp.Event{leg(50, 10000, 2500, 8)}
	r := NextRequest{Past: past, Delta: 1e-4, Epochs: 2, Sigma: 8, Epsilon: 0.5, Clients: 5}
	alone := replan(t, r, rdp.Accountant{})
	r.Shared = true
	p := replan(t, r, rdp.Accountant{})
	if !p.Feasible || p.Run.SampleSize >= alone.Run.SampleSize || p.Event().Count != 5*p.Run.Rounds {
		t.Fatalf("%+v; of one client %+v", p.Run, alone.Run)
	}
	f, err := rdp.NewFilter(p.Filter.Limits)
	if err != nil {
		t.Fatal(err)
	}
	client := p.Event()
	client.Count = p.Run.Rounds
	for _, e := range []dp.Event{past[0], client, client, client, client, client} { // one after another
		if err := f.Spend(t.Context(), []dp.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := f.Remaining(t.Context(), client); err != nil || left > 5*p.Run.Rounds/20 {
		t.Errorf("%d rounds are left, %v", left, err)
	}
}

// Several parts of a training are planned, each after the rounds that really ran before; some were ended
// early by results. All of them stay within the filter that was recorded before the first, whatever was
// asked.
func TestLegsStayWithinTheRecordedFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 3))
	legs, none := 0, 0
	sweeps := testkit.Sweeps(t)
	for range 12 * sweeps {
		first := solve(t, Request{N: 10000, Delta: 1e-4, Epochs: 1 + r.Float64(), SampleSize: 20 + r.IntN(50),
			Sigma: logUniform(r, 3, 10), Method: RDP})
		h, err := first.History(t.Context(), first.Epsilon*logUniform(r, 1.5, 4))
		if err != nil {
			t.Fatal(err)
		}
		f, err := rdp.NewFilter(*h.Filter)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			run := &h.Events[len(h.Events)-1]
			if r.IntN(2) == 0 {
				run.Count = 1 + r.IntN(run.Count)
			}
			if err := f.Spend(t.Context(), []dp.Event{*run}); err != nil {
				t.Fatalf("%+v: %v", h, err)
			}
			p := replan(t, NextRequest{Recorded: h.Filter, Past: h.Events, Epochs: logUniform(r, 0.05, 3),
				Sigma: logUniform(r, 2, 10)}, rdp.Accountant{})
			if !p.Feasible {
				none++
				break
			}
			legs++
			if p.TargetEpsilon != h.Filter.Epsilon || !p.Filter.Recorded || p.Bound.EpsilonUpper != h.Filter.Epsilon ||
				!strings.Contains(p.Statement(), "are those recorded before the first release") {
				t.Fatalf("%+v: %s", p, p.Statement())
			}
			var file bytes.Buffer
			if err := p.History().WriteJSON(&file); err != nil {
				t.Fatal(err)
			}
			back, err := ReadHistory(&file, dp.FixedSize, "")
			if err != nil || !slices.Equal(back.Events, append(slices.Clone(h.Events), p.Event())) ||
				back.Filter.Epsilon != h.Filter.Epsilon || !slices.Equal(back.Filter.Orders, h.Filter.Orders) {
				t.Fatalf("%+v, %+v: %v", back, h, err)
			}
			h = back
		}
	}
	if legs < 20*sweeps || none < 2*sweeps {
		t.Errorf("%d legs, %d times none", legs, none)
	}
}

func TestReplanRefusesToChangeAFilter(t *testing.T) {
	good := NextRequest{Past: []dp.Event{leg(100, 10000, 500, 8)}, Epochs: 2,
		Recorded: &rdp.Limits{Epsilon: 0.5, Delta: 1e-5, Orders: []float64{30}}}
	if p := replan(t, good, rdp.Accountant{}); p.Delta != 1e-5 || p.TargetEpsilon != 0.5 || !p.Filter.Recorded {
		t.Errorf("%+v", p)
	}
	late := good // the filter was written down after the first release
	late.Late = true
	if p := replan(t, late, rdp.Accountant{}); p.Filter.Recorded || !p.History().Late {
		t.Errorf("%+v", p.Filter)
	}
	spent := *good.Recorded // a little less than the past rounds use
	need, err := spent.Needs(t.Context(), good.Past)
	if spent.Epsilon = 0.99 * need; err != nil {
		t.Fatal(err)
	}
	over := good
	over.Recorded = &spent
	if p := replan(t, over, rdp.Accountant{}); p.Feasible || !strings.Contains(p.Reason, "already") || !(p.Filter.Past < 2) {
		t.Errorf("%v of the filter is used: %s", p.Filter.Past, p.Reason)
	}
	for _, tt := range []struct {
		set  func(*NextRequest)
		want string
	}{
		{func(r *NextRequest) { r.Epsilon = 0.6 }, "epsilon = 0.6, must be that of the filter, 0.5"},
		{func(r *NextRequest) { r.Delta = 1e-4 }, "delta = 0.0001, must be that of the filter, 1e-05"},
		{func(r *NextRequest) { r.Delta = 1e-6 }, "delta = 1e-06, must be that of the filter, 1e-05"},
		{func(r *NextRequest) { r.Epsilon = 0.4 }, "epsilon = 0.4, must be that of the filter, 0.5"},
		{func(r *NextRequest) { r.FixedBeforehand = true }, "must not be given as fixed beforehand"},
		{func(r *NextRequest) { r.Recorded = &rdp.Limits{Epsilon: 0.5, Delta: 1e-5} }, "0 orders"},
		{func(r *NextRequest) { r.Recorded = &rdp.Limits{Epsilon: 1e5, Delta: 1e-5, Orders: []float64{2}} },
			"epsilon of the filter = 100000, must be in [1e-08, 10000]"},
	} {
		r := good
		tt.set(&r)
		if p, err := Replan(t.Context(), r, rdp.Accountant{}); p != nil || err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("want %q, got %v", tt.want, err)
		}
	}
}

// The history of a plan has what is fixed before its first round. A budget below the need of the run is
// refused. Rounds under a filter are refused where fixed rounds are required.
func TestHistory(t *testing.T) {
	p := solve(t, Request{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, Epsilon: 0.05, Clients: 2, Shared: true})
	h, err := p.History(t.Context(), 0.2)
	if err != nil || h.Filter.Epsilon != 0.2 || h.Filter.Delta != p.Delta || !slices.Equal(h.Events, p.Events()) {
		t.Fatalf("%+v, %v", h, err)
	}
	order, err := rdp.PlannedOrder(t.Context(), 0.2, p.Delta, p.Events())
	if err != nil || !slices.Equal(h.Filter.Orders, []float64{order}) {
		t.Errorf("orders %v, want %v; %v", h.Filter.Orders, order, err)
	}
	if h, err := p.History(t.Context(), 0.2, 40, 60); err != nil || !slices.Equal(h.Filter.Orders, []float64{40, 60}) {
		t.Errorf("%+v, %v", h.Filter, err)
	}
	if _, err := p.History(t.Context(), 0.2, 40, 1); err == nil || !strings.Contains(err.Error(), "order = 1") {
		t.Error(err)
	}
	for budget, want := range map[float64]string{
		0: "budget = 0, must be in [1e-08, 10000]", 0.001: "budget = 0.001, must be at least the " +
			"ε = ",
	} {
		if _, err := p.History(t.Context(), budget); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, err = p.History(t.Context(), 0.01, 1000)
	little, ok := errors.AsType[*BudgetError](err)
	if !ok {
		t.Fatal(err)
	}
	for part, enough := range map[float64]bool{0.999: false, 1.001: true} {
		if _, err := p.History(t.Context(), part*little.Needs, 1000); (err == nil) != enough {
			t.Errorf("%v of the ε that the run needs: %v", part, err)
		}
	}
	infeasible := solve(t, Request{Method: ClosedForm, N: 50, Epochs: 5, Epsilon: 1e-3, Delta: 1e-5})
	if _, err := infeasible.History(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "the plan has no run") {
		t.Errorf("%+v: %v", infeasible.Run, err)
	}
	done, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	if _, err := p.History(done, 0.2); !errors.Is(err, errStop) {
		t.Error(err)
	}
	r := NextRequest{Past: h.Events, Delta: 1e-4, Epochs: 2, Epsilon: 1}
	if _, err := Replan(done, r, rdp.Accountant{}); !errors.Is(err, errStop) {
		t.Error(err)
	}

	var file bytes.Buffer
	if err := h.WriteJSON(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := fixedEvents(bytes.NewReader(file.Bytes()), dp.Poisson, ""); err == nil ||
		!strings.Contains(err.Error(), "a filter is recorded") {
		t.Error(err)
	}
	const events = `"events": [{"sigma": 8, "sample_rate": 0.01, "steps": 5}]}`
	for text, want := range map[string]string{
		`{"filter": {"epsilon": 1, "delta": 1, "orders": [0.5]}, ` + events: "filter: delta = 1, must be " +
			"in (0, 1)\norder = 0.5",
		`{"filter": {"epsilon": 1, "budget": 1}, ` + events:               `unknown field "budget"`,
		`{"filter": {"epsilon": 1, "epsilon": 2}, ` + events:              `"epsilon" occurs twice`,
		`{"filter": {"epsilon": 1, "delta": 0.1, "orders": [2]}}`:         "none, must be",
		`{"filter": {"epsilon": 1, "delta": 0.1, "orders": 2}, ` + events: "orders is a JSON number, must be an array",
	} {
		if h, err := ReadHistory(strings.NewReader(text), dp.Poisson, ""); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", text, h, err, want)
		}
	}
}
