package plan

import (
	"context"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/closedform"
	"proactivedp/dp/rdp"
	"proactivedp/internal/decimal"
)

// FilterUse is the filter that all rounds of a record go through, and how much of
// it they take.
type FilterUse struct {
	rdp.Limits
	Recorded bool `json:"recorded"` // if not, they are assumed to have been fixed before the first release

	// Past and All are the parts of it that the rounds run already use up, and with
	// the next leg, see [rdp.Limits.Used]. All is nil without a next leg.
	Past float64  `json:"used_by_past"`
	All  *float64 `json:"used_by_all,omitempty"`
}

// ClosedFormBeside is what Theorem simpleF says of rounds that are fixed
// beforehand; nil where it has no ε.
type ClosedFormBeside struct {
	Past *float64 `json:"past"` // of the rounds run already
	All  *float64 `json:"all"`  // with the next leg
}

// costing says what a release costs, by composition or in a filter.
type costing func(events []dp.Event) (dp.Bound, error)

// throughFilter fixes the filter and returns what it asks for.
func (p *Next) throughFilter(ctx context.Context, recorded *rdp.Limits, late bool) (costing, error) {
	p.Filter = &FilterUse{Recorded: recorded != nil && !late}
	if recorded != nil {
		p.Filter.Limits = *recorded
	} else {
		order, err := rdp.PlannedOrder(ctx, p.TargetEpsilon, p.Delta, p.past[:1])
		if err != nil {
			return nil, err
		}
		p.Filter.Limits = rdp.Limits{Epsilon: p.TargetEpsilon, Delta: p.Delta, Orders: []float64{order}}
	}
	limits := p.Filter.Limits
	cost := func(events []dp.Event) (dp.Bound, error) {
		eps, err := limits.Needs(ctx, events)
		if err != nil {
			return dp.Bound{}, err
		}
		return dp.Bound{
			Epsilon: eps, EpsilonUpper: eps, DeltaLower: p.Delta, Delta: p.Delta, DeltaUpper: p.Delta,
			Kind: dp.Upper, Accountant: rdp.FilterName, Adjacency: p.Adjacency, Sampling: p.Sampling,
		}, nil
	}
	var err error
	if p.Filter.Past, err = limits.Used(ctx, p.past); err != nil {
		return nil, err
	}
	return cost, nil
}

// setBeside completes a leg that was found: what is guaranteed of it, and what the
// other ways of accounting say.
func (p *Next) setBeside(ctx context.Context, compose costing) error {
	all := p.release(p.Event())
	p.ClosedForm.All, _ = closedUpper(ctx, all, p.Delta)
	if p.Filter == nil {
		p.Composed, p.Adaptive = p.Bound, p.isInBudget(all)
		return nil
	}
	if b, err := compose(all); err == nil {
		p.Composed = &b
	}
	f, err := rdp.NewFilter(p.Filter.Limits)
	if err != nil {
		return err
	}
	if err := f.Spend(ctx, all); err != nil {
		return err
	}
	guarantee, used := f.Guarantee(), f.Used()
	p.Bound, p.Adaptive, p.Filter.All = &guarantee, true, &used
	return nil
}

// isInBudget reports whether all rounds are within one closed-form budget of
// ε_target and δ.
func (p *Next) isInBudget(all []dp.Event) bool {
	b, err := closedform.NewBudget(p.N, p.TargetEpsilon, p.Delta)
	return err == nil && b.Spend("past and next", all) == nil
}

// closedUpper is the ε of Theorem simpleF, nil if it has none.
func closedUpper(ctx context.Context, events []dp.Event, delta float64) (*float64, error) {
	b, err := closedform.Accountant{}.Epsilon(ctx, events, delta)
	if err != nil || math.IsInf(b.EpsilonUpper, 1) {
		return nil, err
	}
	return &b.EpsilonUpper, nil
}

// pastIsTooMuch reports whether the rounds run already are beyond the target by
// themselves.
func (p *Next) pastIsTooMuch() bool {
	if p.Filter != nil {
		return p.Filter.Past > 1
	}
	return p.Past != nil && p.Past.EpsilonUpper > p.TargetEpsilon
}

// alreadySpent says what the rounds run already cost, the tight figure first.
func (p *Next) alreadySpent() string {
	if p.Filter == nil {
		return fmt.Sprintf("the rounds run already cost ε = %s, above %s", up(p.Past.EpsilonUpper, 5),
			down(p.TargetEpsilon, 6))
	}
	part := fmt.Sprintf("%s of the filter of ε = %s at order %s", percent(p.Filter.Past),
		decimal.Exactly(p.TargetEpsilon), claim.Orders(p.Filter.Orders))
	if p.Past == nil || math.IsInf(p.Past.EpsilonUpper, 1) {
		return "the rounds run already use " + part
	}
	return fmt.Sprintf("the rounds run already cost ε = %s by %s if they were fixed beforehand, and %s if they were "+
		"chosen by results", up(p.Past.EpsilonUpper, 5), p.Past.Accountant, part)
}

// percent shows a part of a filter, rounded up.
func percent(part float64) string { return up(100*part, 4) + " %" }

// History returns the past and the next leg, and the filter, to be written before
// the leg runs; Run must not be nil.
func (p *Next) History() History {
	h := History{Events: p.release(p.Event()), Notes: p.Notes}
	if p.Filter != nil {
		limits := p.Filter.Limits
		h.Filter, h.Late = &limits, !p.Filter.Recorded
	}
	return h
}

// History returns the rounds of p's run and a filter for them and for all that will
// be chosen after them, of budget ε in [1e-8, 1e4] and the plan's δ, to be written
// before the first round. Its orders, if none are given, are the [rdp.PlannedOrder] of
// the run. A budget that does not let the run through is an error; so is a plan
// without a run. What the run needs of a budget is in a [*BudgetError].
func (p *Plan) History(ctx context.Context, budget float64, orders ...float64) (History, error) {
	if err := p.made(); err != nil {
		return History{}, err
	}
	if p.Run == nil {
		return History{}, fmt.Errorf("no history: there is no run: %s", p.Reason)
	}
	if err := CheckBudget(budget); err != nil {
		return History{}, err
	}
	run := p.Events()
	if len(orders) == 0 {
		order, err := rdp.PlannedOrder(ctx, budget, p.Delta, run)
		if err != nil {
			return History{}, ended(ctx, err)
		}
		orders = []float64{order}
	}
	limits := rdp.Limits{Epsilon: budget, Delta: p.Delta, Orders: orders}
	need, err := limits.Needs(ctx, run)
	if err != nil {
		return History{}, ended(ctx, err)
	}
	if need > budget {
		return History{}, &BudgetError{Budget: budget, Needs: need}
	}
	return History{Filter: &limits, Events: run}, nil
}

// BudgetError reports a budget ε of a filter that does not let a run through.
type BudgetError struct {
	Budget float64
	Needs  float64 // the least ε that does, at the filter's orders
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("budget = %v, must be at least what the run needs of a filter, ε = %s", e.Budget,
		up(e.Needs, 5))
}
