package plan

import (
	"context"
	"errors"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/rdp"
)

// impatient is an accountant whose caller loses patience at one of its answers:
// the context is done before it is given.
type impatient struct {
	rdp.Accountant
	left   *int // answers until then; negative: those asked for after it
	cancel context.CancelCauseFunc
}

var errStop = errors.New("that is enough")

func (i impatient) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	if *i.left--; *i.left == 0 {
		i.cancel(errStop)
	}
	return i.Accountant.Epsilon(ctx, events, delta)
}

// The context is cancelled at each of the first eight questions to the accountant (or at least three, if
// there are fewer). Every planning function then returns the cause, after at most one more question.
func TestInterrupts(t *testing.T) {
	past := []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 20, SampleSize: 30,
		DatasetSize: 10000, Count: 100}}
	planned := solve(t, Request{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, Sigma: 19.3})
	for name, ask := range map[string]func(context.Context, dp.Accountant) error{
		"calibrate": func(ctx context.Context, acc dp.Accountant) error {
			_, err := Calibrate(ctx, natural(Target{Epsilon: 1, Delta: 1e-5, SampleRate: 0.01, Steps: 1000}), acc)
			return err
		},
		"infeasible": func(ctx context.Context, acc dp.Accountant) error {
			_, err := Calibrate(ctx, natural(Target{Epsilon: 1e-8, Delta: 1e-9, SampleRate: 0.9, Sigma: 0.1}), acc)
			return err
		},
		"tighten": func(ctx context.Context, acc dp.Accountant) error { p := *planned; return p.Tighten(ctx, acc) },
		"frontier": func(ctx context.Context, acc dp.Accountant) error {
			_, err := planned.Frontier(ctx, acc, 5)
			return err
		},
		"replan": func(ctx context.Context, acc dp.Accountant) error {
			_, err := Replan(ctx, NextRequest{FixedBeforehand: true, Past: past, Delta: 1e-4, Epochs: 2, Epsilon: 0.1}, acc)
			return err
		},
		"no next leg": func(ctx context.Context, acc dp.Accountant) error {
			_, err := Replan(ctx, NextRequest{FixedBeforehand: true, Past: past[:1], Delta: 1e-4, Epochs: 200, Epsilon: 0.05,
				Sigma: 1}, acc)
			return err
		},
	} {
		for patience := range 8 {
			ctx, cancel := context.WithCancelCause(t.Context())
			left := patience + 1
			err := ask(ctx, impatient{left: &left, cancel: cancel})
			if left > 0 && patience > 2 { // it was done before
				continue
			}
			if err != errStop {
				t.Errorf("%s: stopped at question %d: %v", name, patience+1, err)
			}
			if left < -1 {
				t.Errorf("%s: %d questions after it was stopped", name, -left)
			}
			cancel(nil)
		}
	}
	for _, r := range []Request{
		{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, Sigma: 19.3},
		{N: 10000, Delta: 1e-4, Epochs: 5, SampleSize: 30, Epsilon: 1, Method: RDP},
		{N: 10000, Delta: 1e-4, Rounds: 50, SampleSize: 30, Sigma: 2, Method: PLD},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errStop)
		if p, err := Solve(ctx, r); err != errStop || p != nil {
			t.Errorf("%+v: %v, %v", r, p, err)
		}
	}
}
