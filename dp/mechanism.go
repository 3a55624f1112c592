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

// Mechanism says how one client makes the message of a round (a release): it draws a batch of records, sums their
// gradients, each clipped to ClipNorm, and adds Gaussian noise. The client draws with its methods, and
// [Mechanism.Events] describes the same rounds for an accountant. A Mechanism is immutable and safe for concurrent
// use. The zero value is not valid; see Validate.
type Mechanism struct {
	Sampling        Sampling
	Adjacency       Adjacency
	ClipNorm        float64 // clipping norm C > 0, the largest norm of one record's gradient
	NoiseMultiplier float64 // noise multiplier σ ≥ 0: the noise of every coordinate is N(0, C²σ²)
	DatasetSize     int     // number of records N that the client has
	// Sizes has the batch size s_i of each round i. For Poisson sampling it is the expected size; for Allocation see
	// Batches.
	Sizes Sizes
	// Batches is t, the number of rounds in one epoch of Allocation, and 0 for any other sampling. Fix it when you
	// plan the training: it must not be computed from the records, because it is not private. With Allocation, a
	// round uses N/t records on average, and Sizes has one size, which only scales step sizes and simulated times.
	Batches int
	// Group is the largest number of records that one person may have, if the guarantee is to protect a person. 0
	// means that it protects a record. Package sim refuses data in which a person has more records.
	Group int
	// Exact draws batches and noise by integer arithmetic, so that they have exactly the stated distributions. Set it
	// for real releases: without it, the low bits of a floating-point release may reveal something about the records.
	// It is slower, so leave it off for simulations.
	Exact bool
}

// MinScale and MaxScale are the limits of the clipping norm C and, unless σ is 0, of the noise's standard deviation C·σ
// in a Mechanism. They are well inside the range of float32, so that neither gradients nor noise vanish or overflow
// when they are rounded.
const (
	MinScale = 1e-30
	MaxScale = 1e30
)

// Validate returns one error that lists every field of m outside its range. It checks the sizes of rounds 0 to
// rounds-1, and that of round 0 even if rounds is 0. So rounds should be the number of rounds of the training.
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

// EventOf returns a round with the given batch size as an [Event] with Count 1. Use it for a round whose size differs
// from m.Sizes, for example because the client adapts it; [Mechanism.SampleOf] draws such a batch. For Allocation the
// size is ignored.
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

// Events returns rounds 0 to rounds-1 as events, for an accountant. For example, the ε of a training of T rounds is
// that of Events(T). Equal consecutive rounds become one Event.
func (m Mechanism) Events(rounds int) []Event {
	var l Ledger
	for i := range rounds {
		if !l.Repeat(m.Sizes.At(i)) {
			l.Record(m.Event(i))
		}
	}
	return l.Events()
}

// Allotment is the result of drawing one epoch of random allocation (see [Allocation]): which records are in the
// batch of each round. [Mechanism.Allot] draws into it, and [Allotment.Of] returns a batch. The zero value is ready
// to use.
type Allotment struct {
	first   []int32 // by round, the place in records of its first record; one more marks the end
	records []int32 // all N positions, ordered by round
}

// Allot draws one epoch of Allocation into a: it assigns each of the N records to one of the m.Batches rounds,
// uniformly and independently of the others. s must be the random stream for this client and epoch, at its start (see
// [rng.Root.Reseed]), so that a training that continues after an interruption draws the same epoch again. The memory of
// a and scratch is reused.
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

// Of returns the batch of round j of the epoch, j = 0, 1, …, as the positions of its records in increasing order. j
// must be less than the Batches of the Mechanism that drew the epoch. The batch is empty if no record was assigned to
// the round. The caller must not change the slice.
func (a *Allotment) Of(j int) []int32 { return a.records[a.first[j]:a.first[j+1]] }

// SampleScratch is memory for [Mechanism.Sample] and [Mechanism.Allot]. Keep one for each goroutine and pass it to
// every call, so that the calls need not allocate. The zero value is ready to use.
type SampleScratch struct {
	taken  []uint64 // for fixed-size samples: one bit a record, all clear between calls
	rate   float64  // for Poisson samples: the last sample rate q
	gap    float64  // the mean gap at that rate, -1/ln(1-q)
	rounds []int32  // for allocation: the round of each record
}

// Sample draws the batch of round i with the random stream s. It appends the positions of the batch's records,
// numbers in [0, N) without repetition, to dst and returns dst. A Poisson sample is in increasing order and may be
// empty. A fixed-size sample has exactly s_i elements, in no order. Sample panics for other samplings: Allocation draws
// whole epochs with [Mechanism.Allot], and no Mechanism draws Shuffle.
func (m *Mechanism) Sample(dst []int32, i int, s *rng.Stream, scratch *SampleScratch) []int32 {
	return m.SampleOf(dst, m.Sizes.At(i), s, scratch)
}

// SampleOf draws a batch of the given (expected) size, in [1, N], where [Mechanism.Sample] would use the size in
// m.Sizes. Use it if a client adapts its batch sizes. [Mechanism.EventOf] is the event for such a round.
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

// Noise sets u to the noise of a round, N(0, C²σ²I), drawn from the stream s. Only a simulation may add this noise to
// a sum of gradients. For a release use [Mechanism.AddNoise]: with exact noise (see Exact) it also rounds the sum, so
// that the low bits of the sum reveal nothing.
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

// AddNoise makes the release of a round: it sets u to sum, the round's sum of clipped gradients, plus noise N(0,
// C²σ²I) from the stream s. u and sum must have equal lengths. With Exact and σ above 0, sum and noise are rounded to
// multiples of one spacing of about Cσ·2^-40, so that low bits reveal nothing about the records. Otherwise they are
// added in float64. u is the result as float32; this rounding costs no privacy, because it comes after the noise.
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
// drew its noise from the stream s. Package sim uses it to check the messages in a saved run, whose seeds are known.
// It subtracts the noise from u. What remains must be a sum of that many clipped gradients, with a norm of at most
// C·records. If u was made with another noise multiplier than that of m, part of the noise remains. The check is
// certain to detect that only if the norm of this part is above 2C·records.
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

// LargestRelease returns a bound on the norm of a round's release. A server can use it to refuse messages with a
// larger norm, which an attacker or a faulty client sent. For any records, an honest release exceeds the bound with a
// probability of at most tail, in (0, 1). size is the expected batch size, and params the number of coordinates.
// LargestRelease fails if m is nil, if the sampling is not Poisson, FixedSize or Allocation, or if Batches is invalid
// for Allocation.
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

// Ledger lists the rounds that one client has released so far, in order, so that an accountant can compute what they
// cost. Add each round with [Ledger.Record] or [Ledger.Repeat]. Equal consecutive rounds are counted together. The
// zero value is an empty ledger.
type Ledger struct {
	events []Event
}

// Record adds an event to the end of the ledger. If it equals the last event except for its count, only the count of
// the last event grows. There are two exceptions, in which e is listed as a separate event:
//
//   - an int cannot hold the sum of the counts;
//   - the sampling has epochs (Allocation or Shuffle). Then e begins a new epoch, in which a record may be used
//     again. One event for all these rounds would look like fewer epochs, and an accountant would compute too small
//     an ε.
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

// Repeat records one more round that equals the last one. It saves the time to make an Event. Call it for each round
// after the first, and call [Ledger.Record] if it returns false. It records nothing and returns false in these cases:
//
//   - the ledger is empty;
//   - size, the batch size, differs from the last round (for Allocation, size is ignored);
//   - the sampling is Shuffle, which no Mechanism draws;
//   - an int cannot hold the count.
//
// Use Repeat only for consecutive rounds of one client in one run, from round 0 on, because with Allocation it
// assumes that the round continues the epochs of the last event.
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

// Times returns the events of n clients together, if each of them releases the given events. Use it for the ε of a
// record that all n clients hold. Usually, it multiplies the counts by n. But an event of Allocation or Shuffle is
// listed n times, once for each client, unless it consists of whole epochs that are each drawn anew. The reason is
// that accountants read one event as consecutive rounds of one client. If they read the unfinished epochs of two
// clients as one epoch, they would count that a record is used once, although each client uses it.
//
// The error wraps [ErrNotCovered] if an event must be listed more than 10,000 times, or if an int cannot hold a
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

// Events returns a copy of the recorded events, for an accountant.
func (l *Ledger) Events() []Event { return slices.Clone(l.events) }

// All iterates over the recorded events, without a copy of the list.
func (l *Ledger) All() iter.Seq[Event] { return slices.Values(l.events) }

// Run summarises the ledger: the number of recorded rounds (Rounds), the number of gradients that they compute in
// expectation (Computed), and the largest expected batch size (Max). Remainder is 0, because a ledger counts released
// rounds and has no planned number of gradients. Run panics if an int cannot hold the number of gradients.
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

// Named returns a copy of l in which every event names the given source of noise (a seed or secret, run and client).
// With the names, [Compose] and [CheckNoise] can find releases that share noise.
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

// MarshalJSON writes the recorded events as a list. Each event also has the key "noise", which names the source of
// its noise (see [Noise]), if that is known.
func (l Ledger) MarshalJSON() ([]byte, error) {
	rows := make([]ledgerRow, len(l.events))
	for i, e := range l.events {
		rows[i] = ledgerRow{e, e.Noise}
	}
	return json.Marshal(rows)
}

// UnmarshalJSON reads the list of events that [Ledger.MarshalJSON] wrote. Unknown keys, missing keys and invalid
// events are errors, because a round that is misread would be counted with a wrong cost.
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
