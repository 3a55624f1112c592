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

// FilterUse is the part of the answer of [Replan] (a [Next]) about the Rényi filter, a privacy budget that limits all
// rounds that use a record, even if they are chosen from earlier results (see [rdp.Filter]): its limits, and how much
// of the budget the rounds use.
type FilterUse struct {
	rdp.Limits
	// Recorded says whether the filter's limits were written down before the first release; otherwise this is only
	// assumed.
	Recorded bool `json:"recorded"`

	// Past is the fraction of the filter's budget that the rounds of the past use. All is the fraction that they use
	// together with the planned next rounds; it is nil if no next rounds are possible. Above 1, the filter refuses
	// the rounds.
	Past float64  `json:"used_by_past"`
	All  *float64 `json:"used_by_all,omitempty"`
}

// ClosedFormBeside is the part of a [Next] with the ε of its rounds by the paper's Theorem simpleF (an upper bound,
// see package closedform), for comparison with the ε by which [Replan] plans. The theorem holds only for rounds that
// were fixed before the first release. A field is nil if the theorem gives no ε.
type ClosedFormBeside struct {
	Past *float64 `json:"past"` // ε of the past rounds by themselves
	All  *float64 `json:"all"`  // ε of the past and next rounds together
}

// costing returns the cost of all events of a record, by composition or in a filter.
type costing func(events []dp.Event) (dp.Bound, error)

// throughFilter sets p.Filter, and returns a function that computes the cost of events in that
// filter.
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

// setBeside completes p after a next leg was found. It sets the guarantee, and the costs of the
// same rounds by other ways of accounting.
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

// isInBudget reports whether all the events fit into one closedform.Budget of p's target ε and δ.
func (p *Next) isInBudget(all []dp.Event) bool {
	b, err := closedform.NewBudget(p.N, p.TargetEpsilon, p.Delta)
	return err == nil && b.Spend("past and next", all) == nil
}

// closedUpper returns the ε of Theorem simpleF for the events, or nil if the theorem gives none.
func closedUpper(ctx context.Context, events []dp.Event, delta float64) (*float64, error) {
	b, err := closedform.Accountant{}.Epsilon(ctx, events, delta)
	if err != nil || math.IsInf(b.EpsilonUpper, 1) {
		return nil, err
	}
	return &b.EpsilonUpper, nil
}

// pastIsTooMuch reports whether the past rounds exceed the target without the next leg.
func (p *Next) pastIsTooMuch() bool {
	if p.Filter != nil {
		return p.Filter.Past > 1
	}
	return p.Past != nil && p.Past.EpsilonUpper > p.TargetEpsilon
}

// alreadySpent returns text about the cost of the past rounds, with the tightest number first.
func (p *Next) alreadySpent() string {
	if p.Filter == nil {
		return fmt.Sprintf("the past rounds already cost ε = %s, above %s", up(p.Past.EpsilonUpper, 5),
			down(p.TargetEpsilon, 6))
	}
	part := fmt.Sprintf("%s of the filter of ε = %s at order %s", percent(p.Filter.Past),
		decimal.Exactly(p.TargetEpsilon), claim.Orders(p.Filter.Orders))
	if p.Past == nil || math.IsInf(p.Past.EpsilonUpper, 1) {
		return "the past rounds already use " + part
	}
	return fmt.Sprintf("the past rounds already cost ε = %s by %s if they were fixed beforehand, and %s if they "+
		"depended on results", up(p.Past.EpsilonUpper, 5), p.Past.Accountant, part)
}

// percent formats a fraction of a filter as a percentage, rounded up.
func percent(part float64) string { return up(100*part, 4) + " %" }

// History returns the past and the next rounds, together with the filter (the budget that limits all of them). Save
// it with [History.WriteJSON] before the next rounds run, because any rounds that are planned later must also count
// the next rounds. Call it only if p.Feasible is true: otherwise there are no next rounds, and it panics.
func (p *Next) History() History {
	h := History{Events: p.release(p.Event()), Notes: p.Notes}
	if p.Filter != nil {
		limits := p.Filter.Limits
		h.Filter, h.Late = &limits, !p.Filter.Recorded
	}
	return h
}

// History returns the planned rounds together with a Rényi filter: a privacy budget that limits these rounds and all
// rounds that are chosen later, from their results (see [rdp.Filter]). Save it with [History.WriteJSON] before the
// first round, so that it is on record that the budget was fixed beforehand. budget is the ε of the filter, in [1e-8,
// 1e4]; its δ is the δ of the plan. orders are its Rényi orders, at which it adds up the costs of rounds. If the list
// is empty, the filter has one order, [rdp.PlannedOrder]: with it the planned rounds can be repeated most often
// within the budget.
//
// History returns an error if the plan has no run. If the budget is too small for the run, the error is a
// [*BudgetError], which gives the least ε that is enough.
func (p *Plan) History(ctx context.Context, budget float64, orders ...float64) (History, error) {
	if err := p.made(); err != nil {
		return History{}, err
	}
	if p.Run == nil {
		return History{}, fmt.Errorf("no history, because the plan has no run: %s", p.Reason)
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

// BudgetError is the error of [Plan.History] if the budget for the filter (the ε that limits all rounds that use a
// record, see [rdp.Filter]) is too small for the planned run.
type BudgetError struct {
	Budget float64 // the ε that was given
	// Needs is the least ε that is enough: a filter with it, and with the δ and the Rényi orders of the filter that was
	// too small, lets the planned rounds through.
	Needs float64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("budget = %v, must be at least the ε = %s that the run needs of a filter", e.Budget,
		up(e.Needs, 5))
}
