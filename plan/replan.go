package plan

import (
	"context"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
)

// NextRequest asks for the next leg of a training of which some rounds were run
// already: Appendix "DP Calculator", the steps for j > 0.
type NextRequest struct {
	Past    []dp.Event // all rounds so far that use the record, of all clients, of one sampling and adjacency
	N       int        // records in the data set; if not given, those of the last event
	Epochs  float64    // k_j = K_j/N of the next leg, in [1e-6, 1e9]
	Sigma   float64    // its noise multiplier in [0.05, 1e6]; if not given, the least of σ_eq(ε, δ) and the past's
	Epsilon float64    // ε_target in [1e-8, 1e4], for the past and the next leg
	Delta   float64    // δ in [1e-300, 1); if not given, 1/N, for N ≥ 100

	// Clients is how many clients run the next leg, in [1, 1e6]; if not given, 1.
	// If the data is Shared, all of them hold each record, and a record pays
	// for the next legs of all. Past is not multiplied.
	Clients int
	Shared  bool
}

// Validate reports every field of r that is outside its range.
func (r NextRequest) Validate() error {
	errs := rangeErrors{}
	if len(r.Past) == 0 {
		errs.fail("no rounds that were run already, must be at least one event")
	}
	errs.add(checkEvents(r.Past))
	n := r.n()
	goodClients := errs.clients(r.Clients)
	switch {
	case n == 0:
		errs.fail("data set size N is missing, and the last event gives a rate")
	case n < 1 || int64(n) > maxCount:
		errs.fail("data set size N = %d, must be in [1, 2^53 = %d]", n, int64(maxCount))
	default:
		copies := holders(r.Clients, r.Shared)
		if errs.within("epochs k", r.Epochs, minEpochs, maxEpochs, "") && goodClients &&
			r.Epochs*float64(n)*float64(copies) > maxCount {
			errs.fail("epochs k = %v of N = %d, must be at most 2^53 gradient computations (of %d clients that hold "+
				"a record)", r.Epochs, n, copies)
		} else if count(r.Epochs*float64(n)) < 1 {
			errs.fail("epochs k = %v of N = %d, must be at least one gradient computation", r.Epochs, n)
		}
	}
	if r.Sigma != 0 {
		errs.within("sigma", r.Sigma, minSigma, maxSigma, "")
	}
	errs.within("epsilon", r.Epsilon, minEpsilon, maxEpsilon, "")
	errs.delta(r.Delta, n)
	return errs.join()
}

func (r NextRequest) n() int {
	if r.N == 0 && len(r.Past) > 0 {
		return r.Past[len(r.Past)-1].DatasetSize
	}
	return r.N
}

// Next is the plan of a next leg. Every ε is that of all rounds, past and next,
// of all clients that hold a record.
type Next struct {
	N             int     `json:"n"`
	Epochs        float64 `json:"epochs"` // k_j
	Sigma         float64 `json:"sigma"`  // σ_j
	TargetEpsilon float64 `json:"target_epsilon"`
	Delta         float64 `json:"delta"`

	Accountant string       `json:"accountant"`
	Adjacency  dp.Adjacency `json:"adjacency"`
	Sampling   dp.Sampling  `json:"sampling"`

	// Past is what the rounds run already cost by themselves; nil if the
	// accountant has no answer.
	Past *dp.Bound `json:"past,omitempty"`

	// Run is the next leg with the largest sample size within the target, and
	// Bound what all rounds cost with it. If there is none, Reason says why.
	Feasible bool      `json:"feasible"`
	Reason   string    `json:"reason,omitempty"`
	Run      *Run      `json:"run,omitempty"` // of one client
	Bound    *dp.Bound `json:"bound,omitempty"`
	Clients  int       `json:"clients"`
	Shared   bool      `json:"shared"`

	// Adaptive says that all rounds, past and next, are within a
	// [closedform.Budget] of ε_target and δ: with these two fixed before the
	// first release, ε_target holds also if legs were chosen, and the last one
	// is ended, by what was released.
	Adaptive bool `json:"adaptive"`

	// Choices are sizes over the whole range, in order, and Least the one of
	// them with the least ε; nil if none has an ε.
	Choices []Choice `json:"choices"`
	Least   *Choice  `json:"least,omitempty"`

	past []dp.Event
}

// Choice is a sample size of the next leg.
type Choice struct {
	SampleSize   int      `json:"sample_size"`   // s_j
	Rounds       int      `json:"rounds"`        // T_j = ⌊K_j/s_j⌋, of one client
	EpsilonUpper *float64 `json:"epsilon_upper"` // nil if the accountant has none
}

// choices is about how many sizes are looked at before the best is narrowed
// down.
const choices = 48

// Replan returns the next leg for r by acc. The whole range of sample sizes is
// looked at: by the closed form ε is not monotone in s_j, as θ²s̄ = s_max²/s̄
// grows where s_j is small beside the past's sizes. It takes the largest size
// within ε_target, that is the fewest rounds. That there is none is no error.
//
// The ε is that of a sequence of rates, noise and rounds fixed before the first
// release, although this leg comes after it: that it, or when to stop, is chosen
// by results that were released is not included, but where [Next.Adaptive] is
// set.
func Replan(ctx context.Context, r NextRequest, acc dp.Accountant) (*Next, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	last := r.Past[len(r.Past)-1]
	p := &Next{
		N: r.n(), Epochs: r.Epochs, Sigma: r.Sigma, TargetEpsilon: r.Epsilon, Delta: r.Delta,
		Accountant: acc.Name(), Adjacency: last.Adjacency, Sampling: last.Sampling, past: r.Past,
		Clients: max(r.Clients, 1), Shared: r.Shared,
	}
	if p.Delta == 0 {
		p.Delta = 1 / float64(p.N)
	}
	if p.Sigma == 0 {
		sigma, err := closedform.Sigma(p.TargetEpsilon, p.Delta)
		if err != nil {
			return nil, fmt.Errorf("plan: %w", err)
		}
		p.Sigma = roundUp(sigma)
		for _, e := range r.Past {
			p.Sigma = min(p.Sigma, e.NoiseMultiplier)
		}
	}
	if b, err := acc.Epsilon(ctx, p.past, p.Delta); err == nil {
		p.Past = &b
	}
	if err := ended(ctx, p.choose(ctx, acc)); err != nil {
		return nil, err
	}
	return p, nil
}

// Event returns what the next leg releases of a record, every client's rounds
// included; Run must not be nil.
func (p *Next) Event() dp.Event { return p.event(p.Sigma, p.Run.SampleSize, p.Run.Rounds) }

// release is all that was and is released of a record.
func (p *Next) release(next dp.Event) []dp.Event { return append(slices.Clone(p.past), next) }

// event is that of all clients that hold a record, of which each runs rounds.
func (p *Next) event(sigma float64, s, rounds int) dp.Event {
	return dp.Event{
		Sampling: p.Sampling, Adjacency: p.Adjacency, NoiseMultiplier: sigma,
		SampleSize: s, DatasetSize: p.N, Count: holders(p.Clients, p.Shared) * rounds,
	}
}

// isAdaptive reports whether all rounds are within one budget of ε_target and δ.
func (p *Next) isAdaptive() bool {
	b, err := closedform.NewBudget(p.N, p.TargetEpsilon, p.Delta)
	return err == nil && b.Spend("past and next", p.release(p.Event())) == nil
}

func (p *Next) choose(ctx context.Context, acc dp.Accountant) error {
	price := func(sigma float64, s, rounds int) (dp.Bound, error) {
		return acc.Epsilon(ctx, p.release(p.event(sigma, s, rounds)), p.Delta)
	}
	k := count(p.Epochs * float64(p.N))
	bySize := func(v float64) (dp.Bound, error) { return price(p.Sigma, int(v), k/int(v)) }
	sizes := p.sizes(min(p.N, k))
	best := stop{}
	beyond := 0 // the size that was looked at next after best
	var why error
	for _, s := range sizes {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		c := Choice{SampleSize: s, Rounds: k / s}
		b, err := bySize(float64(s))
		if err != nil {
			why = err
		} else if eps := b.EpsilonUpper; !math.IsInf(eps, 1) {
			c.EpsilonUpper = &eps
			if p.Least == nil || eps < *p.Least.EpsilonUpper {
				least := c
				p.Least = &least
			}
		}
		p.Choices = append(p.Choices, c)
		if c.EpsilonUpper != nil && *c.EpsilonUpper <= p.TargetEpsilon {
			best, beyond = stop{value: float64(s), bound: b, met: true}, 0
		} else if best.met && beyond == 0 {
			beyond = s
		}
	}
	if !best.met {
		p.Reason = p.refuse(ctx, price, why)
		return nil
	}
	if beyond > 0 {
		d := dial{price: bySize, safe: math.Floor, start: best.value, least: best.value, most: float64(beyond),
			slope: 1, tol: tolerance}
		s, err := d.turn(ctx, p.TargetEpsilon)
		if err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		best = s
	}
	s := int(best.value)
	p.Feasible, p.Bound = true, &best.bound
	p.Run = &Run{
		SampleSize: s, MaxSampleSize: s, Rounds: k / s, Computations: k / s * s,
		Remainder: k % s, SampleRate: float64(s) / float64(p.N),
	}
	p.Adaptive = p.isAdaptive()
	return nil
}

// sizes is a grid over the whole range, with the past's sizes, where the closed
// form's θ turns.
func (p *Next) sizes(most int) []int {
	grid := geometric(1, most, choices)
	for _, e := range p.past {
		if s := int(e.SampleRate() * float64(p.N)); s >= 1 && s <= most {
			grid = append(grid, s)
		}
	}
	slices.Sort(grid)
	return slices.Compact(grid)
}

// refuse says what the cheapest size costs, and what would be within the target.
func (p *Next) refuse(ctx context.Context, price pricing, why error) string {
	switch {
	case p.Least == nil && why != nil:
		return fmt.Sprintf("no sample size has an ε: %v", why)
	case p.Least == nil:
		return "no sample size has an ε that is certain"
	case p.Past != nil && p.Past.EpsilonUpper > p.TargetEpsilon:
		return fmt.Sprintf("the rounds run already cost ε = %s, above %s", up(p.Past.EpsilonUpper, 5),
			down(p.TargetEpsilon, 6))
	}
	s, rounds := p.Least.SampleSize, p.Least.Rounds
	e := Infeasible{Cost: fmt.Sprintf("the least ε over all sample sizes is %s, at s = %d, above %s",
		up(*p.Least.EpsilonUpper, 5), s, down(p.TargetEpsilon, 6))}
	noise := noiseDial(func(sigma float64) (dp.Bound, error) { return price(sigma, s, rounds) }, p.Sigma, roughly)
	if better, err := noise.turn(ctx, p.TargetEpsilon); err == nil && better.met && better.value > p.Sigma {
		e.Remedies = append(e.Remedies, "raise σ to "+up(better.value, digits))
	}
	fewer := dial{
		price: func(v float64) (dp.Bound, error) { return price(p.Sigma, s, int(v)) },
		safe:  math.Floor, start: float64(rounds) / 2, least: 1, most: float64(rounds), slope: 0.5, tol: roughly,
	}
	if better, err := fewer.turn(ctx, p.TargetEpsilon); err == nil && better.met {
		e.Remedies = append(e.Remedies, fmt.Sprintf("lower k to %s, %.0f rounds",
			down(better.value*float64(s)/float64(p.N), 6), better.value))
	}
	return e.Reason()
}
