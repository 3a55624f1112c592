package answer

import (
	"context"
	"errors"
	"fmt"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/plan"
	"proactivedp/plan/libraries"
)

// MaxPoints is the largest value of PlanQuestion.Points, the approximate number of rows of a table that is made on
// request (see plan.Plan.Frontier). Each row has a batch size and the least noise with which it meets the budget.
const MaxPoints = plan.MaxPoints

// PlanQuestion asks for a plan, by the fields of plan.Request, and on request for more information about it. [Solve]
// answers it.
type PlanQuestion struct {
	plan.Request
	// Sizes lists batch sizes to compare within the same budget, instead of SampleSize; see plan.Compare.
	Sizes []int `json:"sizes,omitempty"`
	// Tight asks for two additions to the plan. The field Tight of plan.Plan has the ε that the tightest accountant, pld,
	// proves for the plan, and the largest batch size and the least noise with which pld proves that the budget is met.
	// So it shows how much of the budget a plan by the paper's theorem (the method plan.ClosedForm) wastes. The field
	// Recommended has a batch size for which the noise is small compared with the gradients. A plan by the paper's
	// theorem has none, because its noise does not depend on the batch size. See plan.Plan.Tighten and
	// plan.Plan.Recommend.
	Tight bool `json:"tight,omitempty"`
	// Points is about the number of rows of a table with the least noise for several batch sizes (see
	// plan.Plan.Frontier), in [2, MaxPoints]. 0 means no table.
	Points int `json:"points,omitempty"`
	// Accuracy is the relative width of the interval in which the accountant pld encloses ε, see MinAccuracy. 0 means
	// pld.DefaultAccuracy.
	Accuracy float64 `json:"accuracy,omitempty"`
	// Code says whether to return also the commands of this program that run the plan, and code in the formats of
	// package libraries.
	Code bool `json:"code,omitempty"`
}

// Validate returns one error that lists every field outside its range.
func (q PlanQuestion) Validate() error {
	errs := []error{CheckAccuracy(q.Accuracy)}
	if q.Points != 0 {
		errs = append(errs, dp.CheckCount("points", q.Points, 2, MaxPoints))
	}
	if len(q.Sizes) > 0 {
		return errors.Join(append(errs, q.Request.ValidateSizes(q.Sizes))...)
	}
	return errors.Join(append(errs, q.Request.Validate())...)
}

// Plan is the answer to a [PlanQuestion]: a plan, its verdict (one sentence) and privacy statement, and the
// additional information that was asked for.
type Plan struct {
	*plan.Plan
	Batches    []plan.Batch     `json:"batches,omitempty"`         // least noise for each of PlanQuestion.Sizes
	Frontier   *plan.Frontier   `json:"frontier,omitempty"`        // table of batch sizes and least noise, see PlanQuestion.Points
	NoFrontier string           `json:"frontier_reason,omitempty"` // why Frontier is nil although a table was asked for
	Verdict    string           `json:"verdict"`
	Odds       *Odds            `json:"odds,omitempty"`
	Releases   []dp.Release     `json:"releases,omitempty"` // the planned rounds, in the form in which files store them
	Statement  string           `json:"statement"`
	Code       []libraries.Code `json:"code,omitempty"`
}

// Solve answers a [PlanQuestion]. If no settings meet the budget, Solve returns no error, and a plan in which
// Feasible is false and Reason says why.
func Solve(ctx context.Context, q PlanQuestion) (*Plan, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	var p *plan.Plan
	var batches []plan.Batch
	var err error
	if len(q.Sizes) > 0 {
		p, batches, err = plan.Compare(ctx, q.Request, q.Sizes)
	} else {
		p, err = plan.Solve(ctx, q.Request)
	}
	if err != nil {
		return nil, err
	}
	if len(batches) > 0 && p.Run != nil {
		q.SampleSize = p.Run.SampleSize
	}
	a := &Plan{Plan: p, Batches: batches, Releases: dp.Releases(p.Events()), Statement: p.Statement()}
	acc := pld.Accountant{Accuracy: q.Accuracy}
	if q.Tight {
		if err := errors.Join(p.Tighten(ctx, acc), p.Recommend(ctx)); err != nil {
			return nil, err
		}
	}
	a.Verdict, a.Odds = p.Verdict(), planOdds(p)
	if q.Points != 0 {
		if p.Epsilon == 0 || p.Epochs == 0 {
			a.NoFrontier = fmt.Sprintf("the plan has ε = %g and k = %g epochs, both must be above 0 for a "+
				"frontier", p.Epsilon, p.Epochs)
		} else if a.Frontier, err = p.Frontier(ctx, acc, q.Points); err != nil {
			return nil, err
		}
	}
	if q.Code {
		a.Code, err = q.code(p)
	}
	return a, err
}

// code returns the plan as commands, and its run in every format of package libraries that can express
// it.
func (q PlanQuestion) code(p *plan.Plan) ([]libraries.Code, error) {
	all := []libraries.Code{q.commands(p)}
	r, err := libraries.OfPlan(p)
	if errors.Is(err, dp.ErrNotCovered) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	formats, err := libraries.All(r)
	return append(all, formats...), err
}
