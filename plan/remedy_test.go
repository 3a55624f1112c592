package plan

import (
	"errors"
	"strings"
	"testing"

	"proactivedp/dp/rdp"
)

// with returns the request with the change of a remedy made.
func (r Request) with(t *testing.T, change Remedy) Request {
	t.Helper()
	r.Method = change.Method
	switch change.Change {
	case "sigma":
		r.Sigma = change.To
	case "epsilon":
		r.Epsilon = change.To
	case "epochs":
		r.Epochs = change.To
	case "rounds":
		r.Rounds = int(change.To)
	case "sample_size":
		r.SampleSize = int(change.To)
	case "method":
	default:
		t.Errorf("a remedy changes %q", change.Change)
	}
	return r
}

// Each remedy that names a field makes the plan feasible if only this field is changed as it says, with
// the method that it names. The reason lists all remedies.
func TestRemediesMakePlansFeasible(t *testing.T) {
	changes := map[string]int{}
	for _, r := range []Request{
		{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, Epsilon: 1e-5},
		{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, Sigma: 9e4},
		{N: 10000, Delta: 1e-4, Epochs: 5, Epsilon: 1e-5, Method: PLD},
		{N: 1000, Delta: 1e-3, Epochs: 40, Epsilon: 0.01, Sigma: 2, Method: PLD},
		{N: 1000, Delta: 1e-3, SampleSize: 100, Rounds: 1000, Epsilon: 1e-7, Method: RDP},
		{N: 1000, Delta: 1e-3, SampleSize: 300, Sigma: 1, Epsilon: 0.1, Method: PLD},
		{Method: ClosedForm, N: 1000, Delta: 1e-3, SampleSize: 300, Rounds: 20, Sigma: 1.5},
		{N: 1000, Delta: 1e-3, Rounds: 10_000, Sigma: 1, Epsilon: 0.1, Method: RDP},
		{Method: ClosedForm, N: 60000, Delta: 1. / 60000, SampleSize: 256, Epochs: 60, Sigma: 2},
		{Method: ClosedForm, N: 60000, Delta: 1. / 60000, SampleSize: 6000, Epochs: 60, Epsilon: 0.01},
		{N: 60000, Delta: 1. / 60000, Rounds: 100, Epochs: 60, Epsilon: 1e-6, Method: RDP},
		{Method: ClosedForm, N: 60000, Delta: 1. / 60000, Epochs: 1e6, Epsilon: 0.001, Clients: 7, Shared: true},
		{Method: ClosedForm, N: 10007, Delta: 1. / 10007, Rounds: 333, Epochs: 5, Epsilon: 4e-5}, // for s = 1 alone
	} {
		p, err := Solve(t.Context(), r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		if p.Feasible {
			if len(p.Remedies) != 0 {
				t.Errorf("%+v: a feasible plan has remedies %+v", r, p.Remedies)
			}
			continue
		}
		for _, remedy := range p.Remedies {
			if remedy.Change == "" {
				continue
			}
			changes[remedy.Change]++
			again, err := Solve(t.Context(), r.with(t, remedy))
			if err != nil || !again.Feasible {
				t.Errorf("%+v: with %+v: %v, feasible %v: %s", r, remedy, err, err == nil && again.Feasible,
					again.Reason)
			}
		}
	}
	for _, change := range []string{"sigma", "epsilon", "epochs", "rounds", "sample_size", "method"} {
		if changes[change] == 0 {
			t.Errorf("no remedy changes %s: %v", change, changes)
		}
	}
}

// The options in the text of a remedy can be typed unchanged, also if only one round is left, or if σ was
// given.
func TestRemediesCanBeTyped(t *testing.T) {
	if k := number(shortEpochs(8844, 333, 1)); epochsCount(k, 8844) != 333 {
		t.Errorf("k = %v leaves %d computations, must leave the round of 333", k, epochsCount(k, 8844))
	}
	if text := shortEpochs(8844, 333, 100); text != down(33300./8844, 6) {
		t.Errorf("k = %s, must be as short as it can", text)
	}
	r := Request{Method: ClosedForm, N: 1000, Delta: 1e-3, Epochs: 1, Sigma: 9e4}
	typed := after(t, solve(t, r).Reason, "that is σ = ")
	if r.Sigma = typed; !solve(t, r).Feasible {
		t.Errorf("σ = %v is not feasible, as it is said to be", typed)
	}
}

// A method that does not cover the release is never suggested.
func TestNoRemedyByAMethodThatDoesNotCover(t *testing.T) {
	for _, delta := range []float64{1e-99, 1e-101} {
		r := Request{Method: ClosedForm, N: 10000, SampleSize: 5000, Rounds: 100, Sigma: 10, Delta: delta}
		named := strings.Contains(solve(t, r).Reason, `or "pld"`)
		r.Method = PLD
		if p := solve(t, r); p.Feasible != named {
			t.Errorf("δ = %v: pld is named: %v, and feasible: %v", delta, named, p.Feasible)
		}
	}
}

// If θ is so large that not even a batch of one record is possible, no other change is suggested.
func TestNoRemedyForTooLargeATheta(t *testing.T) {
	for _, m := range []Method{ClosedForm, RDP} {
		for _, r := range []Request{
			{N: 4, Rounds: 5_000_000, Sigma: 1.6, Epsilon: 3, Delta: 1e-5, Theta: 77, Method: m},
			{N: 4, Epochs: 1000, Epsilon: 3, Delta: 1e-5, Theta: 77, Method: m},
		} {
			if p := solve(t, r); p.Feasible || len(p.Remedies) > 0 {
				t.Errorf("%+v: %q, remedies %+v", r, p.Reason, p.Remedies)
			}
		}
	}
}

// The remedies of a calibration name the field to change, and are exact to a relative 4e-3.
func TestRemediesMakeCalibrationsFeasible(t *testing.T) {
	target := natural(Target{Epsilon: 1e-3, Delta: 1e-9, Sigma: 0.5, SampleRate: 0.5})
	_, err := Calibrate(t.Context(), target, rdp.Accountant{})
	infeasible := new(Infeasible)
	if !errors.As(err, &infeasible) || len(infeasible.Remedies) != 2 {
		t.Fatalf("%v, want Infeasible with two remedies", err)
	}
	for _, remedy := range infeasible.Remedies {
		again := target.with(quantity(remedy.Change), remedy.To)
		again.Epsilon *= 1.004
		if _, err := Calibrate(t.Context(), again, rdp.Accountant{}); err != nil {
			t.Errorf("%+v: with %+v: %v", target, remedy, err)
		}
	}
}
