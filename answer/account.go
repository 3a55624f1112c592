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
	"proactivedp/internal/message"
)

// AllAccountants is a value of AccountQuestion.Accountant: all accountants answer the question, so that their ε can
// be compared.
const AllAccountants = "all"

// MostEvents is the largest number of events in a question that is given as JSON. One event describes any number of
// rounds with equal settings, see [dp.Event].
const MostEvents = 500

// AccountQuestion asks what rounds cost a record in privacy: ε at a given δ, or δ at a given ε. [Account] answers it.
type AccountQuestion struct {
	// Events are the rounds. In JSON, the sampling may be left out (then poisson), and the adjacency (then that of
	// dp.NaturalAdjacency, for example add-or-remove for poisson).
	Events []dp.Event `json:"events"`
	// File is the text of a file of rounds, as ReadRounds reads it; give it instead of Events.
	File       string   `json:"file,omitempty"`
	Delta      float64  `json:"delta,omitempty"`      // δ in (0, 1) at which ε is asked
	Epsilon    *float64 `json:"epsilon,omitempty"`    // ε at which δ is asked, at least 0; give it instead of Delta
	Accountant string   `json:"accountant,omitempty"` // one of AccountantNames; AllAccountants or "" means all of them
	// Accuracy is the relative width of the interval in which the accountant pld encloses ε (or δ), see MinAccuracy.
	// 0 means pld.DefaultAccuracy.
	Accuracy float64 `json:"accuracy,omitempty"`
	// Notes are warnings about the events, such as the Notes of a plan.History. The answer repeats them, and the
	// warnings in File too.
	Notes []string `json:"-"`
}

// Accounting is the answer of one accountant to an [AccountQuestion]: a bound, or the reason why it gives none. Odds
// says what the bound means for an attacker.
type Accounting struct {
	Bound        dp.Bound `json:"-"` // ε or δ as the accountant bounds it; if Reason says why there is none, the numbers are NaN
	dp.BoundJSON          // Bound in JSON
	Seconds      float64  `json:"seconds"` // how long the accountant took
	Reason       string   `json:"reason,omitempty"`
	Notes        []string `json:"notes,omitempty"`     // warnings about the rounds: the Notes of the question, and those in its File
	Statement    string   `json:"statement,omitempty"` // Bound and what it assumes, in words; "" if there is no bound
	Odds         *Odds    `json:"odds,omitempty"`
}

// UnmarshalJSON reads an Accounting from JSON. The numbers of Bound, which are keys of the same JSON object, go to
// the field Bound.
func (a *Accounting) UnmarshalJSON(text []byte) error {
	type plain Accounting
	if err := json.Unmarshal(text, (*plain)(a)); err != nil {
		return err
	}
	return json.Unmarshal(text, &a.Bound)
}

// Validate returns one error that lists every field outside its range.
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
	return errors.Join(append(errs, err, dp.CheckEvents(q.Events))...)
}

// read sets the events and the notes from the file, if there is one. Rounds that do not give their
// sampling are of Poisson samples.
func (q *AccountQuestion) read() error {
	if q.File == "" {
		return nil
	}
	if len(q.Events) > 0 {
		return errors.New("events and file, only one may be given")
	}
	h, err := ReadRounds([]byte(q.File), dp.Poisson, "")
	if err == nil {
		_, err = h.Fixed()
	}
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	q.File, q.Events, q.Notes = "", h.Events, append(q.Notes, h.Notes...)
	return nil
}

// Account answers an [AccountQuestion]. It returns one [Accounting] for each accountant that the question names. For
// an accountant that has no proof for such rounds, for example for their sampling, the Accounting has a Reason
// instead of a bound. If this is so for all of them, Account returns an error that wraps dp.ErrNotCovered.
func Account(ctx context.Context, q AccountQuestion) ([]Accounting, error) {
	if err := q.read(); err != nil {
		return nil, err
	}
	if err := q.Validate(); err != nil {
		return nil, err
	}
	accs, err := accountants(q.Accountant, q.Accuracy)
	if err != nil {
		return nil, err
	}
	for i, e := range q.Events {
		if e.Other != "" {
			continue // pld composes it
		}
		if _, err := e.Scheme(); err != nil { // every accountant would report the same error
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
	switch {
	case len(uncovered) < len(accs):
	case q.Accountant == "" && len(accs) > 1: // the first accountant covers most
		return nil, fmt.Errorf("no accountant covers these rounds: %w; accountant %q lists the reason of each",
			uncovered[0], AllAccountants)
	default:
		return nil, errors.Join(uncovered...)
	}
	return all, nil
}

func (q AccountQuestion) accounting(acc dp.Accountant, b dp.Bound, err error) Accounting {
	a := Accounting{Notes: q.Notes}
	if err == nil {
		a.Statement = claim.Noted("Privacy. "+claim.Statement(claim.UnitOf(q.Events...), b, q.Events...), q.Notes)
		a.Odds = odds(b)
	} else {
		none := math.NaN()
		a.Reason, b = message.OneLine(err), dp.Bound{
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
