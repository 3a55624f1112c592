package dp

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Scheme is a sampling together with an adjacency, for example Poisson sampling with add-or-remove adjacency. What a
// record costs depends on both, so code such as an accountant switches over the Scheme, names those that it covers,
// and refuses all others. Use [SchemeOf] to make a Scheme. The zero value is invalid.
//
// To add a sampling or an adjacency to this package, add its name to [Samplings] or [Adjacencies], and each pair that
// has a proof as a Scheme. Other packages refuse the new schemes until they name them.
type Scheme int

// These are the pairs of sampling and adjacency for which some accountant has a proof. A name such as
// PoissonAddOrRemove consists of the name of the sampling and the name of the adjacency. The last two are cases of
// PoissonAddOrRemove that have their own proofs.
const (
	PoissonAddOrRemove Scheme = iota + 1
	PoissonReplaceOne
	FixedReplaceOne
	ShuffleZeroOut
	ShuffleReplaceOne
	AllocationAddOrRemove
	GroupAddOrRemove // Poisson sampling, add-or-remove adjacency, for a person with several records, see [Event.Group]
	// TruncatedAddOrRemove is Poisson sampling under add-or-remove adjacency with batches that are cut to a largest
	// size, see [Event.Truncated].
	TruncatedAddOrRemove
)

// SchemeOf returns the Scheme of a sampling and an adjacency. The error names what is unknown. If both are known but
// no accountant covers them together, the error says why and wraps [ErrNotCovered].
func SchemeOf(s Sampling, a Adjacency) (Scheme, error) {
	if s == Unsampled {
		return 0, fmt.Errorf("releases that are not rounds of training, only pld and rdp compose them: %w", ErrNotCovered)
	}
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
	case pair{Allocation, AddOrRemove}:
		return AllocationAddOrRemove, nil
	}
	why := ""
	switch {
	case s == FixedSize && a == AddOrRemove:
		why = ": a fixed sample size reveals N"
	case s == Shuffle && a == AddOrRemove:
		why = ": one more record would change other batches too"
	}
	return 0, fmt.Errorf("%s sampling under %s adjacency%s, use %s adjacency: %w", s, a, why,
		NaturalAdjacency(s), ErrNotCovered)
}

// String names the sampling and the adjacency, for use in messages.
func (s Scheme) String() string {
	switch s {
	case PoissonAddOrRemove:
		return "poisson sampling under add-or-remove adjacency"
	case PoissonReplaceOne:
		return "poisson sampling under replace-one adjacency"
	case FixedReplaceOne:
		return "fixed sampling under replace-one adjacency"
	case ShuffleZeroOut:
		return "shuffle sampling under zero-out adjacency"
	case ShuffleReplaceOne:
		return "shuffle sampling under replace-one adjacency"
	case AllocationAddOrRemove:
		return "allocation sampling under add-or-remove adjacency"
	case GroupAddOrRemove:
		return "poisson sampling under add-or-remove adjacency for groups of records"
	case TruncatedAddOrRemove:
		return "poisson sampling under add-or-remove adjacency with truncated batches"
	}
	return "an unknown scheme"
}

// Scheme returns the [Scheme] of e's rounds: the pair of sampling and adjacency by which an accountant chooses its
// formula. The error is that of [SchemeOf]. It also wraps ErrNotCovered if Group or Truncated is set for a scheme
// other than Poisson sampling with add-or-remove adjacency, or if both are set.
func (e Event) Scheme() (Scheme, error) {
	scheme, err := SchemeOf(e.Sampling, e.Adjacency)
	if err == nil && e.Truncated != 0 {
		if scheme != PoissonAddOrRemove || e.Group > 1 {
			return 0, fmt.Errorf("truncated batch size = %d with %s sampling under %s adjacency for groups of %d, must be %s sampling "+
				"under %s adjacency for single records: %w", e.Truncated, e.Sampling, e.Adjacency, max(e.Group, 1), Poisson, AddOrRemove, ErrNotCovered)
		}
		return TruncatedAddOrRemove, nil
	}
	if err != nil || e.Group <= 1 {
		return scheme, err
	}
	if scheme != PoissonAddOrRemove {
		return 0, fmt.Errorf("group = %d with %s sampling under %s adjacency, must be %s sampling under %s adjacency: %w",
			e.Group, e.Sampling, e.Adjacency, Poisson, AddOrRemove, ErrNotCovered)
	}
	return GroupAddOrRemove, nil
}

// Sensitivity returns by how much the sum of a round's clipped gradients can differ between two neighbouring data
// sets, in units of the clipping norm C: 2 if a record is replaced, otherwise 1. It returns NaN for an invalid Scheme
// and for groups, where the difference depends on the group's size.
func (s Scheme) Sensitivity() float64 {
	switch s {
	case PoissonAddOrRemove, ShuffleZeroOut, AllocationAddOrRemove, TruncatedAddOrRemove:
		return 1
	case PoissonReplaceOne, FixedReplaceOne, ShuffleReplaceOne:
		return 2
	}
	return math.NaN()
}

// NaturalAdjacency returns the neighbouring relation to use with a sampling if none is given. Poisson and Allocation
// draw each record independently of the others, so a record may be added or removed. FixedSize takes exactly s of N
// records, so N must stay the same, and a record is replaced. With Shuffle, one record more would change other
// batches, too, so the record keeps its place, and its gradient becomes 0 (ZeroOut). For an unknown sampling the
// result is "", which [Event.Validate] and [SchemeOf] refuse.
func NaturalAdjacency(s Sampling) Adjacency {
	switch s {
	case Poisson, Allocation:
		return AddOrRemove
	case FixedSize:
		return ReplaceOne
	case Shuffle:
		return ZeroOut
	}
	return ""
}

// CheckDrawn returns an error unless the sampling is Poisson, FixedSize or Allocation, whose batches a [Mechanism]
// can draw. Use it before a training. The other samplings, such as Shuffle, only describe trainings by other
// programs, whose ε an accountant computes.
func (s Sampling) CheckDrawn() error {
	why := ""
	switch s {
	case Poisson, FixedSize, Allocation:
		return nil
	case Shuffle:
		why = ": shuffled batches can be accounted for, but not drawn"
	}
	return fmt.Errorf("sampling = %q, must be %q, %q or %q%s", s, Poisson, FixedSize, Allocation, why)
}

// Batches returns t, the number of batches in an epoch of the event's sampling, for texts and for accountants that
// count epochs. For random allocation (Allocation: each record chooses one batch of the epoch) it is 1/q for the sample
// rate q, and an epoch has t rounds. For other samplings it counts full batches: 1/q if the event gives its Rate, or
// N/s if it gives the batch size s and the number of records N, rounded down. A last batch of the remaining records,
// which some data loaders make, is not counted. The event must be valid.
func (e Event) Batches() int {
	if e.Rate != 0 {
		if e.Sampling == Allocation {
			return int(math.Round(1 / max(e.Rate, 1e-18))) // Validate refuses other rates than 1/t
		}
		if t := (1 + 1e-12) / e.Rate; t < math.MaxInt { // 1/t was rounded
			return int(t)
		}
		return math.MaxInt
	}
	return e.DatasetSize / e.SampleSize
}

// Epochs returns the number of epochs to which the event's rounds belong, if the first round begins an epoch: Count/t
// rounded up, with t = [Event.Batches] rounds in an epoch. So an unfinished last epoch is counted as a whole one,
// which is safe, because an unfinished epoch costs no more than a whole one. The event must be valid.
func (e Event) Epochs() int {
	t := e.Batches()
	return e.Count/t + min(1, e.Count%t)
}

// Unamplified replaces the rounds of shuffled batches in events by rounds that use all records: one round for each
// epoch. These cost at least as much, so their ε is an upper bound for shuffled batches. Accountants call it, because
// no better upper bound for shuffling is known (Chua et al., "How Private are DP-SGD Implementations?", ICML 2024).
// Other events, and shuffled events that are not valid, are returned unchanged. others reports whether at least one
// event was replaced.
//
// The rounds must be consecutive rounds of one data loader. If they differ in noise or in the number of batches of an
// epoch, each shuffled event except the last must consist of whole epochs. Otherwise the error wraps [ErrNotCovered],
// because the ε would be too small. For example, let an epoch have 100 rounds, and let the noise change after 50 of
// them. Then 100 rounds with the new noise are counted as one epoch, but they use some records twice: once in the
// second half of one epoch, and once in the first half of the next. Events of random allocation must fulfil the same
// condition, but are not replaced.
func Unamplified(events []Event) (all []Event, others bool, err error) {
	// Why the replacement costs at least as much. Fix the permutations. Then a record is in one batch of
	// each epoch, so two neighbours differ in one Gaussian round per epoch, by C (zero-out) or 2C
	// (replace-one). The permutations do not depend on the data, and divergences are jointly convex, so
	// the mixture over all permutations costs no more.
	//
	// Why events must be whole epochs. If the noise changes within an epoch, a record may be in more
	// rounds than epochs begin: an epoch begins at noise σ₁, then the noise becomes σ₂, then the epoch
	// ends and the next one begins at σ₂. Now a record can be in two of the rounds at σ₂.
	all = slices.Clone(events)
	shuffled := func(e Event) bool {
		scheme, _ := e.Scheme()
		return (scheme == ShuffleZeroOut || scheme == ShuffleReplaceOne) && e.Validate() == nil
	}
	inEpochs := func(e Event) bool {
		scheme, _ := e.Scheme()
		return shuffled(e) || scheme == AllocationAddOrRemove && e.Validate() == nil
	}
	first, last := slices.IndexFunc(events, inEpochs), len(events)-1
	for last > first && !inEpochs(events[last]) {
		last--
	}
	differ := slices.ContainsFunc(events, func(e Event) bool {
		return inEpochs(e) && (e.NoiseMultiplier != events[first].NoiseMultiplier || e.Batches() != events[first].Batches())
	})
	for i, e := range events {
		if differ && inEpochs(e) && i != last && e.Count%e.Batches() != 0 {
			return nil, false, fmt.Errorf("event %d: count = %d, must be whole epochs of %d batches: different "+
				"rounds follow, and a record could be in more rounds than epochs begin: %w", i, e.Count, e.Batches(),
				ErrNotCovered)
		}
		if !shuffled(e) {
			continue
		}
		if others = true; e.Adjacency == ZeroOut {
			all[i].Adjacency = AddOrRemove
		}
		all[i].Count, all[i].Redraw = e.Epochs(), ""
		all[i].Sampling, all[i].Rate, all[i].SampleSize, all[i].DatasetSize = Poisson, 1, 0, 0
	}
	return all, others, nil
}
