package dp

import (
	"errors"
	"fmt"
	"math"
)

// Scheme is a sampling together with an adjacency. It is the one classification that accountants,
// statements, samplers, exports, audits and servers share: each of them switches over a Scheme,
// names the values that it covers and refuses all others. A Scheme comes from [SchemeOf] only. The
// zero value is not a Scheme.
//
// To add a sampling or an adjacency, add its name to [ParseSampling] or [ParseAdjacency] and its
// pairs here. Until a package names the new pairs, it refuses them.
type Scheme int

// These are the schemes for which something is proved.
const (
	PoissonAddOrRemove Scheme = iota + 1
	PoissonReplaceOne
	FixedReplaceOne
	ShuffleZeroOut
	ShuffleReplaceOne
)

// SchemeOf classifies a sampling and an adjacency. The error names what is unknown. For two
// known names that do not go together, it says why and wraps [ErrNotCovered].
func SchemeOf(s Sampling, a Adjacency) (Scheme, error) {
	_, samplingErr := ParseSampling(string(s))
	_, adjacencyErr := ParseAdjacency(string(a))
	if err := errors.Join(samplingErr, adjacencyErr); err != nil {
		return 0, err
	}
	switch [2]string{string(s), string(a)} {
	case [2]string{string(Poisson), string(AddOrRemove)}:
		return PoissonAddOrRemove, nil
	case [2]string{string(Poisson), string(ReplaceOne)}:
		return PoissonReplaceOne, nil
	case [2]string{string(FixedSize), string(ReplaceOne)}:
		return FixedReplaceOne, nil
	case [2]string{string(Shuffle), string(ZeroOut)}:
		return ShuffleZeroOut, nil
	case [2]string{string(Shuffle), string(ReplaceOne)}:
		return ShuffleReplaceOne, nil
	}
	why := ""
	switch {
	case s == FixedSize && a == AddOrRemove:
		why = ": a fixed sample size reveals N"
	case s == Shuffle && a == AddOrRemove:
		why = ": with one record more, other batches would change too"
	}
	return 0, fmt.Errorf("dp: %s sampling under %s adjacency%s, use %s adjacency: %w", s, a, why,
		NaturalAdjacency(s), ErrNotCovered)
}

// Scheme classifies the rounds of e, see [SchemeOf].
func (e Event) Scheme() (Scheme, error) { return SchemeOf(e.Sampling, e.Adjacency) }

// Sensitivity returns the largest difference of the sum of one round between neighbours, in
// clipping norms C: 2 if a record is replaced, else 1. For an invalid Scheme it is NaN.
func (s Scheme) Sensitivity() float64 {
	switch s {
	case PoissonAddOrRemove, ShuffleZeroOut:
		return 1
	case PoissonReplaceOne, FixedReplaceOne, ShuffleReplaceOne:
		return 2
	}
	return math.NaN()
}

// NaturalAdjacency is the neighbouring relation that goes with a sampling. Poisson sampling does
// not depend on N, so a record may be added or removed. Fixed-size sampling, exactly s of N, does,
// so N stays and a record is replaced. With shuffled batches the record keeps its place, and its
// gradient becomes 0. For an unknown sampling it is "", which [Event.Validate] and [SchemeOf]
// refuse.
func NaturalAdjacency(s Sampling) Adjacency {
	switch s {
	case Poisson:
		return AddOrRemove
	case FixedSize:
		return ReplaceOne
	case Shuffle:
		return ZeroOut
	}
	return ""
}

// CheckDrawn reports a sampling that no [Mechanism] draws, though some accountant may cover it.
func (s Sampling) CheckDrawn() error {
	switch s {
	case Poisson, FixedSize:
		return nil
	case Shuffle:
		return fmt.Errorf("dp: sampling = %q, must be %q or %q: shuffled batches are accounted for, but not drawn here",
			s, Poisson, FixedSize)
	}
	return fmt.Errorf("dp: sampling = %q, must be %q or %q", s, Poisson, FixedSize)
}

// Batches returns t, the number of whole batches in one pass over the shuffled records: the sample
// rate is 1/t, or each batch has s of N records. A loader that also makes a batch of the remaining
// records has one more.
func (e Event) Batches() int {
	if e.Rate != 0 {
		if t := (1 + 1e-12) / e.Rate; t < math.MaxInt { // 1/t was rounded
			return int(t)
		}
		return math.MaxInt
	}
	return e.DatasetSize / e.SampleSize
}

// Epochs returns E = ⌈T/t⌉, the largest number of passes over the records that T shuffled rounds
// begin.
func (e Event) Epochs() int {
	t := e.Batches()
	return e.Count/t + min(1, e.Count%t)
}

// Unamplified returns rounds without sampling that cost at least as much as e, and true, if e has
// shuffled batches. Otherwise it returns e and false. The event e must be valid.
//
// For fixed permutations, a record is in one batch of each of E epochs. So two neighbours differ in
// E Gaussian rounds, by 1·C (zero-out) or 2·C (replace-one) each. Divergences are jointly convex,
// and the permutations do not depend on the data, so the mixture over them costs no more. No
// amplification by shuffling is counted, and no better upper bound is known (Chua et al., "How
// Private are DP-SGD Implementations?", ICML 2024).
func (e Event) Unamplified() (Event, bool) {
	switch scheme, _ := e.Scheme(); scheme {
	case ShuffleZeroOut:
		e.Adjacency = AddOrRemove
	case ShuffleReplaceOne:
	default:
		return e, false
	}
	e.Count = e.Epochs()
	e.Sampling, e.Rate, e.SampleSize, e.DatasetSize = Poisson, 1, 0, 0
	return e, true
}
