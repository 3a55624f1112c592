package plan

import (
	"context"
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
)

// The ranges of a Target. No accountant was tested above maxSteps rounds.
const (
	minSigma, maxSigma = 0.05, 1e6
	minRate            = 1e-9
	maxSteps           = 1_000_000_000
	maxRecords         = 1_000_000_000 // 1/minRate
)

// Target is the input of [Calibrate]: a privacy budget, and two of the three quantities noise multiplier, sample rate
// and number of rounds. Leave the third one 0; Calibrate finds it. All rounds have the same noise multiplier and
// sample rate.
type Target struct {
	Epsilon float64 `json:"epsilon"`         // largest ε that a record may pay, in [1e-8, 1e4]
	Delta   float64 `json:"delta"`           // δ at which ε is computed, in [1e-300, 1)
	Sigma   float64 `json:"sigma,omitempty"` // noise multiplier σ in [0.05, 1e6]
	// SampleRate is the sample rate q in [1e-9, 1]: the probability that a record is in the batch of a round.
	SampleRate float64 `json:"sample_rate,omitempty"`
	// Steps is the number of rounds T in [1, 1e9]; if several clients hold the record, the rounds of all of them. With
	// Allocation and Shuffle, it counts the rounds of one client, because those of several do not add up, see dp.Times.
	Steps int `json:"steps,omitempty"`

	// SampleSize (s, in [1, N]) and DatasetSize (N, in [1, 1e9]) may be given instead of SampleRate, which is then
	// s/N. If DatasetSize is given with Sigma and Steps, Calibrate finds SampleSize.
	SampleSize  int `json:"sample_size,omitempty"`
	DatasetSize int `json:"dataset_size,omitempty"`

	// Sampling and Adjacency must be given. With Allocation in t batches, SampleRate must be 1/t: it cannot be found.
	Sampling  dp.Sampling  `json:"sampling,omitempty"`
	Adjacency dp.Adjacency `json:"adjacency,omitempty"`
	// Redraw says whether each epoch of allocation or shuffled batches is drawn anew, see [dp.Redraw].
	Redraw dp.Redraw `json:"redraw,omitempty"`
	// Group is k > 1 if ε is to protect a person with up to k records. 0 and 1 protect a record.
	Group int `json:"group,omitempty"`
}

// Validate returns one error that lists every field of t outside its range.
func (t Target) Validate() error {
	errs := rangeErrors{}
	errs.within("epsilon", t.Epsilon, minEpsilon, maxEpsilon, "")
	errs.add(dp.CheckDelta(t.Delta, closedform.MinDelta))
	switch {
	case t.SampleSize == 0 && t.DatasetSize == 0:
	case t.SampleRate != 0:
		errs.fail("sample rate = %v and sample size = %d of N = %d, only one may be given", t.SampleRate, t.SampleSize,
			t.DatasetSize)
	case t.SampleSize == 0 && t.Sigma != 0 && t.Steps != 0:
		errs.counts("data set size", t.DatasetSize, 1, maxRecords)
	case t.SampleSize < 1 || t.SampleSize > t.DatasetSize:
		errs.fail("sample size = %d, must be in [1, N = %d]", t.SampleSize, t.DatasetSize)
	default:
		t = t.ofSizes()
	}
	unknown := 0
	for _, q := range []struct {
		name      string
		v, lo, hi float64
	}{
		{"sigma", t.Sigma, minSigma, maxSigma}, {"sample rate", t.SampleRate, minRate, 1},
	} {
		if q.v == 0 {
			unknown++
		} else {
			errs.within(q.name, q.v, q.lo, q.hi, "")
		}
	}
	if t.Steps == 0 {
		unknown++
	} else {
		errs.counts("steps", t.Steps, 1, maxSteps)
	}
	if unknown != 1 {
		errs.fail("sigma = %v, sample rate = %v and steps = %d, two of them must be given, and the one to solve "+
			"for must be 0",
			t.Sigma, t.SampleRate, t.Steps)
	}
	if t.Sampling == dp.Unsampled {
		_, err := dp.ParseSampling(string(t.Sampling))
		errs.add(err)
	} else if _, err := dp.SchemeOf(t.Sampling, t.Adjacency); !errors.Is(err, dp.ErrNotCovered) { // ErrNotCovered is left to the accountant
		errs.add(err)
		if err == nil {
			errs.add(t.checkDraw())
		}
	}
	return errs.join()
}

// checkDraw reports what is wrong with redraw, group, and the rate of allocation.
func (t Target) checkDraw() error {
	if t.Sampling == dp.Allocation && t.SampleRate == 0 {
		return fmt.Errorf("sample rate = 0, must be 1/t of t batches with %s sampling: it cannot be solved for", t.Sampling)
	}
	e := dp.Event{Sampling: t.Sampling, Adjacency: t.Adjacency, Redraw: t.Redraw, Group: t.Group, NoiseMultiplier: 1, Rate: 1,
		Count: 1}
	if t.Sampling == dp.Allocation {
		e.Rate, e.SampleSize, e.DatasetSize = t.SampleRate, t.SampleSize, t.DatasetSize
	}
	return e.Validate()
}

// ofSizes returns t with SampleRate = SampleSize/DatasetSize, if both are given.
func (t Target) ofSizes() Target {
	if t.SampleSize != 0 {
		t.SampleRate = float64(t.SampleSize) / float64(t.DatasetSize)
	}
	return t
}

// Calibration is the result of [Calibrate]: the noise multiplier, sample rate and number of rounds of a training
// whose ε is at most the ε of a [Target]. All rounds are equal.
//
// Use Calibrate to make a Calibration. The methods of any other Calibration return an error or, if they have no error
// result, may panic.
type Calibration struct {
	Sigma float64 `json:"sigma"` // noise multiplier σ; if Calibrate found it, rounded up to 7 digits
	// SampleRate is the sample rate q of a round. It is s/N if the sizes are known. Otherwise it is the given rate,
	// or the one that Calibrate found, rounded down to 7 digits.
	SampleRate float64 `json:"sample_rate"`
	// Steps is the number of rounds T, as in [Target].Steps; if Calibrate found it, rounded down.
	Steps int `json:"steps"`

	SampleSize  int `json:"sample_size,omitempty"`  // batch size s, if N was given
	DatasetSize int `json:"dataset_size,omitempty"` // number of records N, if it was given

	// EpsilonLower, Epsilon and EpsilonUpper are the ε of the rounds as the accountant bounds it: from below, the
	// number to print, and from above. EpsilonUpper is the guarantee, and at most TargetEpsilon.
	EpsilonLower  float64 `json:"epsilon_lower"`
	Epsilon       float64 `json:"epsilon"`
	EpsilonUpper  float64 `json:"epsilon_upper"`
	TargetEpsilon float64 `json:"target_epsilon"`
	Delta         float64 `json:"delta"`

	Adjacency  dp.Adjacency `json:"adjacency"`
	Sampling   dp.Sampling  `json:"sampling"`
	Redraw     dp.Redraw    `json:"redraw,omitempty"` // as in [Target]: whether each epoch is drawn anew
	Group      int          `json:"group,omitempty"`  // k > 1 if ε protects a person with up to k records
	Accountant string       `json:"accountant"`       // name of the accountant that computed ε
	Kind       dp.Kind      `json:"kind"`             // what is proved about ε, such as an interval that contains it
	// SolvedFor says which number Calibrate found, as its JSON key: "sigma", "sample_rate", "sample_size" or
	// "steps".
	SolvedFor string `json:"solved_for"`
}

// Calibrate finds the quantity that is 0 in t: the least noise multiplier σ, or the largest sample rate q, batch size
// s or number of rounds T, with which the upper ε of the rounds by acc is at most t.Epsilon at t.Delta. The result
// always meets the budget. By the upper ε of acc, it is the best value that does, except for a relative error of at most
// 2e-4; s and T below 5000 have no such error. The true ε lies below the upper ε of acc, so it may be within the budget
// for slightly less noise or more rounds, too. If acc gives no upper bound (as one that only approximates ε), Calibrate
// returns an error.
//
// If no value meets the budget, the error is an [*Infeasible]. It wraps dp.ErrNotCovered if acc does not cover such
// rounds at all.
func Calibrate(ctx context.Context, t Target, acc dp.Accountant) (*Calibration, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	t = t.ofSizes()
	q := t.unknown()
	search := acc
	if p, ok := acc.(pld.Accountant); ok { // the lower end is that of the answer alone
		p.UpperEnd = true
		search = p
	}
	d := t.dial(ctx, q, search, tolerance)
	s, err := d.turn(ctx, t.Epsilon)
	switch {
	case err != nil:
		return nil, ended(ctx, err)
	case !s.met:
		return nil, ended(ctx, t.infeasible(ctx, q, s, acc))
	}
	if p, ok := acc.(pld.Accountant); ok && s.bound.Kind == dp.Upper && !p.UpperEnd {
		if s.bound, err = t.dial(ctx, q, acc, tolerance).price(s.value); err != nil {
			return nil, ended(ctx, err)
		}
	}
	t = t.with(q, s.value)
	return &Calibration{
		Sigma: t.Sigma, SampleRate: t.SampleRate, Steps: t.Steps,
		SampleSize: t.SampleSize, DatasetSize: t.DatasetSize,
		EpsilonLower: s.bound.EpsilonLower, Epsilon: s.bound.Epsilon, EpsilonUpper: s.bound.EpsilonUpper,
		TargetEpsilon: t.Epsilon, Delta: t.Delta,
		Adjacency: t.Adjacency, Sampling: t.Sampling, Redraw: t.Redraw, Group: t.Group,
		Accountant: acc.Name(), Kind: s.bound.Kind, SolvedFor: string(q),
	}, nil
}

// Event returns the calibrated rounds as one event, for example to compute their ε by another accountant.
func (c *Calibration) Event() dp.Event {
	e := dp.Event{Sampling: c.Sampling, Adjacency: c.Adjacency, Redraw: c.Redraw, Group: c.Group,
		NoiseMultiplier: c.Sigma, Rate: c.SampleRate, Count: c.Steps}
	if c.DatasetSize != 0 {
		e.Rate, e.SampleSize, e.DatasetSize = 0, c.SampleSize, c.DatasetSize
	}
	return e
}

// Bound returns the ε of the calibrated rounds as the accountant bounds it, with the accountant's name, adjacency and
// sampling.
func (c *Calibration) Bound() dp.Bound {
	return dp.Bound{
		EpsilonLower: c.EpsilonLower, Epsilon: c.Epsilon, EpsilonUpper: c.EpsilonUpper,
		DeltaLower: c.Delta, Delta: c.Delta, DeltaUpper: c.Delta,
		Kind: c.Kind, Accountant: c.Accountant, Adjacency: c.Adjacency, Sampling: c.Sampling,
	}
}

// tolerance is the relative accuracy of a noise multiplier. roughly is the accuracy of searches that
// only need an approximate answer.
const tolerance, roughly = 1e-4, 2e-3

// quantity is one of the quantities of equal rounds that can be solved for, by its JSON key. The sample
// size replaces the sample rate if the number of records is given.
type quantity string

const (
	noise quantity = "sigma"
	rate  quantity = "sample_rate"
	size  quantity = "sample_size"
	steps quantity = "steps"
)

func (t Target) unknown() quantity {
	switch {
	case t.Sigma == 0:
		return noise
	case t.SampleRate == 0 && t.DatasetSize != 0:
		return size
	case t.SampleRate == 0:
		return rate
	}
	return steps
}

func (t Target) with(q quantity, v float64) Target {
	switch q {
	case noise:
		t.Sigma = v
	case rate:
		t.SampleRate = v
	case size:
		t.SampleSize = int(v)
		t = t.ofSizes()
	case steps:
		t.Steps = int(v)
	}
	return t
}

func (t Target) dial(ctx context.Context, q quantity, acc dp.Accountant, tol float64) dial {
	price := func(v float64) (dp.Bound, error) {
		t := t.with(q, v)
		return acc.Epsilon(ctx, []dp.Event{{
			Sampling: t.Sampling, Adjacency: t.Adjacency, Redraw: t.Redraw, Group: t.Group,
			NoiseMultiplier: t.Sigma, Rate: t.SampleRate, Count: t.Steps,
		}}, t.Delta)
	}
	l := limitOf(t.Epsilon, t.Delta, t.Adjacency)
	switch q {
	case noise:
		return noiseDial(price, l.sigma(t.SampleRate, float64(t.Steps)), tol)
	case rate:
		return dial{price: price, safe: roundDown, start: l.rate(t.Sigma, float64(t.Steps)), least: minRate, most: 1,
			slope: 1, tol: 2 * tol}
	case size:
		n := float64(t.DatasetSize)
		return dial{price: price, safe: math.Floor, start: n * l.rate(t.Sigma, float64(t.Steps)), least: 1, most: n,
			slope: 1, tol: 2 * tol}
	}
	return dial{price: price, safe: math.Floor, start: l.rounds(t.Sigma, t.SampleRate), least: 1, most: maxSteps,
		slope: 0.5, tol: 2 * tol}
}

// noiseDial searches for σ. In terms of log σ, log ε falls at least as fast as for a single Gaussian
// release, where the slope is -1. Therefore an ε that is close enough to the target implies a σ that is
// close enough. The search starts with the slope of the central limit theorem, times 1.3, because ε
// falls a little faster than μ.
func noiseDial(price func(sigma float64) (dp.Bound, error), start, tol float64) dial {
	start = min(max(start, minSigma), maxSigma)
	u := 1 / (start * start)
	return dial{
		price: price, safe: roundUp, start: start, least: minSigma, most: maxSigma,
		slope: 1.3 * u / math.Expm1(-u), tol: tol, near: tol,
	}
}

// infeasible returns the error which says that even s, the safest value of the quantity q, exceeds
// the budget.
func (t Target) infeasible(ctx context.Context, q quantity, s stop, acc dp.Accountant) error {
	t = t.with(q, s.value)
	what := map[quantity]string{
		noise: fmt.Sprintf("even σ = %g", s.value), rate: fmt.Sprintf("even q = %g",
			s.value), size: "even s = 1", steps: "even one step",
	}[q]
	e := &Infeasible{SolvedFor: string(q), Cost: s.cost(what, t.Epsilon), why: s.err}
	if s.err != nil {
		return e
	}
	if math.IsInf(s.bound.EpsilonUpper, 1) && s.bound.Kind == dp.Approximation {
		return fmt.Errorf("accountant %q gives no upper bound on ε here: %w", acc.Name(), dp.ErrNotCovered)
	}
	for _, other := range []struct {
		q    quantity
		tell string
		show func(v float64, digits int) string
	}{
		{noise, "raise σ to ", up}, {rate, "lower q to ", down},
		{steps, "lower the steps to ", func(v float64, _ int) string { return fmt.Sprintf("%.0f", v) }},
	} {
		if other.q == q || other.q == rate && q == size {
			continue
		}
		if s, err := t.dial(ctx, other.q, acc, roughly).turn(ctx, t.Epsilon); err == nil && s.met {
			e.Remedies.add(string(other.q), s.value, Method(acc.Name()), other.tell+other.show(s.value, digits))
		}
	}
	return e
}

func (c *Calibration) made() error {
	return made(c != nil && c.Accountant != "", "Calibration", "Calibrate")
}
