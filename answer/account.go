package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"proactivedp/dp"
	"proactivedp/dp/claim"
)

// AllAccountants is the name that stands for all of them.
const AllAccountants = "all"

// MostEvents is how many kinds of rounds a question in JSON may have.
const MostEvents = 500

// AccountQuestion asks what rounds cost: ε at a δ, or δ at an ε.
type AccountQuestion struct {
	Events     []dp.Event `json:"events"`               // JSON may omit sampling (then poisson) and adjacency (then its natural one)
	Delta      float64    `json:"delta,omitempty"`      // in (0, 1): gives ε
	Epsilon    *float64   `json:"epsilon,omitempty"`    // at least 0, in the place of delta: gives δ
	Accountant string     `json:"accountant,omitempty"` // one of AccountantNames, or "all", which "" is
	Accuracy   float64    `json:"accuracy,omitempty"`   // of the intervals of pld; 0: pld.DefaultAccuracy
	Notes      []string   `json:"-"`                    // what else is to be known of the events, see plan.History
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

// Validate reports every field outside its range.
func (q AccountQuestion) Validate() error {
	errs := []error{CheckAccuracy(q.Accuracy)}
	switch {
	case q.Epsilon == nil:
		errs = append(errs, dp.CheckDelta(q.Delta, 0))
	case q.Delta != 0:
		errs = append(errs, fmt.Errorf("delta = %v and epsilon = %v, only one may be given: the answer is the other",
			q.Delta, *q.Epsilon))
	default:
		errs = append(errs, dp.CheckNotNegative("epsilon", *q.Epsilon))
	}
	_, err := accountants(q.Accountant, q.Accuracy)
	return errors.Join(append(errs, err, checkEvents(q.Events))...)
}

// checkEvents reports every event that is not valid.
func checkEvents(events []dp.Event) error {
	var errs []error
	for i, e := range events {
		if err := e.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("event %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// Account answers an AccountQuestion: one answer of every accountant. If none covers the rounds that
// is the error, which wraps dp.ErrNotCovered.
func Account(ctx context.Context, q AccountQuestion) ([]Accounting, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	accs, err := accountants(q.Accountant, q.Accuracy)
	if err != nil {
		return nil, err
	}
	for i, e := range q.Events {
		if _, err := e.Scheme(); err != nil { // which all of them would say
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	all := make([]Accounting, len(accs))
	var uncovered []error
	for i, acc := range accs {
		start := time.Now()
		var b dp.Bound
		if q.Epsilon != nil {
			b, err = acc.Delta(ctx, q.Events, *q.Epsilon)
		} else {
			b, err = acc.Epsilon(ctx, q.Events, q.Delta)
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		all[i] = q.accounting(acc, b, err)
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

// accounting is what an accountant says: b, or err.
func (q AccountQuestion) accounting(acc dp.Accountant, b dp.Bound, err error) Accounting {
	a := Accounting{Notes: q.Notes}
	if err == nil {
		a.Statement = claim.Noted("Privacy. "+claim.Statement(claim.PerRecord, b, q.Events...), q.Notes)
		a.Odds = odds(b)
	} else {
		none := math.NaN()
		a.Reason, b = oneLine(err), dp.Bound{
			EpsilonLower: none, Epsilon: none, EpsilonUpper: none, DeltaLower: none, Delta: none, DeltaUpper: none,
			Accountant: acc.Name(),
		}
		if len(q.Events) > 0 {
			b.Adjacency, b.Sampling = q.Events[0].Adjacency, q.Events[0].Sampling
		}
	}
	a.Bound, a.BoundJSON = b, b.JSON()
	return a
}
