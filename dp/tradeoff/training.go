package tradeoff

import (
	"context"
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
)

// Profile is an argument of [Training]: at which values of ε it asks the accountant for δ, in order to build curves
// from them. There are Epsilons equidistant values, from 0 to the ε that the accountant returns for δ =
// SmallestDelta. More values give a curve closer to the true one and take longer.
type Profile struct {
	// SmallestDelta is the δ at the largest ε, in (0, 1). A smaller δ gives larger ε, which make the curves more
	// exact where the type I or the type II error is close to 0.
	SmallestDelta float64
	Epsilons      int // number of ε values, in [2, MaxGuarantees]
}

// Training returns the trade-off curves of the rounds events at the given type I errors (alphas; see [Alphas]). They
// follow from the δ that the accountant a computes at many ε, and are named after a:
//
//   - a Lower curve, from the δ that the accountant proves to be sufficient;
//   - an Upper curve, if the accountant also proves a lower end of δ;
//   - or one Approximation, if the accountant proves nothing.
//
// The curves are valid for any Profile. With more ε values, both curves approach the true one. The error of the lower
// curve falls with the square of the distance between ε values, and that of the upper curve only linearly. An ε at
// which the method Delta of a has no proof (dp.ErrNotCovered) is left out; if none remains, Training returns this
// error. Soon after ctx is cancelled the error is context.Cause(ctx).
func Training(ctx context.Context, a dp.Accountant, events []dp.Event, p Profile, alphas []float64) (Curves, error) {
	if p.Epsilons < 2 || p.Epsilons > MaxGuarantees {
		return nil, fmt.Errorf("number of epsilons = %d, must be in [2, %d]", p.Epsilons, MaxGuarantees)
	}
	last, err := a.Epsilon(ctx, events, p.SmallestDelta)
	if err != nil {
		return nil, err
	}
	if math.IsInf(last.Epsilon, 1) {
		return nil, fmt.Errorf("%s proves no upper bound of ε at δ = %v: %w", a.Name(), p.SmallestDelta,
			dp.ErrNotCovered)
	}
	epsilons := make([]float64, p.Epsilons)
	for i := range epsilons {
		epsilons[i] = last.Epsilon * float64(i) / float64(p.Epsilons-1)
	}
	bounds, err := deltas(ctx, a, events, epsilons)
	if err != nil {
		return nil, err
	}
	label := func(s Side) Label {
		return Label{a.Name() + " " + string(s), s, a.Name(), last.Adjacency, last.Sampling}
	}
	if last.Kind == dp.Approximation {
		return Curves{Sample(label(Approximation), claimed(bounds).At, alphas)}, nil
	}
	curves := Curves{Sample(label(Lower), enough(bounds).At, alphas)}
	if last.Kind == dp.Exact || last.Kind == dp.Interval {
		curves = append(curves, Sample(label(Upper), needed(bounds).At, alphas))
	}
	return curves, nil
}

// Profiler is an accountant that can return δ for many ε in one call, which is faster than one call for each ε; the
// accountant of package pld is one. [Training] calls its method Profile once, with epsilons in increasing order. For an
// accountant without this method, Training calls Delta for each ε.
type Profiler interface {
	Profile(ctx context.Context, events []dp.Event, epsilons []float64) ([]dp.Bound, error)
}

// deltas returns a's bounds on δ at each of the ε that a covers.
func deltas(ctx context.Context, a dp.Accountant, events []dp.Event, epsilons []float64) ([]dp.Bound, error) {
	if p, ok := a.(Profiler); ok {
		return p.Profile(ctx, events, epsilons)
	}
	var bounds []dp.Bound
	var gaps []error
	for _, eps := range epsilons {
		b, err := a.Delta(ctx, events, eps)
		switch {
		case err == nil:
			bounds = append(bounds, b)
		case errors.Is(err, dp.ErrNotCovered):
			gaps = append(gaps, err)
		default:
			return nil, err
		}
	}
	if len(bounds) == 0 {
		return nil, errors.Join(gaps...)
	}
	return bounds, nil
}

// enough returns the guarantees (ε, δ) that are proved to hold: those with the upper ends of δ.
func enough(bounds []dp.Bound) Guarantees {
	var gs Guarantees
	for _, b := range bounds {
		gs = append(gs, Guarantee{b.EpsilonUpper, min(b.DeltaUpper, 1)})
	}
	return gs
}

// claimed returns the guarantees (ε, δ) of an accountant that proves nothing, with its values of δ.
func claimed(bounds []dp.Bound) Guarantees {
	var gs Guarantees
	for _, b := range bounds {
		gs = append(gs, Guarantee{b.Epsilon, b.Delta})
	}
	return gs
}

// needed returns guarantees whose supremum is nowhere below that of all guarantees that hold. δ(ε)
// decreases, so between two ε it is at least the δ that the larger one needs; and f_{ε,δ} for the
// larger ε is not above f_{ε,δ} for the smaller ε and the same δ.
func needed(bounds []dp.Bound) Guarantees {
	var gs Guarantees
	from := 0.0
	for _, b := range bounds {
		gs = append(gs, Guarantee{from, max(b.DeltaLower, 0)})
		from = b.EpsilonLower
	}
	return append(gs, Guarantee{from, 0})
}
