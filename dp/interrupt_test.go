package dp_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/gdp"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
)

var errStop = errors.New("that is enough")

// No accountant begins if its context is already cancelled. The error is the context's cause.
func TestAccountantsRefuseAContextThatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	events := []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 10, Rate: 0.01, Count: 100}}
	for _, a := range []dp.Accountant{
		pld.Accountant{}, rdp.Accountant{}, rdp.Accountant{Orders: []float64{2}}, gdp.Accountant{},
		closedform.Accountant{}, closedform.MomentAccountant{},
	} {
		if b, err := a.Epsilon(ctx, events, 1e-5); !errors.Is(err, errStop) || b != (dp.Bound{}) {
			t.Errorf("%s: ε: %+v, %v", a.Name(), b, err)
		}
		if b, err := a.Delta(ctx, events, 1); !errors.Is(err, errStop) || b != (dp.Bound{}) {
			t.Errorf("%s: δ: %+v, %v", a.Name(), b, err)
		}
		if _, err := a.Epsilon(t.Context(), events, 1e-5); err != nil {
			t.Errorf("%s: not covered: %v", a.Name(), err)
		}
	}
}

// For thousands of different rounds, accountants take some seconds. After its context is cancelled, each
// stops within a second, or within some on a busy machine.
func TestAccountantsStopSoon(t *testing.T) {
	var events []dp.Event
	for i := range 20_000 {
		x := float64(i)
		events = append(events, dp.Event{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 0.4 + 1e-4*x, Rate: 1e-4 +
				1e-8*x, Count: 1 + i%7,
		})
	}
	few := events[:500]
	for _, c := range []struct {
		acc    dp.Accountant
		events []dp.Event
	}{{pld.Accountant{Accuracy: 1e-6}, few}, {pld.Accountant{Accuracy: 1e-6}, events}, {rdp.Accountant{}, events}} {
		for name, ask := range map[string]func(context.Context) error{
			"ε": func(ctx context.Context) error { _, err := c.acc.Epsilon(ctx, c.events, 1e-6); return err },
			"δ": func(ctx context.Context) error { _, err := c.acc.Delta(ctx, c.events, 1); return err },
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := make(chan time.Time, 1)
			time.AfterFunc(100*time.Millisecond, func() { stopped <- time.Now(); cancel(errStop) })
			if err := ask(ctx); !errors.Is(err, errStop) {
				t.Errorf("%s, %s of %d events: %v, want it to be stopped", c.acc.Name(), name, len(c.events), err)
			} else if late := time.Since(<-stopped); late > 5*time.Second {
				t.Errorf("%s, %s of %d events: went on for %v", c.acc.Name(), name, len(c.events), late)
			}
		}
	}
}
