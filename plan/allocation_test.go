package plan

import (
	"errors"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
)

// A plan by allocation, or for a person, has the noise of a calibration for the same rounds, to the last digit, and
// costs no more than its budget by an accountant that sees its events alone.
func TestPlanHasTheNoiseOfACalibration(t *testing.T) {
	allocated := func(n, batches int, epochs, epsilon float64, redraw dp.Redraw) Request {
		return Request{N: n, Batches: batches, Epochs: epochs, Epsilon: epsilon, Delta: 1e-5, Sampling: dp.Allocation, Redraw: redraw}
	}
	sized := allocated(1000, 0, 2, 2, dp.EachEpoch)
	sized.SampleSize = 90 // ⌈1000/90⌉ = 12 batches
	timed := allocated(1000, 0, 3, 4, dp.EachEpoch)
	timed.Rounds = 24
	shared := allocated(1000, 10, 1, 3, dp.EachEpoch)
	shared.Clients, shared.Shared = 3, true
	for _, c := range []struct {
		r       Request
		batches int
		steps   int // of all clients that hold a record
	}{
		{allocated(1000, 7, 4, 2, dp.EachEpoch), 7, 28}, // ⌈1000/7⌉ = 143, of which ⌈1000/143⌉ = 7
		{allocated(10, 6, 2, 3, dp.EachEpoch), 6, 12},   // 6 is no ⌈10/s⌉
		{allocated(1000, 30, 0.5, 1, dp.EachEpoch), 30, 15},
		{allocated(1000, 20, 3, 8, dp.Once), 20, 60},
		{allocated(1000, 1, 5, 1, dp.EachEpoch), 1, 5},
		{sized, 12, 24},
		{timed, 8, 24},
		{shared, 10, 30},
		{Request{N: 1000, SampleSize: 50, Epochs: 2, Epsilon: 3, Delta: 1e-5, Group: 4}, 0, 40},
		{Request{N: 1000, SampleSize: 50, Epochs: 2, Epsilon: 3, Delta: 1e-5, Group: 4, Clients: 2, Shared: true}, 0, 80},
	} {
		p, err := Solve(t.Context(), c.r)
		if err != nil || !p.Feasible {
			t.Fatalf("%+v: %+v, %v", c.r, p, err)
		}
		target := Target{Epsilon: c.r.Epsilon, Delta: 1e-5, Steps: c.steps, Sampling: p.Sampling, Adjacency: p.Adjacency,
			Redraw: p.Redraw, Group: c.r.Group, SampleRate: p.Run.SampleRate}
		calibrated, err := Calibrate(t.Context(), target, pld.Accountant{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Sigma != calibrated.Sigma || p.PerRecord.EpsilonLower != calibrated.EpsilonLower {
			t.Errorf("%+v: σ = %v and ε from %v, a calibration has %v and %v", c.r, p.Sigma, p.PerRecord.EpsilonLower,
				calibrated.Sigma, calibrated.EpsilonLower)
		}
		if p.Theorem != nil { // it is for one record of a Poisson sample
			t.Errorf("%+v: by the theorem %+v", c.r, p.Theorem)
		}
		if err := p.Tighten(t.Context(), pld.Accountant{}); err != nil || p.Tight != nil {
			t.Errorf("%+v: %+v under other adjacencies, %v", c.r, p.Tight, err)
		}
		if p.Run.Batches != c.batches || p.Run.Rounds*p.copies() != c.steps {
			t.Errorf("%+v: %+v, want t = %d and %d steps", c.r, p.Run, c.batches, c.steps)
		}
		b, err := (pld.Accountant{UpperEnd: true}).Epsilon(t.Context(), p.Events(), p.Delta)
		if err != nil || b.EpsilonLower > c.r.Epsilon || b.EpsilonUpper > 1.002*c.r.Epsilon || p.Epsilon > c.r.Epsilon {
			t.Errorf("%+v: ε = %v, its events cost %+v, %v", c.r, p.Epsilon, b, err)
		}
		if says := p.Statement(); !strings.Contains(says, map[bool]string{true: "random allocation", false: "a person with up to"}[c.batches > 0]) {
			t.Errorf("%+v: %s", c.r, says)
		}
	}
}

// The other questions have an answer by allocation: ε of a run, the largest size, and the most rounds. One batch
// fewer, or one more round, would be over the budget.
func TestOtherQuestionsByAllocation(t *testing.T) {
	ask := Request{N: 1000, Epochs: 2, Sigma: 1.5, Epsilon: 2, Delta: 1e-5, Sampling: dp.Allocation, Redraw: dp.EachEpoch}
	cost := func(batches, rounds int) float64 {
		r := ask
		r.Epochs, r.Epsilon, r.Batches, r.Rounds = 0, 0, batches, rounds
		p, err := Solve(t.Context(), r)
		if err != nil || !p.Feasible {
			t.Fatalf("%+v: %+v, %v", r, p, err)
		}
		if p.Epochs != float64(rounds)/float64(batches) {
			t.Errorf("%d rounds of %d batches are %v epochs", rounds, batches, p.Epochs)
		}
		return p.Epsilon
	}
	if one, begun := cost(30, 30), cost(30, 31); begun <= one { // 30 batches of up to 34 records are more than 1,000
		t.Errorf("an epoch that has begun costs nothing: %v, %v", one, begun)
	}
	largest, err := Solve(t.Context(), ask)
	if err != nil || !largest.Feasible {
		t.Fatalf("%+v, %v", largest, err)
	}
	if b := largest.Run.Batches; b < 2 || largest.Run.Rounds != 2*b || largest.Run.SampleSize != sizeIn(1000, b) ||
		cost(b, 2*b) > 2 || cost(b-1, 2*(b-1)) <= 2 {
		t.Errorf("the largest size: %+v, ε = %v", largest.Run, largest.Epsilon)
	}
	longest := ask
	longest.Epochs, longest.Batches = 0, 20
	most, err := Solve(t.Context(), longest)
	if err != nil || !most.Feasible {
		t.Fatalf("%+v, %v", most, err)
	}
	if T := most.Run.Rounds; most.Epsilon > 2 || cost(20, T) > 2 || cost(20, T+1) <= 2 || T%20 != 0 || most.Epochs != float64(T)/20 {
		t.Errorf("the most rounds: %+v of %v epochs, ε = %v", most.Run, most.Epochs, most.Epsilon)
	}
	sigma := ask
	sigma.Sigma, sigma.SampleSize, sigma.Epsilon = 1, 500, 0.1
	sigma.Epochs = 0
	none, err := Solve(t.Context(), sigma)
	if err != nil || none.Feasible || len(none.Remedies) == 0 {
		t.Errorf("one round over the budget: %+v, %v", none, err)
	}
}

// A frontier and a comparison by allocation have the plan's own noise in its own row, and no column of Poisson
// sampling.
func TestFrontierByAllocation(t *testing.T) {
	r := Request{N: 1000, Epochs: 2, Epsilon: 4, Delta: 1e-5, Sampling: dp.Allocation, Redraw: dp.EachEpoch}
	p, rows, err := Compare(t.Context(), r, []int{300, 150})
	if err != nil {
		t.Fatal(err)
	}
	if rows[0].Batches != 4 || rows[1].Batches != 7 || *rows[0].Sigma <= *rows[1].Sigma || p.Theorem != nil {
		t.Errorf("%+v", rows)
	}
	f, err := p.Frontier(t.Context(), pld.Accountant{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, row := range f.Rows {
		if row.ClosedForm != nil || row.ReplaceOne != nil || row.AddOrRemove == nil {
			t.Errorf("%+v", row)
		} else if row.SampleSize == p.Run.SampleSize && *row.AddOrRemove == p.Sigma && row.Rounds == p.Run.Rounds {
			own++
		}
	}
	if own != 1 || f.Sampling != dp.Allocation {
		t.Errorf("%+v has %d rows of the plan", f, own)
	}
}

// What no proof covers is refused by name.
func TestRefusedDraws(t *testing.T) {
	base := Request{N: 1000, Epochs: 2, Epsilon: 2, Delta: 1e-5}
	for want, change := range map[string]func(r *Request){
		"redraw is missing":                   func(r *Request) { r.Redraw = "" },
		`redraw = "daily"`:                    func(r *Request) { r.Redraw = "daily" },
		`method = "rdp", must be "pld"`:       func(r *Request) { r.Method = RDP },
		`method = "closed-form", must be`:     func(r *Request) { r.Method = ClosedForm },
		"theta = 2, must be 1":                func(r *Request) { r.Theta = 2 },
		"under replace-one adjacency":         func(r *Request) { r.Adjacency = dp.ReplaceOne },
		"batches = 3 and sample size = 5":     func(r *Request) { r.Batches, r.SampleSize = 3, 5 },
		"batches = 1001, must be in [1, N":    func(r *Request) { r.Batches = 1001 },
		"batches = -1, must be in [1, N":      func(r *Request) { r.Batches = -1 },
		"group = 2 with allocation sampling":  func(r *Request) { r.Group = 2 },
		`sampling = "shuffle", must be`:       func(r *Request) { r.Sampling, r.Redraw = dp.Shuffle, "" },
		`sampling = "fixed", must be`:         func(r *Request) { r.Sampling, r.Redraw = dp.FixedSize, "" },
		`sampling = "bins", must be`:          func(r *Request) { r.Sampling = "bins" },
		`redraw = "epoch", must not be given`: func(r *Request) { r.Sampling = "" },
		"batches = 9, must not be given":      func(r *Request) { r.Sampling, r.Redraw, r.Batches = "", "", 9 },
		`must be "pld" with group = 3`:        func(r *Request) { r.Sampling, r.Redraw, r.Group, r.Method = "", "", 3, RDP },
		"theta = 2, must be 1 with group = 3": func(r *Request) { r.Sampling, r.Redraw, r.Group, r.Theta = "", "", 3, 2 },
		"clients = 2 that hold different":     func(r *Request) { r.Sampling, r.Redraw, r.Group, r.Clients = "", "", 3, 2 },
		"group = 1001, must be in [1, 1000]":  func(r *Request) { r.Sampling, r.Redraw, r.Group = "", "", 1001 },
		"group = 3 with poisson sampling under": func(r *Request) {
			r.Sampling, r.Redraw, r.Group, r.Adjacency = "", "", 3, dp.ReplaceOne
		},
	} {
		r := base
		r.Sampling, r.Redraw = dp.Allocation, dp.EachEpoch
		change(&r)
		if _, err := Solve(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	p, err := Solve(t.Context(), Request{N: 1000, Batches: 5, Epochs: 1, Sigma: 3, Delta: 1e-5, Sampling: dp.Allocation, Redraw: dp.EachEpoch})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.History(t.Context(), 2); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("a filter for allocation: %v", err)
	}
}
