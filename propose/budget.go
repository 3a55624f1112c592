package propose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
	"proactivedp/plan"
	"proactivedp/train"
)

// The noise multipliers that are tried with each number of rounds. If σ is above about 2, where
// sampling amplifies as much as it can, the value of a step only depends on s√T/σ. A smaller σ needs
// fewer gradients and gives less signal, and a larger σ needs more gradients for the same signal.
var triedNoise = []float64{1, 2, 4}

// enoughNoise is the noise multiplier above which the value of a step only depends on s√T/σ.
const enoughNoise = 2

// outlay is a way to spend a budget: sample size, rounds and noise multiplier.
type outlay struct {
	size, rounds int     // of each client
	sigma        float64 // the least that the budget allows
	kind         kind
}

// kind is a recipe for an outlay within any budget: a number of rounds and an approximate noise
// multiplier.
type kind struct {
	rounds int     // of each client
	noise  float64 // approximate noise multiplier
}

// kinds returns the kinds that are tried.
func (s *searcher) kinds() []kind {
	var all []kind
	for _, rounds := range s.Rounds {
		for _, noise := range triedNoise {
			all = append(all, kind{rounds / s.base.Clients, noise})
		}
	}
	slices.SortFunc(all, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.rounds, b.rounds), cmp.Compare(a.noise, b.noise))
	})
	return slices.Compact(all)
}

// budgeted is a kind and the budget for which its outlay was chosen.
type budgeted struct {
	epsilon float64
	kind    kind
}

// outlays returns the outlays of these kinds for ε, with the fewest gradients first. If no outlay
// exists, the error is an *Infeasible.
func (s *searcher) outlays(ctx context.Context, epsilon float64, kinds []kind) ([]outlay, error) {
	laid := make([]outlay, len(kinds))
	errs := make([]error, len(kinds))
	var wait sync.WaitGroup
	for i, k := range kinds {
		wait.Go(func() {
			key := budgeted{epsilon, k}
			if known, ok := s.laid.Load(key); ok {
				laid[i] = known.(outlay)
			} else if laid[i], errs[i] = s.layOut(ctx, epsilon, k); errs[i] == nil {
				s.laid.Store(key, laid[i])
			}
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	laid = slices.DeleteFunc(laid, func(l outlay) bool { return l.size == 0 })
	if len(laid) == 0 {
		return nil, s.tooPrivate(ctx, epsilon, 1, kinds...)
	}
	slices.SortStableFunc(laid, func(a, b outlay) int { return cmp.Compare(a.size*a.rounds, b.size*b.rounds) })
	return slices.CompactFunc(laid, func(a, b outlay) bool { return a.size == b.size && a.rounds == b.rounds }), nil
}

// layOut returns the outlay of a kind: the sample size for its approximate noise multiplier, and the
// least noise multiplier for that size. The size is 0 if ε does not even allow one record in a round.
func (s *searcher) layOut(ctx context.Context, epsilon float64, k kind) (outlay, error) {
	l := outlay{rounds: k.rounds, kind: k}
	if least, err := s.leastCost(ctx, k); err != nil || least > epsilon {
		return l, err
	}
	c, err := s.calibrate(ctx, plan.Target{Epsilon: epsilon, Sigma: k.noise, Steps: k.rounds * s.copies})
	if c == nil {
		return l, err
	}
	size := min(int(math.Round(c.SampleRate*float64(s.records))), s.records)
	if size < 1 {
		return l, nil
	}
	c, err = s.calibrate(ctx, plan.Target{
		Epsilon: epsilon, SampleRate: float64(size) / float64(s.records), Steps: k.rounds * s.copies,
	})
	if c == nil {
		return l, err
	}
	l.size, l.sigma = size, c.Sigma
	return l, nil
}

// layOutEnough is layOut for a noise multiplier of at least enoughNoise. The size is 0 if ε needs less
// noise even for samples of all records.
func (s *searcher) layOutEnough(ctx context.Context, epsilon float64, rounds int) (outlay, error) {
	l, err := s.layOut(ctx, epsilon, kind{rounds, enoughNoise})
	for err == nil && l.size > 0 && l.sigma < enoughNoise { // the size was rounded down
		if l.size == s.records {
			return outlay{}, nil
		}
		l.size++
		c, err := s.calibrate(ctx, plan.Target{
			Epsilon: epsilon, SampleRate: float64(l.size) / float64(s.records), Steps: rounds * s.copies,
		})
		if c == nil {
			return outlay{}, err
		}
		l.sigma = c.Sigma
	}
	return l, err
}

// calibrate solves for the unknown of the target with a certified accountant. It returns nil if nothing
// meets the target.
func (s *searcher) calibrate(ctx context.Context, t plan.Target) (*plan.Calibration, error) {
	t.Delta, t.Sampling, t.Adjacency, t.Group = s.delta, dp.Poisson, dp.AddOrRemove, s.group
	c, err := plan.Calibrate(ctx, t, pld.Accountant{})
	if _, infeasible := errors.AsType[*plan.Infeasible](err); infeasible {
		return nil, nil
	}
	return c, err
}

func (l outlay) of(spec train.Spec) train.Spec {
	spec.SampleSize, spec.GradComps, spec.NoiseMultiplier = strconv.Itoa(l.size), l.size*l.rounds, l.sigma
	return spec
}

// leastCost returns the certified ε of samples of one record. It does not depend on the budget, so
// it is computed once for all budgets of a frontier.
func (s *searcher) leastCost(ctx context.Context, k kind) (float64, error) {
	if cost, ok := s.least.Load(k); ok {
		return cost.(float64), nil
	}
	b, err := pld.Accountant{}.Epsilon(ctx, []dp.Event{{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: k.noise, Rate: 1 / float64(s.records),
		Count: k.rounds * s.copies, Group: s.group,
	}}, s.delta)
	if err == nil {
		s.least.Store(k, b.EpsilonUpper)
	}
	return b.EpsilonUpper, err
}

// tooPrivate returns the error for an ε that does not allow even one record in a round for any of the
// kinds. There must be at least one kind. part is the fraction of ε that they may spend, in (0, 1].
func (s *searcher) tooPrivate(ctx context.Context, epsilon, part float64, kinds ...kind) error {
	least, noise := math.Inf(1), 0.0
	for _, k := range kinds {
		cost, err := s.leastCost(ctx, k)
		if err != nil {
			return err
		}
		least, noise = min(least, cost), max(noise, k.noise)
	}
	spent := message.When(part < 1, ", where a trial of private probing may spend %s,", decimal.Down(epsilon*part, 3))
	allow := decimal.Up(least/part, 3)
	enough, _ := strconv.ParseFloat(allow, 64)
	return &Infeasible{
		Reason: fmt.Sprintf("within ε = %s%s no round can sample even one of the %d records of a client, at σ "+
			"about %g or less", decimal.Exactly(epsilon), spent, s.records, noise),
		Remedies: []string{"allow ε = " + allow}, Epsilon: enough,
	}
}
