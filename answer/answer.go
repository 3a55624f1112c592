// Package answer answers questions about privacy plans: which plan meets a budget ([Solve]), what rounds cost
// ([Account]), which noise a budget needs ([Calibrate]), and what an attacker can find out ([Compare]). The commands
// plan, account, calibrate and tradeoff, the planner page and its server all use it. A question can also be given as
// JSON, to [JSON].
//
//	{"plan": {"n": 50000, "epochs": 10, "epsilon": 3, "delta": 1e-5, "tight": true}}
//
// [JSON] answers this question with {"plan": …}, which has the keys of proactivedp plan --json. Go
// programs call functions such as [Solve] instead.
package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"proactivedp/dp"
	"proactivedp/internal/message"
	"proactivedp/internal/strictjson"
	"proactivedp/plan"
)

// MaxQuestionBytes is the largest size of a question in JSON, in bytes.
const MaxQuestionBytes = 256 << 10

// Question is one planning question as JSON, for the function [JSON]: for a plan, an accounting, a calibration or a
// trade-off curve. Exactly one of its fields is set.
type Question struct {
	Plan      *PlanQuestion      `json:"plan,omitempty"`
	Account   *AccountQuestion   `json:"account,omitempty"`
	Calibrate *CalibrateQuestion `json:"calibrate,omitempty"`
	Tradeoff  *TradeoffQuestion  `json:"tradeoff,omitempty"`
}

// Answer is what the function [JSON] returns for a [Question]. Exactly one field is set: the one with the same name
// as the question's, or Error.
type Answer struct {
	Plan      *Plan        `json:"plan,omitempty"`
	Account   []Accounting `json:"account,omitempty"`
	Calibrate *Calibration `json:"calibrate,omitempty"`
	Tradeoff  *Curves      `json:"tradeoff,omitempty"`
	Error     *Problem     `json:"error,omitempty"`
}

// These are the values of Problem.Kind: the kinds of reasons why a question has no answer.
const (
	Wrong       = "wrong"       // the question is malformed, or a field is outside its range
	NotCovered  = "not-covered" // no accountant has a proof for such rounds
	Infeasible  = "infeasible"  // no value of the number to be found meets the budget
	Unavailable = "unavailable" // something that the answer needs, such as a data set, is missing
	Ended       = "ended"       // the time limit has passed, or the caller has cancelled the question
	Fault       = "fault"       // a bug in this program
)

// Problem says why a question has no answer, in a form for JSON. It is also an error. [NewProblem] makes a Problem
// from another error.
type Problem struct {
	Kind     string   `json:"kind"`     // one of Wrong, NotCovered, Infeasible, Unavailable, Ended and Fault
	Problems []string `json:"problems"` // all problems that were found, as text
	// Remedies are changes to an Infeasible question, each of which makes it feasible by itself.
	Remedies plan.Remedies `json:"remedies,omitempty"`
}

// Error returns the problems, one on each line.
func (p *Problem) Error() string { return strings.Join(p.Problems, "\n") }

// JSON answers a [Question] that is given as JSON, with an [Answer] as JSON. The planner page calls it. It always
// returns a JSON object: for an unknown or repeated key, or after a panic in the computation, the object has an
// Error.
func JSON(ctx context.Context, question []byte) []byte {
	text, err := json.Marshal(ask(ctx, question))
	if err != nil {
		text, _ = json.Marshal(Answer{Error: &Problem{Kind: Fault, Problems: []string{err.Error()}}})
	}
	return text
}

func ask(ctx context.Context, question []byte) Answer {
	return recovered(func() (a Answer) {
		var q Question
		err := q.read(question)
		if err == nil {
			a, err = q.answer(ctx)
		}
		if err != nil {
			return Answer{Error: NewProblem(ctx, err)}
		}
		return a
	})
}

// recovered calls f and turns a panic into an answer.
func recovered(f func() Answer) (a Answer) {
	defer func() {
		if cause := recover(); cause != nil {
			a = Answer{Error: &Problem{Kind: Fault, Problems: []string{fmt.Sprintf("a fault of this program: %v", cause)}}}
		}
	}()
	return f()
}

func (q *Question) read(text []byte) error {
	if len(text) > MaxQuestionBytes {
		return fmt.Errorf("the question has %d bytes, must be at most %d", len(text), MaxQuestionBytes)
	}
	if err := strictjson.Decode(text, q); err != nil {
		return err
	}
	q.complete()
	asked := 0
	for _, is := range []bool{q.Plan != nil, q.Account != nil, q.Calibrate != nil, q.Tradeoff != nil} {
		if is {
			asked++
		}
	}
	if asked != 1 {
		return fmt.Errorf("%d questions, must be exactly one of plan, account, calibrate, tradeoff", asked)
	}
	return nil
}

// complete sets the fields that a question in JSON may omit to their defaults: Poisson sampling, or none for other
// releases, and the usual adjacency for the sampling. The answer names both. Go programs must set them.
func (q *Question) complete() {
	fill := func(events []dp.Event) {
		for i, e := range events {
			if e.Other != "" {
				usual := dp.AddOrRemove
				if e.Other == dp.RandomizedResponse {
					usual = dp.ReplaceOne // it has no other
				}
				e.Sampling, e.Adjacency = cmp.Or(e.Sampling, dp.Unsampled), cmp.Or(e.Adjacency, usual)
			}
			events[i] = plan.Complete(e, dp.Poisson, "")
		}
	}
	if q.Account != nil {
		fill(q.Account.Events)
	}
	if q.Tradeoff != nil {
		fill(q.Tradeoff.Events)
	}
	if q.Calibrate != nil {
		t := &q.Calibrate.Target
		e := plan.Complete(dp.Event{Sampling: t.Sampling, Adjacency: t.Adjacency}, dp.Poisson, "")
		t.Sampling, t.Adjacency = e.Sampling, e.Adjacency
	}
}

func (q Question) answer(ctx context.Context) (a Answer, err error) {
	switch {
	case q.Plan != nil:
		a.Plan, err = Solve(ctx, *q.Plan)
	case q.Account != nil:
		if err = q.Account.read(); err != nil {
			return a, err
		}
		if err = errors.Join(countEvents(q.Account.Events), q.Account.Validate()); err == nil {
			a.Account, err = Account(ctx, *q.Account)
		}
	case q.Calibrate != nil:
		a.Calibrate, err = Calibrate(ctx, *q.Calibrate)
	default:
		a.Tradeoff, err = q.Tradeoff.answer(ctx)
	}
	return a, err
}

// countEvents limits the work that one question in JSON can cause.
func countEvents(events []dp.Event) error {
	if len(events) < 1 || len(events) > MostEvents {
		return fmt.Errorf("%d events, must be from 1 to %d", len(events), MostEvents)
	}
	return nil
}

// NewProblem turns an error of this package into a [Problem], whose Kind a program can test. If ctx is cancelled, the
// Kind is Ended, whatever err is. Otherwise, if err is or wraps a Problem, NewProblem returns that Problem. For any
// other err, the Kind is Infeasible if err wraps a *plan.Infeasible, NotCovered if it wraps dp.ErrNotCovered, and
// otherwise Wrong.
func NewProblem(ctx context.Context, err error) *Problem {
	p := &Problem{Kind: Wrong, Problems: message.Lines(err)}
	switch infeasible, own := (*plan.Infeasible)(nil), (*Problem)(nil); {
	case context.Cause(ctx) != nil:
		p.Kind = Ended
	case errors.As(err, &own):
		return own
	case errors.As(err, &infeasible):
		p.Kind, p.Remedies = Infeasible, infeasible.Remedies
	case errors.Is(err, dp.ErrNotCovered):
		p.Kind = NotCovered
	}
	return p
}
