package dp

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"proactivedp/internal/decimal"
	"proactivedp/internal/f32"
	"proactivedp/internal/strictjson"
	"proactivedp/rng"
)

// Mechanism says how one client makes a release (the message of a round): it draws a batch of records, sums their
// gradients, each clipped to ClipNorm, and adds Gaussian noise. The client and the accountant use the same value, so
// they cannot differ. A Mechanism is immutable and safe for concurrent use. The zero value is not valid; see
// Validate.
type Mechanism struct {
	Sampling        Sampling
	Adjacency       Adjacency
	ClipNorm        float64 // clipping norm C > 0, the largest norm of one record's gradient
	NoiseMultiplier float64 // noise multiplier σ ≥ 0: the noise of every coordinate is N(0, C²σ²)
	DatasetSize     int     // number of records N that the client holds
	Sizes           Sizes   // the sample size s_i of each round; under Poisson sampling, its expected value
	// Batches is t, the number of rounds in one epoch of Allocation, and 0 for any other sampling. It must
	// be a constant of the plan and must not be computed from the records. Sizes then holds one size, which
	// only scales step sizes and simulated times: a round uses N/t records on average.
	Batches int
	// Group is the largest number of records that one person may have, if the guarantee is for a person and
	// not for a record. 0 means a record. Package sim refuses data in which a person has more.
	Group int
	// Exact draws samples and noise by integer arithmetic, so that they have exactly the stated distributions. Use it
	// for real releases: the low bits of a release then reveal nothing about the records. It takes longer than
	// floating point, which is enough for a simulation.
	Exact bool
}

// MinScale and MaxScale are the limits of the clipping norm C and of the noise's standard deviation C·σ
// in a Mechanism. They are well inside the range of float32, so that neither gradients nor noise vanish
// or overflow when they are rounded.
const (
	MinScale = 1e-30
	MaxScale = 1e30
)

// Validate returns one error that lists every field of m outside its range. Of the sample sizes, it checks those of
// rounds 0 to rounds-1. It always checks the size of round 0, even if rounds is 0.
func (m Mechanism) Validate(rounds int) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !(m.ClipNorm >= MinScale && m.ClipNorm <= MaxScale) {
		fail("clipping norm = %v, must be above 0, in [%g, %g]", m.ClipNorm, MinScale, MaxScale)
	} else if std := m.ClipNorm * m.NoiseMultiplier; m.NoiseMultiplier > 0 && !(std >= MinScale && std <= MaxScale) {
		fail("clipping norm %v × noise multiplier %v = %v, must be 0 or in [%g, %g]", m.ClipNorm, m.NoiseMultiplier,
			std, MinScale, MaxScale)
	}
	if m.Exact && m.NoiseMultiplier > MaxExactNoise {
		fail("noise multiplier = %v, must be at most %g with exact noise", m.NoiseMultiplier, float64(MaxExactNoise))
	}
	if m.Sizes == nil {
		fail("no sample sizes")
		return errors.Join(errs...)
	}
	if _, err := SchemeOf(m.Sampling, m.Adjacency); errors.Is(err, ErrNotCovered) { // unknown names are reported below
		errs = append(errs, err)
	} else if err == nil {
		errs = append(errs, m.Sampling.CheckDrawn(), m.checkGroup())
	}
	errs = append(errs, m.checkBatches())
	largest := 0
	for i := range max(rounds, 1) {
		size := m.Sizes.At(i)
		if size < 1 {
			fail("sample size of round %d = %d, must be at least 1", i, size)
			return errors.Join(errs...)
		}
		if largest = max(largest, size); isConstant(m.Sizes) {
			break
		}
	}
	e := m.Event(0)
	if e.SampleSize = largest; m.Sampling == Allocation { // checkBatches has checked t
		e = m.EventOf(largest)
		e.Rate = 1
		if largest > m.DatasetSize {
			fail("sample size = %d, must be in [1, N = %d]", largest, m.DatasetSize)
		}
	}
	if err := e.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkGroup returns an error if m has a group under a sampling or an adjacency for which groups are not
// covered.
func (m Mechanism) checkGroup() error {
	_, err := Event{Sampling: m.Sampling, Adjacency: m.Adjacency, Group: m.Group}.Scheme()
	return err
}

// checkBatches returns an error unless m has batches if, and only if, its sampling is Allocation.
func (m Mechanism) checkBatches() error {
	switch {
	case m.Sampling != Allocation && m.Batches != 0:
		return fmt.Errorf("batches = %d, must be 0 with %s sampling: they are the rounds of an epoch of %s", m.Batches,
			m.Sampling, Allocation)
	case m.Sampling != Allocation:
		return nil
	}
	var err error
	if m.Batches < 1 || m.Batches > MaxRounds {
		err = fmt.Errorf("batches = %d, must be in [1, %d] with sampling = %q", m.Batches, MaxRounds, Allocation)
	}
	if m.DatasetSize < 1 {
		err = errors.Join(err, fmt.Errorf("data set size N = %d, must be at least 1", m.DatasetSize))
	}
	if !isConstant(m.Sizes) {
		err = errors.Join(err, fmt.Errorf("sample sizes = %v, must be one size with %s sampling, which puts N/t records "+
			"into each round", m.Sizes, Allocation))
	}
	return err
}

func isConstant(s Sizes) bool {
	_, ok := s.(ConstantSizes)
	return ok
}

// Event returns round i of the mechanism as an [Event] with Count 1, for an accountant.
func (m Mechanism) Event(i int) Event { return m.EventOf(m.Sizes.At(i)) }

// EventOf returns a round with the given batch size as an [Event] with Count 1. It ignores m.Sizes.
// [Mechanism.SampleOf] draws such a batch.
func (m Mechanism) EventOf(size int) Event {
	if m.Sampling == Allocation {
		return Event{
			Sampling: m.Sampling, Adjacency: m.Adjacency, NoiseMultiplier: m.NoiseMultiplier, DatasetSize: m.DatasetSize,
			Rate: 1 / float64(m.Batches), Redraw: EachEpoch, Group: m.Group, Count: 1,
		}
	}
	return Event{
		Sampling:        m.Sampling,
		Adjacency:       m.Adjacency,
		NoiseMultiplier: m.NoiseMultiplier,
		SampleSize:      size,
		DatasetSize:     m.DatasetSize,
		Group:           m.Group,
		Count:           1,
	}
}

// Events returns rounds 0 to rounds-1 of the mechanism as events, for an accountant. Equal consecutive rounds become
// one Event.
func (m Mechanism) Events(rounds int) []Event {
	var l Ledger
	for i := range rounds {
		if !l.Repeat(m.Sizes.At(i)) {
			l.Record(m.Event(i))
		}
	}
	return l.Events()
}

// Allotment says which records are in each round's batch, for one epoch of random allocation (see [Allocation]).
// [Mechanism.Allot] fills it; the zero value is ready for that.
type Allotment struct {
	first   []int32 // by round, the place in records of its first record; one more marks the end
	records []int32 // all N positions, ordered by round
}

// Allot draws one epoch of Allocation into a: each of the N positions gets one of the m.Batches rounds, uniformly and
// independently of the others. The stream s must be at its start for this client and epoch, see [rng.Root.Reseed].
// The memory of a and scratch is reused.
func (m *Mechanism) Allot(a *Allotment, s *rng.Stream, scratch *SampleScratch) {
	n, t := m.DatasetSize, m.Batches
	rounds := slices.Grow(scratch.rounds[:0], n)[:n]
	a.first = slices.Grow(a.first[:0], t+1)[:t+1]
	a.records = slices.Grow(a.records[:0], n)[:n]
	clear(a.first)
	for p := range rounds {
		j := s.IntN(t)
		rounds[p] = int32(j)
		a.first[j+1]++
	}
	for j := range t {
		a.first[j+1] += a.first[j]
	}
	for p, j := range rounds { // counting sort: first[j] becomes the end of round j
		a.records[a.first[j]] = int32(p)
		a.first[j]++
	}
	copy(a.first[1:], a.first[:t])
	a.first[0] = 0
	scratch.rounds = rounds
}

// Of returns the positions of the records in round j of the epoch, in increasing order. j counts from 0 and must be
// below the Batches of the Mechanism that drew the epoch. The result is empty if no record chose round j. The caller
// must not change the slice.
func (a *Allotment) Of(j int) []int32 { return a.records[a.first[j]:a.first[j+1]] }

// SampleScratch is working memory that [Mechanism.Sample] uses again in each call. The caller owns it. The zero value
// is ready.
type SampleScratch struct {
	taken  []uint64 // for fixed-size samples: one bit a record, all clear between calls
	rate   float64  // for Poisson samples: the last sample rate q
	gap    float64  // the mean gap at that rate, -1/ln(1-q)
	rounds []int32  // for allocation: the round of each record
}

// Sample draws the batch of round i: it appends to dst the positions in [0, N) of the records to use, each
// at most once, and returns dst. Poisson samples are in increasing order and may be empty. Fixed-size
// samples have exactly s_i elements. Sample allocates only to grow dst or the scratch. It panics for
// Allocation, which draws whole epochs: use [Mechanism.Allot].
func (m *Mechanism) Sample(dst []int32, i int, s *rng.Stream, scratch *SampleScratch) []int32 {
	return m.SampleOf(dst, m.Sizes.At(i), s, scratch)
}

// SampleOf draws a batch as Sample does, for a round of the given batch size in [1, N] instead of the size in
// m.Sizes.
func (m *Mechanism) SampleOf(dst []int32, size int, s *rng.Stream, scratch *SampleScratch) []int32 {
	switch {
	case m.Sampling == FixedSize:
		return sampleFixed(dst, size, m.DatasetSize, s, scratch)
	case m.Sampling != Poisson:
		panic(fmt.Sprintf("dp: sampling = %q has no samples of single rounds", m.Sampling))
	case m.Exact:
		return s.AppendTrials(dst, size, m.DatasetSize)
	case size == m.DatasetSize:
		for p := range size {
			dst = append(dst, int32(p))
		}
		return dst
	}
	// To take each of N positions with probability q, draw the geometric gaps between taken
	// positions: P(gap ≥ g) = (1-q)^g. A gap is the floor of an exponential number with mean
	// -1/ln(1-q). That number has 31 bits, so the probability is q to within 2^-31. A test of rng
	// computes it from the table.
	if q := float64(size) / float64(m.DatasetSize); scratch.rate != q {
		scratch.rate, scratch.gap = q, -1/math.Log1p(-q)
	}
	return s.AppendPlaces(dst, scratch.gap, m.DatasetSize)
}

// sampleFixed takes size of n positions without replacement (R. W. Floyd, in
// Bentley, "Programming Pearls", CACM 30(9), 1987).
func sampleFixed(dst []int32, size, n int, s *rng.Stream, scratch *SampleScratch) []int32 {
	if words := (n + 63) / 64; len(scratch.taken) < words {
		scratch.taken = make([]uint64, words)
	}
	taken := scratch.taken
	first := len(dst)
	for top := n - size; top < n; top++ {
		p := s.IntN(top + 1)
		if taken[p/64]>>(p%64)&1 != 0 {
			p = top
		}
		taken[p/64] |= 1 << (p % 64)
		dst = append(dst, int32(p))
	}
	for _, p := range dst[first:] {
		taken[p/64] = 0
	}
	return dst
}

// Noise sets u to the round's noise N(0, C²σ²I), as float32. Only simulations may add this noise to a sum. For a
// release use AddNoise. With exact noise (see Exact), AddNoise also rounds the sum to the same spacing as the noise,
// so that the low bits of the sum reveal nothing.
func (m *Mechanism) Noise(u []float32, s *rng.Stream) {
	switch std := m.ClipNorm * m.NoiseMultiplier; {
	case !(std > 0):
		clear(u)
	case m.Exact:
		m.lattice(len(u)).add(u, nil, s)
	default:
		f32.Normal(u, std, s)
	}
}

// AddNoise sets u to sum plus the round's noise N(0, C²σ²I). u and sum must have equal lengths. The addition is in
// float64. The result is rounded to float32, which affects only what is already private. With Exact and σ above 0, AddNoise also rounds the sum to
// whole multiples of a spacing of about Cσ·2^-40. The noise is a multiple of the same spacing.
func (m *Mechanism) AddNoise(u []float32, sum []float64, s *rng.Stream) {
	if m.Exact && m.NoiseMultiplier > 0 {
		m.lattice(len(u)).add(u, sum, s)
		return
	}
	m.Noise(u, s)
	f32.AddNarrow(u, sum)
}

// roundingOfRelease bounds how much rounding each coordinate to float32 lengthens a release,
// relative to the norms of its parts.
const roundingOfRelease = 1e-6

// CheckRelease returns an error if u cannot be the release of a round that sampled the given number of records and
// drew its noise from the stream s. It subtracts the noise from u. What remains is the sum of the clipped gradients,
// so its norm must be at most C·records. A slightly wrong σ can pass this check. A wrong σ is detected with certainty
// only if it changes the norm of the noise by more than 2C·records.
func (m *Mechanism) CheckRelease(u []float32, records int, s *rng.Stream) error {
	if m == nil || !(m.ClipNorm > 0) {
		return errors.New("no Mechanism, or one without a clipping norm")
	}
	noise := make([]float32, len(u))
	m.Noise(noise, s)
	var rest2 float64
	for j, n := range noise {
		d := float64(u[j]) - float64(n)
		rest2 += float64(d * d)
	}
	rest, most := math.Sqrt(rest2), float64(records)*m.ClipNorm
	if slack := roundingOfRelease * (most + math.Sqrt(f32.SumSquares(u))); !(rest <= most+slack) {
		return fmt.Errorf("release: its norm is %.4g without the noise of σ = %v, must be at most %.4g, C for "+
			"each of %d records", rest, m.NoiseMultiplier, most, records)
	}
	return nil
}

// LargestRelease returns a bound on the norm of a round's release. Whatever the records are, the norm exceeds the
// bound with probability at most tail, which must be in (0, 1). params is the number of coordinates, and size is the
// expected batch size. LargestRelease fails for a nil m, for a sampling that no mechanism draws, and for Allocation
// with invalid Batches.
func (m *Mechanism) LargestRelease(size, params int, tail float64) (float64, error) {
	// Let C be the clipping norm, σ the noise multiplier, d = params and L = ln(2/tail). Bernstein's
	// inequality bounds the batch size B of Poisson samples, whose variance is at most s = size:
	//
	//	B ≤ s + √(2sL) + L/3      and      ‖noise‖ ≤ Cσ(√d + √(2L)),
	//
	// each except with probability tail/2 (Boucheron, Lugosi and Massart, "Concentration Inequalities",
	// 2013, Theorems 2.10 and 5.6). Then ‖U‖ ≤ C·B + ‖noise‖ for the release U, up to rounding. For
	// Allocation, N/t replaces s: B is binomial with this mean. The noise of an exact mechanism is
	// slightly larger than Cσ, because of its lattice.
	if m == nil {
		return 0, errors.New("no Mechanism")
	}
	l, records := math.Log(2/tail), float64(size)
	switch m.Sampling {
	case Poisson:
		records += math.Sqrt(2*records*l) + l/3
	case Allocation:
		if err := m.checkBatches(); err != nil {
			return 0, err
		}
		records = float64(m.DatasetSize) / float64(m.Batches)
		records += math.Sqrt(2*records*l) + l/3
	case FixedSize: // exactly s
	default:
		return 0, m.Sampling.CheckDrawn()
	}
	std := m.ClipNorm * m.NoiseMultiplier
	if m.Exact && std > 0 {
		std = m.lattice(params).std()
	}
	noise := std * (math.Sqrt(float64(params)) + math.Sqrt(2*l))
	return (1 + roundingOfRelease) * (float64(m.ClipNorm*records) + noise), nil
}

// Ledger lists the rounds that one client has released so far, in order. Equal consecutive rounds are counted
// together. The zero value is an empty ledger.
type Ledger struct {
	events []Event
}

// Record adds an event. If it equals the previous event, the two are counted together, unless an int cannot hold the
// sum or the sampling has epochs ([Sampling.HasEpochs]). With epochs, two equal events may belong to different
// epochs, so adding their counts would be wrong: a record is in one round of an epoch, but may be in one round of
// each of two epochs.
func (l *Ledger) Record(e Event) {
	if n := len(l.events); n > 0 && !e.Sampling.HasEpochs() {
		last, count := &l.events[n-1], e.Count
		if e.Count = last.Count; *last == e && count <= math.MaxInt-last.Count {
			last.Count += count
			return
		}
		e.Count = count
	}
	l.events = append(l.events, e)
}

// Repeat counts one more round that equals the last recorded one, and returns true. It returns false, and records
// nothing, in these cases:
//
//   - nothing is recorded yet;
//   - size differs from the batch size of the last round (for Allocation, size is not compared);
//   - the sampling is Shuffle;
//   - an int cannot hold the count.
//
// Then call Record. Use Repeat only for consecutive rounds of one client in one run, from round 0 on, because it
// assumes that rounds of Allocation continue the same sequence of draws.
func (l *Ledger) Repeat(size int) bool {
	n := len(l.events)
	if n == 0 || l.events[n-1].Count == math.MaxInt || l.events[n-1].Sampling == Shuffle {
		return false
	}
	if last := &l.events[n-1]; last.SampleSize != size && last.Sampling != Allocation {
		return false
	}
	l.events[n-1].Count++
	return true
}

// maxCopies is the largest number of equal events that Times returns for one event. An accountant goes through all of
// them for each ε of a search.
const maxCopies = 10_000

// Times returns the events of n clients together, if each of them releases the given events. It multiplies the counts
// by n, with one exception. An event of allocation or shuffled batches is repeated n times, unless it consists of
// whole epochs that are each drawn anew. Otherwise the rounds of two clients would look like rounds of one epoch.
//
// The error wraps [ErrNotCovered] if an event must be repeated more than 10,000 times, or if an int cannot hold a
// count. The events must be valid.
func Times(events []Event, n int) ([]Event, error) {
	var all []Event
	for i, e := range events {
		together, ok := decimal.Product(e.Count, n)
		switch {
		case !ok:
			return nil, fmt.Errorf("event %d: %d rounds of each of %d clients, must be at most 2^63-1 together: %w", i,
				e.Count, n, ErrNotCovered)
		case !e.Sampling.HasEpochs() || e.Redraw == EachEpoch && e.Count%e.Batches() == 0 || n == 1:
			e.Count = together
			all = append(all, e)
		case n > maxCopies:
			return nil, fmt.Errorf("event %d: %d rounds of each of %d clients, must be at most %d clients unless they run whole "+
				"epochs of %d batches, each drawn anew: other rounds need an event for each client, and so many take too much "+
				"time and memory: %w", i, e.Count, n, maxCopies, e.Batches(), ErrNotCovered)
		default:
			all = append(all, slices.Repeat([]Event{e}, n)...)
		}
	}
	return all, nil
}

// Events returns a copy of the recorded events.
func (l *Ledger) Events() []Event { return slices.Clone(l.events) }

// All iterates over the recorded events, without a copy of the list.
func (l *Ledger) All() iter.Seq[Event] { return slices.Values(l.events) }

// Run returns how many rounds are recorded, how many gradients they compute in expectation (Computed), and their
// largest expected batch size (Max). Remainder is 0. Run panics if an int cannot hold the number of gradients.
func (l *Ledger) Run() Run {
	r := Run{}
	for _, e := range l.events {
		size := e.ExpectedSize()
		some, ok1 := decimal.Product(e.Count, size)
		rounds, ok2 := decimal.Sum(r.Rounds, e.Count)
		computed, ok3 := decimal.Sum(r.Computed, some)
		if !ok1 || !ok2 || !ok3 {
			panic("dp: the ledger has more gradient computations than an int can hold")
		}
		r = Run{Rounds: rounds, Computed: computed, Max: max(r.Max, size)}
	}
	return r
}

// Clone returns an independent copy of l.
func (l *Ledger) Clone() Ledger { return Ledger{events: l.Events()} }

// Named returns a copy of l in which the noise of every event comes from the given source.
func (l *Ledger) Named(noise Noise) Ledger {
	named := l.Clone()
	for i := range named.events {
		named.events[i].Noise = noise
	}
	return named
}

// ledgerRow is an event of a ledger in JSON, with the name of its noise.
type ledgerRow struct {
	Event
	Noise Noise `json:"noise,omitzero"`
}

// MarshalJSON writes the events, each with its noise.
func (l Ledger) MarshalJSON() ([]byte, error) {
	rows := make([]ledgerRow, len(l.events))
	for i, e := range l.events {
		rows[i] = ledgerRow{e, e.Noise}
	}
	return json.Marshal(rows)
}

// UnmarshalJSON reads what MarshalJSON writes. Unknown keys, missing keys and invalid events are
// errors: a round that is not understood must not be counted as a different one.
func (l *Ledger) UnmarshalJSON(text []byte) error {
	var rows []struct {
		givenEvent
		Noise Noise `json:"noise,omitzero"`
	}
	if err := strictjson.Decode(text, &rows); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	var read Ledger
	for i, row := range rows {
		e, err := row.event()
		if err != nil {
			return fmt.Errorf("ledger: event %d: %w", i, err)
		}
		e.Noise = row.Noise
		read.events = append(read.events, e)
	}
	*l = read
	return nil
}

// givenEvent is an event in JSON. The pointer distinguishes a missing noise multiplier from 0.
type givenEvent struct {
	Event
	NoiseMultiplier *float64 `json:"noise_multiplier"`
}

func (g givenEvent) event() (Event, error) {
	if g.NoiseMultiplier == nil {
		return Event{}, errors.New("noise_multiplier is missing, must be given")
	}
	g.Event.NoiseMultiplier = *g.NoiseMultiplier
	return g.Event, g.Event.Validate()
}
