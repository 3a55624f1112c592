package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/closedform"
	"proactivedp/dp/rdp"
	"proactivedp/internal/message"
	"proactivedp/rng"
)

// NextRequest is the input of [Replan], which plans further rounds after rounds that already ran, as in the paper's
// appendix "DP Calculator". The rounds that ran are called past. A letter with the subscript j, such as k_j, belongs
// to the further rounds.
type NextRequest struct {
	// Past lists all earlier rounds that use the record, of all clients that hold it. They have one sampling and one
	// adjacency.
	Past   []dp.Event
	N      int     // number of records in the data set; 0 means that of the last event of Past
	Epochs float64 // number of epochs of the further rounds, k_j in [1e-6, 1e9]
	// Sigma is the noise multiplier of the further rounds, in [0.05, 1e6]. If it is 0, it becomes the least noise
	// multiplier of the paper's theorem for Epsilon and Delta, √(2(ε + ln(1/δ))/ε) (see closedform.Sigma), or the
	// least noise multiplier of Past if that is less.
	Sigma float64
	// Epsilon is the target ε for past and further rounds together, in [1e-8, 1e4]. If Recorded is given, leave
	// Epsilon 0: the ε of Recorded is the target.
	Epsilon float64
	// Delta is the δ for past and further rounds together, in [1e-300, 1). 0 means the δ of Recorded. Without
	// Recorded it means dp.DefaultDelta(N), which needs N ≥ 100 and the same N in all rounds.
	Delta float64

	// FixedBeforehand says that all rounds, past and further, and when to stop, were fixed before the first release.
	// Set it only if that is true: the ε of an ordinary accountant, which is then computed for all rounds, does not
	// hold otherwise. If it is false, all rounds of the record must pass one [rdp.Filter], a budget that also holds
	// if rounds are chosen from earlier results.
	FixedBeforehand bool

	// Recorded has the limits of the filter (the budget that limits all rounds), if they were written down before the
	// first release. If it is nil, Replan assumes that Epsilon and Delta were fixed at that time. The filter then has
	// one Rényi order, [rdp.PlannedOrder]: with it rounds like the first of Past can be repeated most often within
	// the budget. This is permitted, because the order does not depend on results: it could have been computed before the
	// first release.
	Recorded *rdp.Limits
	// Late says that Recorded was saved only after the first release. Its limits still apply, but reports say that it
	// is only an assumption that they were fixed before the first release.
	Late bool

	// Root is the public name of the seed or secret from which the noise of the further rounds is drawn, such as
	// "seed:1" (see [rng.Name]). If it is not given, it is the last numbered seed (a name of the form "seed:1", and
	// no secret) that an event in Past has. The further rounds are a new run of this root, with the number after its
	// last run in Past, so that they share no noise with the past.
	Root string

	// Notes are warnings about the rounds in Past, which reports repeat. If the rounds come from a file, they are
	// [History].Notes.
	Notes []string

	// Clients is the number of clients that run the further rounds, in [1, 1e6]; 0 means 1. If Shared is true, every
	// client holds every record, and a record pays for the further rounds of all clients. Past must always list the
	// rounds of all clients that hold the record.
	Clients int
	Shared  bool
}

// Validate returns one error that lists every field of r outside its range.
func (r NextRequest) Validate() error {
	errs := rangeErrors{}
	if len(r.Past) == 0 {
		errs.fail("there are no past rounds, must be at least one event")
	}
	errs.add(dp.CheckEvents(r.Past))
	for i, e := range r.Past {
		if e.Other != "" {
			errs.add(fmt.Errorf("event %d: mechanism %s, no further legs can be planned after it: the filter counts rounds of "+
				"training only: %w", i, e.Other, dp.ErrNotCovered))
			break
		}
		if scheme, _ := e.Scheme(); scheme == dp.AllocationAddOrRemove || scheme == dp.GroupAddOrRemove ||
			scheme == dp.TruncatedAddOrRemove {
			errs.add(fmt.Errorf("event %d: %v, no further legs can be planned after it: no filter has an upper bound of it: %w",
				i, scheme, dp.ErrNotCovered))
			break
		}
	}
	n := r.n()
	goodClients := errs.clients(r.Clients)
	if copies := holders(r.Clients, r.Shared); goodClients && copies > 1 && len(r.Past) > 0 && r.Past[len(r.Past)-1].Sampling.HasEpochs() {
		// Next has one event for all of them, which would count their unfinished epochs as fewer whole ones (dp.Times).
		errs.fail("clients = %d that hold every record, must be 1 with %s sampling: each client draws its own epochs, so their "+
			"rounds do not add up: %w", copies, r.Past[len(r.Past)-1].Sampling, dp.ErrNotCovered)
	}
	switch {
	case n == 0:
		errs.fail("data set size N is missing, must be given: the last event has a sample rate only")
	case n < 1 || int64(n) > maxCount:
		errs.fail("data set size N = %d, must be in [1, 2^53 = %d]", n, int64(maxCount))
	default:
		copies := holders(r.Clients, r.Shared)
		goodEpochs := errs.within("epochs k", r.Epochs, minEpochs, maxEpochs, "") && goodClients
		switch _, ok := count(r.Epochs * float64(n)); {
		case !goodEpochs:
		case !ok || r.Epochs*float64(n)*float64(copies) > maxCount:
			errs.fail("epochs k = %v of N = %d, must be at most 2^53 gradient computations (of %d clients that hold "+
				"a record)", r.Epochs, n, copies)
		case isTooLittle(r.Epochs, n):
			errs.fail("epochs k = %v of N = %d, must be at least one gradient computation", r.Epochs, n)
		}
	}
	if r.Sigma != 0 {
		errs.within("sigma", r.Sigma, minSigma, maxSigma, "")
	}
	if r.Recorded == nil {
		if r.Epsilon == 0 {
			errs.fail("epsilon is missing, must be given, in [%v, %v]: no filter is recorded", minEpsilon, maxEpsilon)
		} else {
			errs.within("epsilon", r.Epsilon, minEpsilon, maxEpsilon, "")
		}
		errs.delta(r.Delta, n)
		for _, e := range r.Past {
			if r.Delta == 0 && e.DatasetSize != 0 && e.DatasetSize != n {
				errs.fail("delta is missing, must be given: the default depends on N, %d now, after rounds "+
					"of N = %d", n, e.DatasetSize)
				break
			}
		}
	} else {
		r.validateRecorded(&errs)
	}
	_, shared := dp.Compose(r.Past)
	_, last := follower(r.Past, r.Root)
	errs.add(errors.Join(shared, checkRoot(r.Root), last))
	return errs.join()
}

func (r NextRequest) validateRecorded(errs *rangeErrors) {
	l := *r.Recorded
	errs.add(l.Validate())
	errs.within("epsilon of the filter", l.Epsilon, minEpsilon, maxEpsilon, "")
	if r.Epsilon != 0 && r.Epsilon != l.Epsilon {
		errs.fail("epsilon = %v, must be that of the filter, %v: it was fixed before the first release", r.Epsilon,
			l.Epsilon)
	}
	if r.Delta != 0 && r.Delta != l.Delta {
		errs.fail("delta = %v, must be that of the filter, %v: it was fixed before the first release", r.Delta, l.Delta)
	}
	if r.FixedBeforehand {
		errs.fail("a filter is recorded, so rounds may depend on results: they must not be given as fixed " +
			"beforehand")
	}
}

func (r NextRequest) n() int {
	if r.N == 0 && len(r.Past) > 0 {
		return r.Past[len(r.Past)-1].DatasetSize
	}
	return r.N
}

// Next is the answer of [Replan]: the plan for the next rounds of a training that already released rounds (the past).
// Every ε counts all rounds, past and next, of all clients that hold a record, unless the comment of the field says
// that it is about the past only. A letter with the subscript j, such as k_j, belongs to the next rounds.
//
// Use Replan to make a Next. The methods of any other Next return an error or, if they have no error
// result, may panic.
type Next struct {
	N             int     `json:"n"`              // number of records in the data set
	Epochs        float64 `json:"epochs"`         // number of epochs of the next rounds, k_j
	Sigma         float64 `json:"sigma"`          // noise multiplier of the next rounds, σ_j
	TargetEpsilon float64 `json:"target_epsilon"` // largest ε that past and next rounds together may cost a record
	Delta         float64 `json:"delta"`

	// Accountant names what counts the ε: [rdp.FilterName] for a filter (a budget that holds for rounds chosen from
	// results), or the accountant that was given to Replan if all rounds were fixed beforehand.
	Accountant string       `json:"accountant"`
	Adjacency  dp.Adjacency `json:"adjacency"`
	Sampling   dp.Sampling  `json:"sampling"`

	// Past is the ε that the past rounds would have without the next ones, by the accountant that was given to
	// Replan. It holds only if all rounds were fixed beforehand. It is nil if the accountant gives no answer.
	Past *dp.Bound `json:"past,omitempty"`

	// Noise names the seed or secret of the noise of the next rounds, and the number of their run, which differs from
	// the runs of the past. If Noise is empty, the noise of the next rounds is assumed to be independent of the past.
	Noise rng.Name `json:"noise,omitzero"`

	// FixedBeforehand repeats the field of [NextRequest]. If it is false, Filter is the filter that limits all
	// rounds, and how much of its budget is used; otherwise Filter is nil.
	FixedBeforehand bool       `json:"fixed_beforehand"`
	Filter          *FilterUse `json:"filter,omitempty"`

	// ClosedForm has the ε of the same rounds by the paper's Theorem simpleF, for comparison.
	ClosedForm ClosedFormBeside `json:"closed_form"`

	// Feasible reports whether some batch size meets the target ε. Then Run has the next rounds, with the largest
	// such batch size. Bound is the guarantee for past and next rounds together: the target ε of the filter or, if
	// all rounds were fixed beforehand, the ε that the accountant computes. Composed is the ε that the accountant
	// computes for all rounds as if they were fixed beforehand; it is nil if the accountant gives no answer. If no
	// batch size meets the target, Reason says why, and Run is nil.
	Feasible bool   `json:"feasible"`
	Reason   string `json:"reason,omitempty"`
	// Run has the planned next rounds of each client. It is nil if no batch size meets the target.
	Run      *Run      `json:"run,omitempty"`
	Bound    *dp.Bound `json:"bound,omitempty"`
	Composed *dp.Bound `json:"composed,omitempty"`
	Clients  int       `json:"clients"` // number of clients that run the next rounds
	Shared   bool      `json:"shared"`  // whether every client holds every record

	// Adaptive reports whether the target ε also holds if rounds, and when to stop, are chosen from earlier results.
	// It is true if Feasible is true and a filter limits all rounds. Without a filter (FixedBeforehand), it is true
	// only if past and next rounds happen to fit into a [closedform.Budget] of the target ε and δ: this budget, too,
	// allows rounds to be chosen from earlier results.
	Adaptive bool `json:"adaptive"`

	// Choices are the batch sizes that Replan tried, over the whole range and in increasing order, each with the ε of
	// all rounds. Least is the choice with the least ε; it is nil if no choice has an ε.
	Choices []Choice `json:"choices"`
	Least   *Choice  `json:"least,omitempty"`

	Notes []string `json:"notes,omitempty"` // warnings about the past rounds, see [History]

	past []dp.Event
}

// UnmarshalJSON always returns an error: a Next cannot be read from JSON. Its JSON does not contain the past rounds,
// so a Next that is read back would forget what they cost. Save [Next.History] instead.
func (p *Next) UnmarshalJSON([]byte) error {
	return errors.New("a next leg cannot be read back, because its JSON has no past rounds: write its History, " +
		"and read that by ReadHistory")
}

// Choice is one of the batch sizes s_j that [Replan] tries for the next rounds, with the ε that all rounds would then
// have. The subscript j marks numbers of the next rounds. For each client, they compute K_j gradients: their epochs
// k_j times the number of records.
type Choice struct {
	SampleSize int `json:"sample_size"` // batch size s_j of the next rounds
	Rounds     int `json:"rounds"`      // number of next rounds of each client, T_j = ⌈K_j/s_j⌉, to compute K_j gradients
	// EpsilonUpper is the ε of all rounds, past and next, with this batch size. If a filter limits the rounds (a budget
	// that was fixed beforehand), it is the least ε with which the filter would let all of them through. It is nil if
	// there is no such ε.
	EpsilonUpper *float64 `json:"epsilon_upper"`
}

// choices is the approximate number of sizes on the grid of Replan.
const choices = 48

// Replan plans further rounds after rounds that already ran, such that all rounds together stay within the target ε.
// The number of gradients of the further rounds is given, by their epochs. So the largest batch size needs the fewest
// rounds, and Replan chooses the largest with which ε stays within the target. If no size does, Next.Feasible is
// false, and Replan returns no error. Replan searches the whole range of batch sizes, because a smaller size does
// not always cost less. For example, the ε of the paper's theorem (closedform.Accountant) depends on the largest
// batch size of all rounds compared with the mean one, and small new batches lower the mean.
//
// The further rounds, and when to stop, may depend on earlier results, because a filter limits all rounds (a budget
// for such rounds, see [rdp.Filter]). The ε of the accountant acc is then only for comparison. If r.FixedBeforehand
// is set, acc plans the further rounds instead, without a filter. Set it only if nothing about the further rounds
// depends on results of the past ones, because it was all decided before the first release: otherwise the ε of acc
// does not hold.
func Replan(ctx context.Context, r NextRequest, acc dp.Accountant) (*Next, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	last := r.Past[len(r.Past)-1]
	p := &Next{
		N: r.n(), Epochs: r.Epochs, Sigma: r.Sigma, TargetEpsilon: r.Epsilon, Delta: r.Delta,
		FixedBeforehand: r.FixedBeforehand, Accountant: acc.Name(), Adjacency: last.Adjacency, Sampling: last.Sampling,
		past: r.Past, Clients: max(r.Clients, 1), Shared: r.Shared, Notes: r.Notes,
	}
	if r.Recorded != nil {
		p.TargetEpsilon, p.Delta = r.Recorded.Epsilon, r.Recorded.Delta
	}
	if p.Delta == 0 {
		p.Delta = dp.DefaultDelta(p.N)
	}
	var err error
	if p.Noise, err = follower(r.Past, r.Root); err != nil {
		return nil, err
	}
	if p.Sigma == 0 {
		sigma, err := closedform.Sigma(p.TargetEpsilon, p.Delta)
		if err != nil {
			return nil, err
		}
		p.Sigma = roundUp(sigma)
		for _, e := range r.Past {
			p.Sigma = min(p.Sigma, e.NoiseMultiplier)
		}
	}
	compose := func(events []dp.Event) (dp.Bound, error) { return acc.Epsilon(ctx, events, p.Delta) }
	if b, err := compose(p.past); err == nil {
		p.Past = &b
	}
	p.ClosedForm.Past, _ = closedUpper(ctx, p.past, p.Delta)
	price := compose
	if !r.FixedBeforehand {
		p.Accountant = rdp.FilterName
		if price, err = p.throughFilter(ctx, r.Recorded, r.Late); err != nil {
			if errors.Is(err, dp.ErrNotCovered) {
				p.Reason, p.Choices, p.Filter = "no filter has an ε for the past rounds: "+message.OneLine(err),
					[]Choice{}, nil
				return p, ended(ctx, nil)
			}
			return nil, ended(ctx, err)
		}
	}
	err = p.choose(ctx, price)
	if err == nil && p.Feasible {
		err = p.setBeside(ctx, compose)
	}
	if err := ended(ctx, err); err != nil {
		return nil, err
	}
	return p, nil
}

// Event returns the planned next rounds as one event for an accountant. It counts the rounds of all clients that hold
// the record. Call it only if p.Feasible is true: otherwise there are no next rounds, and it panics.
func (p *Next) Event() dp.Event { return p.event(p.Sigma, p.Run.SampleSize, p.Run.Rounds) }

// release returns the events of the past rounds, followed by the event next.
func (p *Next) release(next dp.Event) []dp.Event { return append(slices.Clone(p.past), next) }

// event returns the event for this many rounds of every client that holds a record.
func (p *Next) event(sigma float64, s, rounds int) dp.Event {
	return dp.Event{
		Sampling: p.Sampling, Adjacency: p.Adjacency, NoiseMultiplier: sigma,
		SampleSize: s, DatasetSize: p.N, Count: holders(p.Clients, p.Shared) * rounds, Noise: wholeRun(p.Noise),
	}
}

func (p *Next) choose(ctx context.Context, cost costing) error {
	price := func(sigma float64, s, rounds int) (dp.Bound, error) {
		return cost(p.release(p.event(sigma, s, rounds)))
	}
	k := epochsCount(p.Epochs, p.N)
	bySize := func(v float64) (dp.Bound, error) { return price(p.Sigma, int(v), roundsOf(k, int(v))) }
	sizes := p.sizes(min(p.N, k))
	best := stop{}
	beyond := 0 // the first size on the grid after best that exceeds the target
	var why error
	for _, s := range sizes {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		c := Choice{SampleSize: s, Rounds: roundsOf(k, s)}
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
			return err
		}
		best = s
	}
	s := int(best.value)
	p.Feasible, p.Bound = true, &best.bound
	rounds := roundsOf(k, s)
	p.Run = &Run{
		SampleSize: s, MaxSampleSize: s, Rounds: rounds, Computations: rounds * s,
		SampleRate: float64(s) / float64(p.N),
	}
	return nil
}

// sizes returns a grid of sample sizes from 1 to most. It includes the past's sizes, where the θ of
// the closed form changes.
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

// refuse returns the reason why there is no next leg: the cost of the cheapest size, and changes
// that would meet the target.
func (p *Next) refuse(ctx context.Context, price pricing, why error) string {
	switch {
	case p.Least == nil && why != nil:
		return fmt.Sprintf("no sample size has an ε: %v", why)
	case p.Least == nil:
		return "no sample size has a finite upper bound on ε"
	case p.pastIsTooMuch():
		return p.alreadySpent()
	}
	s, rounds := p.Least.SampleSize, p.Least.Rounds
	e := Infeasible{Cost: fmt.Sprintf("the least ε over all sample sizes is %s, at s = %d, above %s",
		up(*p.Least.EpsilonUpper, 5), s, down(p.TargetEpsilon, 6))}
	if p.Filter != nil {
		e.Cost += fmt.Sprintf(", by a filter at order %s", claim.Orders(p.Filter.Orders))
	}
	noise := noiseDial(func(sigma float64) (dp.Bound, error) { return price(sigma, s, rounds) }, p.Sigma, roughly)
	if better, err := noise.turn(ctx, p.TargetEpsilon); err == nil && better.met && better.value > p.Sigma {
		e.Remedies.add("sigma", better.value, "", "raise σ to "+up(better.value, digits))
	}
	fewer := dial{
		price: func(v float64) (dp.Bound, error) { return price(p.Sigma, s, int(v)) },
		safe:  math.Floor, start: float64(rounds) / 2, least: 1, most: float64(rounds), slope: 0.5, tol: roughly,
	}
	if better, err := fewer.turn(ctx, p.TargetEpsilon); err == nil && better.met {
		k := shortEpochs(p.N, float64(s), better.value)
		e.Remedies.add("epochs", number(k), "", fmt.Sprintf("lower k to %s, %.0f rounds", k, better.value))
	}
	return e.Reason()
}

func (p *Next) made() error { return made(p != nil && p.N >= 1, "Next", "Replan") }
