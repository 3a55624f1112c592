package dp

import (
	"errors"
	"fmt"
	"math"
	"slices"
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
	type pair struct {
		Sampling
		Adjacency
	}
	switch (pair{s, a}) {
	case pair{Poisson, AddOrRemove}:
		return PoissonAddOrRemove, nil
	case pair{Poisson, ReplaceOne}:
		return PoissonReplaceOne, nil
	case pair{FixedSize, ReplaceOne}:
		return FixedReplaceOne, nil
	case pair{Shuffle, ZeroOut}:
		return ShuffleZeroOut, nil
	case pair{Shuffle, ReplaceOne}:
		return ShuffleReplaceOne, nil
	}
	why := ""
	switch {
	case s == FixedSize && a == AddOrRemove:
		why = ": a fixed sample size reveals N"
	case s == Shuffle && a == AddOrRemove:
		why = ": with one record more, other batches would change too"
	}
	return 0, fmt.Errorf("%s sampling under %s adjacency%s, use %s adjacency: %w", s, a, why,
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
		return fmt.Errorf("sampling = %q, must be %q or %q: shuffled batches are accounted for, but not drawn here",
			s, Poisson, FixedSize)
	}
	return fmt.Errorf("sampling = %q, must be %q or %q", s, Poisson, FixedSize)
}

// Batches returns t, the number of whole batches in one pass over the shuffled records: the sample
// rate is 1/t, or each batch has s of N records. A loader that also makes a batch of the remaining
// records has one more. The event must be valid.
func (e Event) Batches() int {
	if e.Rate != 0 {
		if t := (1 + 1e-12) / e.Rate; t < math.MaxInt { // 1/t was rounded
			return int(t)
		}
		return math.MaxInt
	}
	return e.DatasetSize / e.SampleSize
}

// Epochs returns E, how many passes over the records shuffled rounds begin, at most, if the first
// of them begins one: ⌈T/t⌉. The event must be valid.
func (e Event) Epochs() int {
	t := e.Batches()
	return e.Count/t + min(1, e.Count%t)
}

// Unamplified returns, for valid shuffled rounds, rounds without sampling that cost at least as
// much, and reports whether it did. Other events are returned as they are.
//
// Given the permutations, a record is in one batch of each of E epochs, so two neighbours
// differ in E Gaussian rounds, by 1·C (zero-out) or 2·C (replace-one) each. Divergences are
// jointly convex, so the mixture over the permutations, which do not depend on the data, costs
// no more. Nothing is counted for the shuffling, and no better upper bound is known
// (Chua et al., "How Private are DP-SGD Implementations?", ICML 2024).
//
// The rounds are those of one data loader. Where they change within an epoch (1. an epoch begins at
// noise σ₁, 2. the noise becomes σ₂, 3. the epoch ends and the next one begins at σ₂) a record can be
// in two of t rounds of σ₂. So where rounds differ, all but the last must be whole epochs; others are
// an error that wraps [ErrNotCovered].
func Unamplified(events []Event) (all []Event, others bool, err error) {
	all = slices.Clone(events)
	shuffled := func(e Event) bool {
		scheme, _ := e.Scheme()
		return (scheme == ShuffleZeroOut || scheme == ShuffleReplaceOne) && e.Validate() == nil
	}
	first := slices.IndexFunc(events, shuffled)
	differ := slices.ContainsFunc(events, func(e Event) bool {
		return shuffled(e) && (e.NoiseMultiplier != events[first].NoiseMultiplier || e.Batches() != events[first].Batches())
	})
	for i, e := range events {
		if !shuffled(e) {
			continue
		}
		if differ && i != len(events)-1 && e.Count%e.Batches() != 0 {
			return nil, false, fmt.Errorf("event %d: %d rounds of shuffled batches, must be whole epochs of %d: other "+
				"rounds follow, and a record may be in more of them than epochs begin: %w", i, e.Count, e.Batches(),
				ErrNotCovered)
		}
		if others = true; e.Adjacency == ZeroOut {
			all[i].Adjacency = AddOrRemove
		}
		all[i].Count = e.Epochs()
		all[i].Sampling, all[i].Rate, all[i].SampleSize, all[i].DatasetSize = Poisson, 1, 0, 0
	}
	return all, others, nil
}
