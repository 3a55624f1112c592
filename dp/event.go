// Package dp has the types that all privacy accountants of this module share. An [Event] describes rounds of DP-SGD:
// in a round, a client samples a batch of its records and releases the noisy sum of their clipped gradients. An
// [Accountant] computes the ε or δ of Events. A [Mechanism] draws the batches and the noise of a client's rounds, and
// returns their Events. The accountant gets the Events of the Mechanism that the client uses, so the two cannot
// disagree.
//
//	released := dp.Event{
//		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove,
//		NoiseMultiplier: 1.1, Rate: 0.004, Count: 10_000, // σ, q and the steps
//	}
//	bound, err := pld.Accountant{}.Epsilon(ctx, []dp.Event{released}, 1e-5)
//	fmt.Println(bound.EpsilonLower, bound.EpsilonUpper)
//
// The accountants are in the packages below this one. They take Events and a δ, and return a Bound.
//
// Noise is drawn from a cryptographic stream. By default it is drawn in floating point, which is meant for
// simulations and studies. It does not protect a release against attacks on the low bits of floating-point numbers
// (Mironov 2012; Haney et al. 2022). For releases see [Mechanism.Exact].
package dp

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Adjacency is the neighbouring relation of differential privacy: it says which two data sets the
// guarantee compares.
type Adjacency string

// These are the neighbouring relations (adjacencies).
const (
	// AddOrRemove means that one data set has one record more than the other, so the guarantee hides whether a record
	// is in the data. The number of records N (see [Event].DatasetSize) is counted in the larger data set.
	AddOrRemove Adjacency = "add-or-remove"
	// ReplaceOne means that the data sets have equal sizes and differ in one record, so the guarantee hides what a
	// record contains.
	ReplaceOne Adjacency = "replace-one"
	// ZeroOut means that the gradient of one record is 0 in one of the two data sets. The record keeps its place, so
	// N and all batches are equal. Use it for shuffled batches, where one record more would change other batches, too.
	ZeroOut Adjacency = "zero-out"
)

// Sampling names the way in which a round chooses the records of its batch, for example [Poisson].
type Sampling string

// These are the ways to draw the batches of a training. A [Mechanism] draws all of them except Shuffle.
const (
	// Poisson puts each of the N records into the batch independently, with probability q = s/N. So s is the expected
	// batch size.
	Poisson Sampling = "poisson"
	// FixedSize draws a batch of exactly s of the N records, uniformly without replacement.
	FixedSize Sampling = "fixed"
	// Shuffle permutes the records and cuts them into batches of equal size, as most data loaders do. [Redraw] says
	// whether each epoch has a new permutation. Accountants treat a shuffled epoch like one round that uses all
	// records (see [Unamplified]), because no smaller upper bound on ε is proved.
	Shuffle Sampling = "shuffle"
	// Allocation puts each record into one round of an epoch, which is chosen uniformly from the t rounds and
	// independently of the other records ("random allocation", or "balls in bins"). So the sizes of batches vary, and
	// a batch may be empty. Batches of equal size are [Shuffle], for which only a larger ε can be proved.
	Allocation Sampling = "allocation"
)

// Redraw says, for the samplings Allocation and Shuffle, whether each epoch assigns the records to rounds anew. An
// event with Allocation must have it, because keeping one assignment for several epochs costs much more ε. For
// Shuffle it may be empty, which means unknown.
type Redraw string

// These are the values of Redraw.
const (
	EachEpoch Redraw = "epoch" // each epoch draws a new assignment of the records to rounds
	Once      Redraw = "once"  // all epochs use the assignment that was drawn for the first one
)

// Redraws returns all values of [Redraw], whose names [ParseRedraw] reads.
func Redraws() []Redraw { return []Redraw{EachEpoch, Once} }

// ParseRedraw returns the Redraw with the given name. The error lists all names.
func ParseRedraw(name string) (Redraw, error) { return parse("redraw", name, Redraws()) }

// MaxGroup is the largest value of [Event].Group, the number of records that one person may have.
const MaxGroup = 1000

// Samplings returns all samplings of training rounds, whose names [ParseSampling] reads.
func Samplings() []Sampling { return []Sampling{Poisson, FixedSize, Shuffle, Allocation} }

// HasEpochs reports whether the sampling uses a record in at most one round of an epoch, as Shuffle and Allocation
// do. With such a sampling, an accountant must count epochs, because the rounds of an epoch are not independent.
func (s Sampling) HasEpochs() bool { return s == Shuffle || s == Allocation }

// Adjacencies returns all adjacencies, whose names [ParseAdjacency] reads.
func Adjacencies() []Adjacency { return []Adjacency{AddOrRemove, ReplaceOne, ZeroOut} }

// ParseSampling returns the Sampling with the given name. The error lists all names.
func ParseSampling(name string) (Sampling, error) { return parse("sampling", name, Samplings()) }

// ParseAdjacency returns the Adjacency with the given name. The error lists all names.
func ParseAdjacency(name string) (Adjacency, error) { return parse("adjacency", name, Adjacencies()) }

func parse[T ~string](what, name string, known []T) (T, error) {
	if slices.Contains(known, T(name)) {
		return T(name), nil
	}
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = strconv.Quote(string(k))
	}
	last := len(names) - 1
	return "", fmt.Errorf("%s = %q, must be %s or %s", what, name, strings.Join(names[:last], ", "), names[last])
}

// Event describes Count rounds with equal settings, as the input of an [Accountant]. In each round, a client released
// the sum of the gradients of the sampled records, each clipped to norm C, plus noise N(0, C²σ²I). Give the sample
// rate either as SampleSize and DatasetSize, or as Rate with both sizes 0. There are two exceptions. Allocation needs
// Rate, and DatasetSize may be given with it. Truncated needs DatasetSize, even if the rate is given as Rate. An Event can
// also describe a release that is no round of training, such as a noisy histogram: see its field Other.
type Event struct {
	Sampling        Sampling  `json:"sampling"`
	Adjacency       Adjacency `json:"adjacency"`
	NoiseMultiplier float64   `json:"noise_multiplier"`      // noise multiplier σ ≥ 0: the noise has standard deviation C·σ
	SampleSize      int       `json:"sample_size,omitempty"` // batch size s; under Poisson sampling, its expected value
	// number of records N; counted in the larger of two neighbouring data sets
	DatasetSize int     `json:"dataset_size,omitempty"`
	Rate        float64 `json:"sample_rate,omitempty"` // sample rate q in (0, 1]; 0 means SampleSize/DatasetSize
	// Truncated is the largest number of records in a batch of Poisson sampling, if larger batches are cut to this
	// number by any rule, as some libraries do. The field DatasetSize must then be given. 0 means that batches are
	// not cut.
	Truncated int `json:"truncated_batch_size,omitempty"`
	// Redraw says whether each epoch assigns the records to rounds anew. It is required for Allocation and optional
	// for Shuffle. The Count rounds of such an event are consecutive rounds of one client, and the first one begins
	// an epoch. Use a separate Event for each client, even if all fields are equal: a record is in only one round of
	// an epoch, but another client's epoch may use it again.
	Redraw Redraw `json:"redraw,omitempty"`
	// Group is k if (ε, δ) is to protect a person, who may have up to k records. 0 and 1 protect a single record.
	Group int `json:"group,omitempty"`
	Count int `json:"count"` // number of rounds
	// Other is empty for rounds of training. Otherwise the event is a release by another mechanism, which Other
	// names, for example [LaplaceNoise]. Sampling is then Unsampled. Epsilon, Delta and Rho are the parameters of
	// those mechanisms that need them (see their comments) and otherwise 0.
	Other   Other   `json:"mechanism,omitempty"`
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	Rho     float64 `json:"rho,omitempty"`
	// Noise names the seed or secret from which the noise was drawn, if it is known. Accountants ignore it. [Compose]
	// uses it to refuse releases that share noise. The JSON of an event alone does not have it. In JSON, a [Release]
	// names it once for all its events, and a [Ledger] for each event.
	Noise Noise `json:"-"`
}

// SampleRate returns q, the probability that a given record is used in a given round. For a release that is not a
// round of training (see Other), it returns 1.
func (e Event) SampleRate() float64 {
	if e.Other != "" {
		return 1
	}
	if e.Rate != 0 {
		return e.Rate
	}
	return float64(e.SampleSize) / float64(e.DatasetSize)
}

// ExpectedSize returns the expected number of records in a round's batch. It is SampleSize, which is 0 if the event
// gives its Rate instead. For Allocation with t rounds in an epoch, it is N/t rounded up, or 0 if the event does not
// give the number of records N. The event must be valid.
func (e Event) ExpectedSize() int {
	if e.Sampling == Allocation {
		t := e.Batches()
		return e.DatasetSize/t + min(1, e.DatasetSize%t)
	}
	return e.SampleSize
}

// Alike reports whether e and o can be rounds of one [Mechanism] on one data set: SampleSize, Count and Noise may
// differ, but all other fields are equal. Use it if two releases name the same seed or secret and the same run as the
// source of their noise. If their events are not alike, they are not parts of that one run, and no ε holds for them
// together.
func (e Event) Alike(o Event) bool {
	e.SampleSize, e.Count, e.Noise = o.SampleSize, o.Count, o.Noise
	return e == o
}

// Validate returns one error that lists every field of e outside its range.
func (e Event) Validate() error {
	if e.Other != "" {
		return e.validateOther()
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	_, samplingErr := ParseSampling(string(e.Sampling))
	_, adjacencyErr := ParseAdjacency(string(e.Adjacency))
	errs = append(errs, samplingErr, adjacencyErr)
	errs = append(errs, CheckNotNegative("noise multiplier", e.NoiseMultiplier))
	switch {
	case (e.Sampling == Allocation || e.Truncated != 0) && e.Rate != 0 && e.SampleSize == 0 && e.DatasetSize >= 0:
		errs = append(errs, CheckRate(e.Rate))
	case e.Rate != 0 && (e.SampleSize != 0 || e.DatasetSize != 0):
		fail("sample rate = %v and sample size = %d of N = %d, only one may be given", e.Rate, e.SampleSize,
			e.DatasetSize)
	case e.Rate != 0:
		errs = append(errs, CheckRate(e.Rate))
	case e.DatasetSize < 1:
		fail("data set size N = %d, must be at least 1", e.DatasetSize)
	case e.SampleSize < 1 || e.SampleSize > e.DatasetSize:
		fail("sample size = %d, must be in [1, N = %d]", e.SampleSize, e.DatasetSize)
	}
	switch {
	case e.Redraw != "" && !e.Sampling.HasEpochs() && samplingErr == nil:
		fail("redraw = %q, must not be given for %s sampling: each round draws anew", e.Redraw, e.Sampling)
	case e.Redraw != "" || e.Sampling == Allocation:
		_, err := ParseRedraw(string(e.Redraw))
		errs = append(errs, err)
	}
	if e.Sampling == Allocation {
		errs = append(errs, e.checkBatches())
	}
	if e.Truncated != 0 && (e.Truncated < 1 || e.Truncated > e.DatasetSize) {
		fail("truncated batch size = %d, must be in [1, N = %d], and N must be given", e.Truncated, e.DatasetSize)
	}
	if e.Group != 0 { // 0 means that it is not given
		errs = append(errs, CheckCount("group", e.Group, 1, MaxGroup))
	}
	if e.Epsilon != 0 || e.Delta != 0 || e.Rho != 0 {
		fail("epsilon = %v, delta = %v and rho = %v, must not be given without a mechanism", e.Epsilon, e.Delta, e.Rho)
	}
	if e.Count < 1 {
		fail("count of rounds = %d, must be at least 1", e.Count)
	}
	return errors.Join(errs...)
}

// CheckEvents returns one error that lists every invalid event, with its number in the list.
func CheckEvents(events []Event) error {
	var errs []error
	for i, e := range events {
		if err := e.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("event %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// checkBatches returns an error unless e's rate is 1/t. The t rounds of an epoch are a constant of
// the plan. If they were computed from the number of records, neighbours could have different t.
func (e Event) checkBatches() error {
	if e.Rate == 0 && (e.SampleSize != 0 || e.DatasetSize != 0) {
		return fmt.Errorf("sample size = %d of N = %d, must not be given for %s sampling: give the rate 1/t of t "+
			"batches", e.SampleSize, e.DatasetSize, Allocation)
	}
	if CheckRate(e.Rate) != nil {
		return nil // reported by Validate
	}
	const most = 1e8 // above it, rounding could turn 1/t into the rate of t+1
	t := math.Round(1 / e.Rate)
	if t > most {
		return fmt.Errorf("sample rate = %v, must be at least %v for %s sampling", e.Rate, 1/most, Allocation)
	}
	if !(math.Abs(t*e.Rate-1) <= 1e-9) {
		return fmt.Errorf("sample rate = %v, must be 1/t of t batches for %s sampling, such as %v for t = %v", e.Rate,
			Allocation, 1/t, t)
	}
	return nil
}
