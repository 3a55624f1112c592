package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
	"proactivedp/plan"
)

// AllAccountants is the name that stands for all of them.
const AllAccountants = "all"

// MostEvents is how many kinds of rounds a question may have.
const MostEvents = 500

// AccountQuestion asks what rounds cost: ε at a δ, or δ at an ε.
type AccountQuestion struct {
	Events     []dp.Event `json:"events"`               // JSON may omit sampling (then poisson) and adjacency (then its natural one)
	Delta      float64    `json:"delta,omitempty"`      // in (0, 1): gives ε
	Epsilon    *float64   `json:"epsilon,omitempty"`    // at least 0, in the place of delta: gives δ
	Accountant string     `json:"accountant,omitempty"` // one of AccountantNames, or "all", which "" is
	Accuracy   float64    `json:"accuracy,omitempty"`   // of the intervals of pld; 0: pld.DefaultAccuracy
}

// Accounting is what one accountant says: a bound, or the reason for none.
type Accounting struct {
	Bound dp.Bound `json:"-"` // NaN where there is none
	dp.BoundJSON
	Seconds   float64  `json:"seconds"`
	Reason    string   `json:"reason,omitempty"`
	Notes     []string `json:"notes,omitempty"` // see plan.History
	Statement string   `json:"statement,omitempty"`
	Odds      *Odds    `json:"odds,omitempty"`
}

// UnmarshalJSON reads the bound as well, which is written with the keys beside it.
func (a *Accounting) UnmarshalJSON(text []byte) error {
	type plain Accounting
	if err := json.Unmarshal(text, (*plain)(a)); err != nil {
		return err
	}
	return json.Unmarshal(text, &a.Bound)
}

// Account answers an AccountQuestion: one answer of every accountant.
func Account(ctx context.Context, q AccountQuestion) ([]Accounting, error) {
	accuracy := cmp.Or(q.Accuracy, pld.DefaultAccuracy)
	errs := []error{checkAccuracy(accuracy)}
	if q.Epsilon == nil {
		errs = append(errs, dp.CheckDelta(q.Delta, 0))
	} else if q.Delta != 0 {
		errs = append(errs, fmt.Errorf("delta = %v and epsilon = %v, only one may be given: the answer is "+
			"the other", q.Delta, *q.Epsilon))
	} else {
		errs = append(errs, dp.CheckNotNegative("epsilon", *q.Epsilon))
	}
	accs := Accountants(accuracy)
	if name := cmp.Or(q.Accountant, AllAccountants); name != AllAccountants {
		acc, err := accountant(name, accuracy)
		accs, errs = []dp.Accountant{acc}, append(errs, err)
	}
	events := q.Events
	err := checkEvents(events)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	put := func(acc dp.Accountant) (dp.Bound, error) { return acc.Epsilon(ctx, events, q.Delta) }
	if q.Epsilon != nil {
		put = func(acc dp.Accountant) (dp.Bound, error) { return acc.Delta(ctx, events, *q.Epsilon) }
	}
	return AccountBy(ctx, accs, plan.History{Events: events}, put)
}

// checkEvents reports every event that is not valid.
func checkEvents(events []dp.Event) error {
	if len(events) < 1 || len(events) > MostEvents {
		return fmt.Errorf("%d events, must be from 1 to %d", len(events), MostEvents)
	}
	var errs []error
	for i, e := range events {
		if err := e.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("event %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// AccountBy puts the question about the rounds to every accountant, of which there is at least
// one. If none covers them that is the error, which wraps dp.ErrNotCovered.
func AccountBy(
	ctx context.Context, accs []dp.Accountant, rounds plan.History, put func(dp.Accountant) (dp.Bound, error),
) ([]Accounting, error) {
	if len(accs) == 0 {
		return nil, errors.New("accountants are missing, must be at least one")
	}
	for i, e := range rounds.Events {
		if _, err := e.Scheme(); err != nil { // which all of them would say
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	all := make([]Accounting, len(accs))
	var uncovered []error
	for i, acc := range accs {
		start := time.Now()
		b, err := put(acc)
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		all[i] = newAccounting(acc, rounds, b, err)
		all[i].Seconds = time.Since(start).Seconds()
		if err != nil {
			uncovered = append(uncovered, fmt.Errorf("by %s: %w", acc.Name(), err))
		}
	}
	if len(uncovered) == len(accs) {
		return nil, errors.Join(uncovered...)
	}
	return all, nil
}

func newAccounting(acc dp.Accountant, rounds plan.History, b dp.Bound, err error) Accounting {
	a := Accounting{Notes: rounds.Notes}
	if err == nil {
		a.Statement = claim.Noted("Privacy. "+claim.Statement(claim.PerRecord, b, rounds.Events...), rounds.Notes)
		a.Odds = odds(b)
	} else {
		none := math.NaN()
		a.Reason, b = oneLine(err), dp.Bound{
			EpsilonLower: none, Epsilon: none, EpsilonUpper: none, DeltaLower: none, Delta: none, DeltaUpper: none,
			Accountant: acc.Name(),
		}
		if len(rounds.Events) > 0 {
			b.Adjacency, b.Sampling = rounds.Events[0].Adjacency, rounds.Events[0].Sampling
		}
	}
	a.Bound, a.BoundJSON = b, b.JSON()
	return a
}
