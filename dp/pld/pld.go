package pld

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
)

// These are the limits of what an [Accountant] covers: of the noise multiplier, the sample rate, the number of
// rounds, δ and ε. The limits themselves are covered. For values outside, it returns an error.
const (
	MinSigma, MaxSigma = 0.05, 1e6
	MinRate            = 1e-12
	MaxRounds          = 1e12
	MinDelta           = 1e-100 // least δ; δ must also be below 1
	MaxEpsilon         = 1e6
	// DefaultAccuracy is the width of an [Accountant]'s interval, divided by the interval's upper end, if you do not
	// ask for another one in Accuracy.
	DefaultAccuracy = 1e-3
	minAccuracy     = 1e-6
)

// Accountant is the tightest accountant of this module, and the one to use for a guarantee: it returns an interval
// that is proved to contain the true ε or δ. Claim the upper end. The zero value is ready to use.
type Accountant struct {
	// Accuracy is the requested width of the interval, divided by its upper end. It is in [1e-6, 0.5]; 0 means
	// DefaultAccuracy. The interval is wider if this accuracy would take more than about a second.
	Accuracy float64
	// UpperEnd asks only for the upper end of ε or δ, which is the guarantee. Set it to save time, for example in a
	// search. The lower end is then left out where it needs a separate computation, and the Bound is of kind
	// dp.Upper. This is so for fixed-size samples, shuffled batches, random allocation (dp.Allocation), persons with
	// several records (dp.Event.Group), and rounds together with releases other than Gaussian noise.
	UpperEnd bool
}

var _ dp.Accountant = Accountant{}

// Name returns "pld".
func (Accountant) Name() string { return "pld" }

// Epsilon returns the ε of the events at δ in [MinDelta, 1), as dp.Accountant requires. The Bound is usually an
// interval (dp.Interval). It is dp.Exact if a formula gives ε, as for Gaussian noise on all records (sample rate 1),
// and dp.Upper if no lower end is known or wanted (see UpperEnd).
func (a Accountant) Epsilon(ctx context.Context, events []dp.Event, delta float64) (dp.Bound, error) {
	bad := dp.CheckDelta(delta, MinDelta)
	if delta > 0 && delta < MinDelta {
		bad = fmt.Errorf("%w: %w", bad, dp.ErrNotCovered)
	}
	q, err := a.query(ctx, events, bad)
	if err != nil {
		return dp.Bound{}, err
	}
	if spent := q.spent(); spent*(1+1e-12) >= delta {
		return dp.Bound{}, fmt.Errorf("delta = %v, must be above %v, the δ of releases that are not rounds of training: %w",
			delta, spent, dp.ErrNotCovered)
	}
	b := q.bound()
	b.DeltaLower, b.Delta, b.DeltaUpper = delta, delta, delta
	lower, upper, err := q.cutEpsilon(delta)
	if err != nil {
		return dp.Bound{}, err
	}
	b.Kind = q.kind(b.Kind, lower)
	b.EpsilonLower, b.Epsilon, b.EpsilonUpper = ends(b.Kind, lower, upper)
	return b, nil
}

// Delta returns the δ of the events at ε in [0, MaxEpsilon], as dp.Accountant requires. The Bound has the same kind
// as that of Epsilon, with one exception: if a formula gives δ but δ is too small for a normal float64, the kind is
// dp.Upper. The reported δ is never 0.
func (a Accountant) Delta(ctx context.Context, events []dp.Event, epsilon float64) (dp.Bound, error) {
	bounds, err := a.deltas(ctx, events, []float64{epsilon}, maxWork, unlimited)
	if err != nil {
		return dp.Bound{}, err
	}
	return bounds[0], nil
}

// Profile returns the δ of the events for each of the given epsilons, like many calls of Delta but faster. Use it for
// a curve of δ over ε. epsilons must be in increasing order; equal values may repeat. It takes about a second for any
// number of ε: if the full accuracy would take longer, the intervals are wider. Values above MaxEpsilon are left out,
// so the result may be shorter than epsilons. If all values are above it, the error wraps dp.ErrNotCovered.
func (a Accountant) Profile(ctx context.Context, events []dp.Event, epsilons []float64) ([]dp.Bound, error) {
	if !slices.IsSorted(epsilons) {
		return nil, errors.New("the epsilons of a profile must not decrease")
	}
	n := len(epsilons)
	for n > 1 && epsilons[n-1] > MaxEpsilon && !math.IsInf(epsilons[n-1], 1) {
		n--
	}
	return a.deltas(ctx, events, epsilons[:n], sharedWork, profileWork)
}

func (a Accountant) deltas(ctx context.Context, events []dp.Event, epsilons []float64, most, left float64) (
	[]dp.Bound, error,
) {
	q, err := a.query(ctx, events, checkEpsilons(epsilons))
	if err != nil {
		return nil, err
	}
	// A useful contour of many different rounds needs more steps than one of a few.
	q.most, q.left = min(maxWork, most*(1+float64(len(q.specs))/100)), left
	p, err := q.deltas(epsilons)
	if err != nil {
		return nil, err
	}
	bounds := make([]dp.Bound, len(epsilons))
	for i, eps := range epsilons {
		b := q.bound()
		b.EpsilonLower, b.Epsilon, b.EpsilonUpper = eps, eps, eps
		if q.tau > 0 {
			p.lower[i], p.upper[i] = max(0, p.lower[i]-q.cutCost(eps)), min(1, (p.upper[i]+q.cutCost(eps))*(1+unit))
		}
		if b.Kind == dp.Exact && p.lower[i] == 0 {
			b.Kind = dp.Upper // δ is too small for float64
		}
		b.Kind = q.kind(b.Kind, p.lower[i])
		b.DeltaLower, b.Delta, b.DeltaUpper = ends(b.Kind, p.lower[i], max(p.upper[i], math.SmallestNonzeroFloat64))
		bounds[i] = b
	}
	return bounds, nil
}

// kind returns dp.Upper for releases without a known attack, as before the end of the first epoch, or if only
// an (ε, δ) is known.
func (q query) kind(k dp.Kind, lower float64) dp.Kind {
	if k == dp.Interval && lower == 0 && (len(q.events) > 0 || q.upperEnd || q.tau > 0 || q.sampling == dp.Unsampled) {
		return dp.Upper
	}
	return k
}

func checkEpsilons(epsilons []float64) error {
	for _, eps := range epsilons {
		err := dp.CheckRange("epsilon", eps, 0, MaxEpsilon)
		if eps > MaxEpsilon && !math.IsInf(eps, 1) {
			err = fmt.Errorf("%w: %w", err, dp.ErrNotCovered)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ends returns the bounds of an answer and its best single value.
func ends(kind dp.Kind, lower, upper float64) (lo, value, up float64) {
	switch {
	case kind == dp.Upper:
		return 0, upper, upper
	case math.IsInf(upper, 1):
		return lower, upper, upper
	}
	return lower, lower + (upper-lower)/2, upper
}
