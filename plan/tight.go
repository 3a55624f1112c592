package plan

import (
	"context"

	"proactivedp/dp"
	"proactivedp/internal/message"
)

// Tight is the result of [Plan.Tighten]: the ε of a plan by the accountant given to Tighten (usually pld.Accountant),
// the larger batch size (with the plan's noise) and the smaller noise (with the plan's batch size) with which this
// accountant would still meet the budget. It has them for add-or-remove and for replace-one adjacency.
type Tight struct {
	Accountant  string  `json:"accountant"`
	AddOrRemove Allowed `json:"add_or_remove"`
	ReplaceOne  Allowed `json:"replace_one"`
}

// Allowed has what a second accountant, the one given to [Plan.Tighten], says about a plan under one adjacency. Usually
// it is tighter than the method by which the plan was made. Allowed has the ε of the plan's run, and two other runs that
// also meet the budget, one with a larger batch size and one with less noise. A field is nil if there is no such run or
// no answer. Reason says why the accountant gives no answer.
type Allowed struct {
	Reason string `json:"reason,omitempty"`
	// Run bounds the ε of the plan's run, for all rounds that use one record.
	Run *dp.Bound `json:"run,omitempty"`
	// LargestSample is a run with the plan's σ and epochs, and with the largest batch size s that the search found
	// within the budget. It has ⌈K/s⌉ rounds, the fewest that compute the K gradients of the plan (epochs times
	// records). The search is not complete: a few sizes above s may also be within the budget, and a few below s may
	// not, because whole rounds rarely compute exactly K gradients.
	LargestSample *Setting `json:"largest_sample,omitempty"`
	// LeastNoise is the plan's run with less noise: with the least σ that the accountant allows within the budget.
	LeastNoise *Setting `json:"least_noise,omitempty"`
}

// Setting is one of the other runs in an [Allowed]: like the plan's run, but with another batch size or another noise
// multiplier. By the accountant given to [Plan.Tighten], the ε of this run is in [EpsilonLower, EpsilonUpper], and
// EpsilonUpper is within the plan's budget.
type Setting struct {
	Sigma        float64 `json:"sigma"`
	SampleSize   int     `json:"sample_size"` // batch size; the mean batch size if batch sizes vary (see [Plan])
	Rounds       int     `json:"rounds"`      // number of rounds of each client
	EpsilonLower float64 `json:"epsilon_lower"`
	EpsilonUpper float64 `json:"epsilon_upper"`
}

// Tighten computes the ε of the plan by the accountant acc, usually pld.Accountant, under add-or-remove and under
// replace-one adjacency. It also finds the batch size and the noise that acc would allow for the plan's budget,
// records and epochs. Use it to see by how much a plan by the paper's theorem overestimates ε. The result is stored
// in p.Tight. If batch sizes vary (θ > 1), every round counts as if it had the largest size.
//
// Tighten does nothing if there is nothing to account for: no ε, no σ, or less than one gradient computation. It also
// does nothing for random allocation and for plans that protect a person (Group). Their ε is already by the accountant
// pld, which covers them only under add-or-remove adjacency, so Tighten would have nothing to add.
func (p *Plan) Tighten(ctx context.Context, acc dp.Accountant) error {
	if err := p.made(); err != nil {
		return err
	}
	if p.Epsilon == 0 || p.Sigma == 0 || isTooLittle(p.Epochs, p.N) || p.hasLowerEnd() {
		return nil
	}
	t := Tight{Accountant: acc.Name()}
	var err error
	if t.AddOrRemove, err = p.allowed(ctx, acc, dp.AddOrRemove); err == nil {
		t.ReplaceOne, err = p.allowed(ctx, acc, dp.ReplaceOne)
	}
	if err := ended(ctx, err); err != nil {
		return err
	}
	p.Tight = &t
	return nil
}

func (p *Plan) allowed(ctx context.Context, acc dp.Accountant, a dp.Adjacency) (Allowed, error) {
	c := p.under(ctx, acc, a)
	var allowed Allowed
	setting := func(s stop, sigma float64, size, rounds int) *Setting {
		if s.err != nil {
			allowed.Reason = message.OneLine(s.err)
		}
		if !s.met {
			return nil
		}
		return &Setting{sigma, size, rounds, s.bound.EpsilonLower, s.bound.EpsilonUpper}
	}
	k := epochsCount(p.Epochs, p.N)
	s, err := c.sizeFor(ctx, p.Sigma, k)
	if err != nil {
		return allowed, err
	}
	size := int(s.value)
	allowed.LargestSample = setting(s, p.Sigma, size, roundsOf(k, size))
	if p.Run == nil {
		return allowed, nil
	}
	b, err := c.price(p.Sigma, p.Run.SampleSize, p.Run.Rounds)
	if err != nil {
		allowed.Reason = message.OneLine(err)
		return allowed, nil
	}
	allowed.Run = &b
	if s, err = c.noise(ctx, p.Run.SampleSize, p.Run.Rounds); err != nil {
		return allowed, err
	}
	allowed.LeastNoise = setting(s, s.value, p.Run.SampleSize, p.Run.Rounds)
	return allowed, nil
}

// under returns a calculator for the plan's budget with accountant acc and adjacency a.
func (p *Plan) under(ctx context.Context, acc dp.Accountant, a dp.Adjacency) calculator {
	other := *p
	other.Adjacency, other.Method = a, Method(acc.Name())
	return newCalculator(&other, other.priceBy(ctx, other.searching(acc), p.copies()), p.budget())
}
