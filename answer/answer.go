// Package answer takes a planning question and gives its answer, both as JSON: it is what
// the commands plan, account, calibrate and tradeoff, the planner page and its server
// have in common.
//
//	{"plan": {"n": 50000, "epochs": 10, "epsilon": 3, "delta": 1e-5, "tight": true}}
//
// is answered by [JSON] with {"plan": …}, the keys of proactivedp plan --json. Functions
// such as [Solve] are the same for programs in Go.
package answer

import (
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

// MaxQuestionBytes is how long a question may be.
const MaxQuestionBytes = 64 << 10

// Question is one question: exactly one of its fields is given.
type Question struct {
	Plan      *PlanQuestion      `json:"plan,omitempty"`
	Account   *AccountQuestion   `json:"account,omitempty"`
	Calibrate *CalibrateQuestion `json:"calibrate,omitempty"`
	Tradeoff  *TradeoffQuestion  `json:"tradeoff,omitempty"`
}

// Answer has the field of the question that was asked, or an error.
type Answer struct {
	Plan      *Plan        `json:"plan,omitempty"`
	Account   []Accounting `json:"account,omitempty"`
	Calibrate *Calibration `json:"calibrate,omitempty"`
	Tradeoff  *Curves      `json:"tradeoff,omitempty"`
	Error     *Problem     `json:"error,omitempty"`
}

// Why a question has no answer.
const (
	Wrong       = "wrong"       // the question is not one, or a field is outside its range
	NotCovered  = "not-covered" // no accountant has a proof for it
	Infeasible  = "infeasible"  // nothing meets the budget
	Unavailable = "unavailable" // what the answer needs, such as a data set, is not to be had
	Ended       = "ended"       // the time was up, or nobody waits
	Fault       = "fault"       // a fault of the program
)

// Problem is why there is no answer. As an error it is one that says its kind itself.
type Problem struct {
	Kind     string        `json:"kind"`               // one of the constants
	Problems []string      `json:"problems"`           // all at once, for people
	Remedies plan.Remedies `json:"remedies,omitempty"` // changes that give an answer, each for itself
}

// Error returns the problems, a line for each.
func (p *Problem) Error() string { return strings.Join(p.Problems, "\n") }

// JSON answers a question in JSON; it always returns an object. A key that no question
// has, or one given twice, is an error that the answer tells. So is a panic below, which
// ends nothing else.
func JSON(ctx context.Context, question []byte) []byte {
	text, err := json.Marshal(ask(ctx, question))
	if err != nil {
		text, _ = json.Marshal(Answer{Error: &Problem{Kind: Fault, Problems: []string{err.Error()}}})
	}
	return text
}

func ask(ctx context.Context, question []byte) Answer {
	a, err := recovered(func() (Answer, error) {
		var q Question
		if err := q.read(question); err != nil {
			return Answer{}, err
		}
		return q.answer(ctx)
	})
	if err != nil {
		return Answer{Error: NewProblem(ctx, err)}
	}
	return a
}

// recovered returns what f does, and a fault if it panics.
func recovered(f func() (Answer, error)) (a Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			a = Answer{Error: &Problem{Kind: Fault, Problems: []string{fmt.Sprintf("a fault of this program: %v",
				cause)}}}
			err = nil
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
		return fmt.Errorf("%d questions, must be one of plan, account, calibrate, tradeoff", asked)
	}
	return nil
}

// complete sets what a question in JSON omits to its documented default: Poisson sampling, and the
// adjacency that goes with the sampling. The answer names both. A program in Go must name them
// itself.
func (q *Question) complete() {
	fill := func(events []dp.Event) {
		for i, e := range events {
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

// countEvents bounds the work of a question in JSON.
func countEvents(events []dp.Event) error {
	if len(events) < 1 || len(events) > MostEvents {
		return fmt.Errorf("%d events, must be from 1 to %d", len(events), MostEvents)
	}
	return nil
}

// NewProblem sorts an error: what of a question is wrong, or why it has no answer.
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

// oneLine returns what err says on one line, for a table or a JSON value.
func oneLine(err error) string { return message.OneLine(err) }
