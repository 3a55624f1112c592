package plan

import (
	"context"
	"fmt"
	"math"

	"proactivedp/dp"
)

// A recommended batch size keeps at least enoughSignal of the full-batch signal, and leaves from
// fewestUpdates to mostUpdates updates: enough for a training to converge, and no more than are
// useful.
const (
	fewestUpdates = 100
	mostUpdates   = 1000
	enoughSignal  = 0.8
)

// BytesPerParameter is the size of an update (the message of a round), in bytes for each parameter of the model. An
// update has one float32 for each parameter.
const BytesPerParameter = 4

// Batch describes a training with one batch size: the least noise multiplier within the budget, the number of
// gradients and messages, and the signal.
//
// The signal says how well the model can learn: it is the size of the summed gradients compared with the noise, over
// all rounds. It is given as a fraction of the signal of full batches (all records in each round) within the same
// budget.
type Batch struct {
	SampleSize int `json:"sample_size"` // batch size s; the mean batch size if batch sizes vary (see [Plan])
	// Batches is the number of rounds in an epoch of random allocation, t = ⌈N/s⌉. Otherwise it is 0.
	Batches int `json:"batches,omitempty"`
	Rounds  int `json:"rounds"` // number of rounds T of each client

	// Sigma is the least noise multiplier within the budget. It is nil if no σ meets the budget; then
	// Reason says why.
	Sigma *float64 `json:"sigma"`
	// Signal is s√T/σ for batch size s, T rounds and noise multiplier σ, divided by the same quotient for full
	// batches (s = N) at the same ε and δ. For full batches the quotient does not depend on the number of rounds,
	// because their σ for a given ε grows like √T. A signal of 1 is as good as full batches, which need the most
	// gradients. Signal is nil if Sigma is nil.
	Signal *float64 `json:"signal"`

	Computations int `json:"grad_computations"` // number of gradients that each client computes, sT
	Messages     int `json:"messages"`          // number of updates (messages) that all clients send together
	// Bytes is the size of all these messages in bytes for each parameter of the model: multiply it by the number of
	// parameters.
	Bytes  int    `json:"bytes_per_parameter"`
	Reason string `json:"reason,omitempty"` // if the size is a recommendation: why; otherwise why Sigma is nil, or ""
}

// batch returns the Batch of size s with everything but its noise.
func (p *Plan) batch(s, rounds int) Batch {
	messages := p.Clients * rounds
	b := Batch{SampleSize: s, Rounds: rounds, Computations: s * rounds, Messages: messages,
		Bytes: BytesPerParameter * messages}
	if p.Sampling == dp.Allocation {
		b.Batches = p.batchesOf(s)
	}
	return b
}

// signalAt returns s√T/σ of all rounds that use a record, divided by the signal of full batches with the
// same budget. T full batches have σ = √T/μ, where μ is that of one Gaussian release (see limit), so their
// signal is N·μ for every T. It returns nil if μ is 0.
func (p *Plan) signalAt(mu, sigma float64, s, rounds int) *float64 {
	if !(mu > 0) || !(sigma > 0) {
		return nil
	}
	if p.Adjacency == dp.ReplaceOne { // a record moves the sum by up to 2C
		mu /= 2
	}
	mu /= float64(max(p.Group, 1)) // each record of a person moves the sum by up to C
	size := float64(s)
	if p.Sampling == dp.Allocation {
		size = float64(p.N) / float64(p.batchesOf(s))
	}
	part := size * math.Sqrt(float64(p.copies())*float64(rounds)) / sigma / (float64(p.N) * mu)
	return &part
}

// priced sets the least noise of b within the calculator's budget, and the signal that b has with
// it.
func (c calculator) priced(ctx context.Context, b *Batch) (stop, error) {
	found, err := c.noise(ctx, b.SampleSize, b.Rounds)
	if err == nil && found.met {
		sigma := found.value
		b.Sigma, b.Signal = &sigma, c.p.signalAt(c.limit().mu, sigma, b.SampleSize, b.Rounds)
	}
	return found, err
}

// recommend returns the batch size for k gradients of each client within the calculator's
// budget, and its noise. A larger size has more signal and fewer messages. A smaller size has more
// updates. The recommended size is the least power of two that keeps 80 % of the full-batch signal,
// with 100 to 1,000 updates of all clients where that is possible.
func (c calculator) recommend(ctx context.Context, k int) (Batch, stop, error) {
	most := min(c.largestMean(), k)
	if most < 1 {
		return c.p.batch(1, k), c.tooUneven(), nil
	}
	updates := func(s int) int { return c.p.Clients * c.p.roundsOf(k, s) }
	largest := 1
	for 2*largest <= most && updates(2*largest) >= fewestUpdates {
		largest *= 2
	}
	least := 1
	for least < largest && updates(least) > mostUpdates {
		least *= 2
	}
	for s := least; ; s *= 2 {
		b := c.p.batch(s, c.p.roundsOf(k, s))
		if s < largest && c.loses(s, b.Rounds) {
			continue
		}
		found, err := c.priced(ctx, &b)
		if err != nil {
			return b, found, err
		}
		keeps := b.Signal != nil && *b.Signal >= enoughSignal
		switch {
		case keeps && s == least && s > 1:
			b.Reason = fmt.Sprintf("the least power of two with at most %d updates", mostUpdates)
		case keeps:
			b.Reason = fmt.Sprintf("the least power of two that keeps %g %% of the full-batch signal", 100*enoughSignal)
		case s < largest:
			continue
		case updates(1) < fewestUpdates:
			b.Reason = fmt.Sprintf("any batch size leaves fewer than %d updates", fewestUpdates)
		case 2*largest > most:
			b.Reason = "the largest power of two within the data"
		default:
			b.Reason = fmt.Sprintf("the largest power of two with at least %d updates", fewestUpdates)
		}
		return b, found, nil
	}
}

// loses reports whether rounds of size s certainly keep less than enoughSignal, without computing their noise: at the σ
// that would keep just that, they cost more than the target.
func (c calculator) loses(s, rounds int) bool {
	signal := c.p.signalAt(c.limit().mu, 1, s, rounds)
	if signal == nil || c.p.Method != PLD {
		return false
	}
	b, err := c.price(*signal/enoughSignal, s, rounds)
	return err == nil && b.EpsilonLower > c.target
}

// Recommend finds a good batch size for the budget and the epochs of p, and stores it with its noise in
// p.Recommended. It considers the powers of two for which all clients together send 100 to 1,000 updates (messages,
// one in each round of a client). Fewer may not be enough for the training to converge, and more are of little use.
// The recommended size is the least of them whose signal (the size of the summed gradients compared with the noise,
// see [Batch]) is at least 80 % of that of full batches. If none has this signal, it is the largest of them. If every
// power of two leads to fewer than 100 updates, the recommended size is 1. If every one leads to more than 1,000, it is
// the largest power of two that the data allow. p.Recommended.Reason says which of these cases applies.
//
// Recommend does nothing if p is infeasible, has no ε, computes less than one gradient, or already has a
// recommendation. It also does nothing if the plan is by the paper's theorem (a closed form), where the noise does
// not depend on the batch size.
func (p *Plan) Recommend(ctx context.Context) error {
	if err := p.made(); err != nil {
		return err
	}
	if !p.Feasible || p.Recommended != nil || p.Method.isClosedForm() || p.Epsilon == 0 || p.Epochs == 0 ||
		isTooLittle(p.Epochs, p.N) {
		return nil
	}
	c, err := p.calculator(ctx, p.budget())
	if err != nil {
		return err
	}
	b, _, err := c.recommend(ctx, epochsCount(p.Epochs, p.N))
	if err := ended(ctx, err); err != nil {
		return err
	}
	if b.Sigma != nil {
		p.Recommended = &b
	}
	return nil
}

// MaxSizes is the largest number of batch sizes that [Compare] compares in one call.
const MaxSizes = 100

// ValidateSizes returns one error that lists every problem of r and of the batch sizes as arguments of [Compare].
func (r Request) ValidateSizes(sizes []int) error {
	errs := rangeErrors{}
	if n := len(sizes); n < 1 || n > MaxSizes {
		errs.fail("%d sample sizes, must be from 1 to %d", n, MaxSizes)
	}
	if r.SampleSize != 0 || r.Batches != 0 || r.Sigma != 0 || r.Epsilon == 0 {
		errs.fail("epsilon = %v, sigma = %v, sample size = %d and batches = %d, must be an epsilon alone to compare several sample sizes",
			r.Epsilon, r.Sigma, r.SampleSize, r.Batches)
	}
	for _, s := range sizes {
		if r.SampleSize = s; s == 0 {
			errs.fail("sample size = 0, must be at least 1")
		} else if err := r.Validate(); err != nil {
			errs.add(err)
			break
		}
	}
	return errs.join()
}

// Compare finds, for each of the batch sizes, the least noise multiplier within the budget of r, and returns a row
// for each size. Use it to choose a batch size. It also returns the plan for one of the sizes: the smallest size
// whose signal (the size of the summed gradients compared with the noise, see [Batch]) is at least 80 % of that of
// full batches (all records in each round). If no size has such a signal, it is the size with the largest signal. r
// must have ε and either epochs or rounds, but neither σ nor a batch size.
func Compare(ctx context.Context, r Request, sizes []int) (*Plan, []Batch, error) {
	if err := r.ValidateSizes(sizes); err != nil {
		return nil, nil, err
	}
	var best *Plan
	var signal float64
	rows := make([]Batch, 0, len(sizes))
	for _, s := range sizes {
		r.SampleSize = s
		p, err := Solve(ctx, r)
		if err != nil {
			return nil, nil, err
		}
		if p.Run == nil {
			rows = append(rows, Batch{SampleSize: s, Reason: p.Reason})
			if best == nil {
				best = p
			}
			continue
		}
		b := p.batch(s, p.Run.Rounds)
		b.Sigma, b.Signal = &p.Sigma, p.Signal
		rows = append(rows, b)
		keeps := 0.
		if p.Signal != nil {
			keeps = *p.Signal
		}
		enough := keeps >= enoughSignal
		better := enough && (signal < enoughSignal || s < best.Run.SampleSize) || !enough && keeps > signal
		if best == nil || best.Run == nil || better {
			best, signal = p, keeps
		}
	}
	return best, rows, nil
}
