package propose

import (
	"context"
	"fmt"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
	"proactivedp/train"
)

// Steps finds only the noise, the clipping norm and the step sizes for a training whose batch size and number of
// gradients are fixed by r.Base. It returns r.Base with the least noise multiplier that meets r.Epsilon, and with the
// clipping norm and step sizes for which proxies (cheaper trainings) predict the best accuracy. The batch size
// of r.Base must be the same in all rounds. r.Rounds, TargetAccuracy and Count are ignored.
//
// The proxies have almost no noise, so they must not use private records. Set o.Probing to [Own] if the data are
// public, or to [Other] if o.Probe has other data; [Private] is an error. If no noise multiplier meets r.Epsilon, the
// error is an [*Infeasible].
func Steps(ctx context.Context, r Request, o Options) (train.Spec, error) {
	none := train.Spec{}
	if r.Epsilon == 0 {
		return none, fmt.Errorf("epsilon = 0, must be in [%g, %g]", MinEpsilon, float64(MaxEpsilon))
	}
	r.Rounds, r.TargetAccuracy, r.Count = []int{max(r.Base.Clients, 1)}, 0, 1 // not used here
	if err := r.Validate(); err != nil {
		return none, err
	}
	if err := o.checkProbing(Own, Other); err != nil { // its proxies have almost no noise
		return none, err
	}
	sizes, err := dp.ParseSizes(r.Base.SampleSize)
	if err != nil {
		return none, err
	}
	run := dp.Cut(sizes, r.Base.GradComps)
	if run.Rounds < 1 || run.Max*run.Rounds != run.Computed {
		return none, fmt.Errorf("sample size = %q, must be constant and at most the gradient computations %d",
			r.Base.SampleSize, r.Base.GradComps)
	}
	s, err := newSearcher(r, o)
	if err != nil {
		return none, err
	}
	c, err := s.calibrate(ctx, plan.Target{
		Epsilon: r.Epsilon, SampleRate: float64(run.Max) / float64(s.records), Steps: run.Rounds * s.copies,
	})
	if err != nil {
		return none, err
	}
	if c == nil {
		return none, &Infeasible{Reason: fmt.Sprintf("no noise multiplier keeps %d rounds of %d records within ε = %s",
			run.Rounds*s.copies, run.Max, decimal.Exactly(r.Epsilon))}
	}
	e, given := s.effort(), outlay{size: run.Max, rounds: run.Rounds, sigma: c.Sigma}
	all := s.candidates(s.plain(), s.strides(), given)
	for _, rung := range []struct {
		seeds  int
		coarse float64
		keep   int
	}{{e.few, e.first, len(all) / 3}, {r.Seeds, e.middle, 3}, {r.Seeds, 1, 1}} {
		if all, err = s.rung(ctx, all, rung.seeds, rung.coarse, rung.keep); err != nil {
			return none, err
		}
	}
	return all[0].spec, nil
}
