package dp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/internal/decimal"
	"proactivedp/internal/f32"
	"proactivedp/internal/strictjson"
	"proactivedp/rng"
)

// Mechanism is one client's private release, round after round: sample
// records, sum their gradients clipped to ClipNorm, add Gaussian noise. What is
// sampled and noised and what is accounted both come from this one value.
// It is immutable and safe for concurrent use. Its zero value, and any that Validate refuses,
// is of no use.
type Mechanism struct {
	Sampling        Sampling
	Adjacency       Adjacency
	ClipNorm        float64 // C > 0, the largest norm of one record's gradient
	NoiseMultiplier float64 // σ ≥ 0: the noise of every coordinate is N(0, C²σ²)
	DatasetSize     int     // N, the records that the client holds
	Sizes           Sizes   // s_i, expected under Poisson sampling
	// Exact has samples and noise drawn by whole numbers alone, as their distributions say and
	// not nearly so: nothing shows in low bits, but it takes longer. For a release, where it is
	// attacked, against a simulation.
	Exact bool
}

// MinScale and MaxScale bound the numbers that scale a release, C and C·σ: well
// inside the range of a normal float32, so that neither the gradients nor the
// noise vanish or overflow when they are rounded.
const (
	MinScale = 1e-30
	MaxScale = 1e30
)

// Validate reports every field of m that is outside its range. Sizes are
// checked for the first rounds rounds.
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
		fail("noise multiplier = %v of exact noise, must be at most %g", m.NoiseMultiplier, float64(MaxExactNoise))
	}
	if m.Sizes == nil {
		fail("no sample sizes")
		return errors.Join(errs...)
	}
	if _, err := SchemeOf(m.Sampling, m.Adjacency); errors.Is(err, ErrNotCovered) { // unknown names are reported below
		errs = append(errs, err)
	} else if err == nil {
		errs = append(errs, m.Sampling.CheckDrawn())
	}
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
	e.SampleSize = largest
	if err := e.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func isConstant(s Sizes) bool {
	_, ok := s.(ConstantSizes)
	return ok
}

// Event returns what round i releases.
func (m Mechanism) Event(i int) Event { return m.EventOf(m.Sizes.At(i)) }

// EventOf returns what a round releases that samples size records, as SampleOf
// does.
func (m Mechanism) EventOf(size int) Event {
	return Event{
		Sampling:        m.Sampling,
		Adjacency:       m.Adjacency,
		NoiseMultiplier: m.NoiseMultiplier,
		SampleSize:      size,
		DatasetSize:     m.DatasetSize,
		Count:           1,
	}
}

// Events returns what the first rounds rounds release.
func (m Mechanism) Events(rounds int) []Event {
	var l Ledger
	for i := range rounds {
		l.Record(m.Event(i))
	}
	return l.Events()
}

// SampleScratch is the memory of Sample, owned by the caller. The zero value
// is ready.
type SampleScratch struct {
	taken []uint64 // for samples of fixed size: a bit a record, all clear between calls
	rate  float64  // for Poisson samples: the last sample rate q
	gap   float64  // and its mean gap, -1/ln(1-q)
}

// Sample appends to dst the positions in [0, N) that round i uses, each at
// most once, and returns it. Poisson samples come in increasing order and may
// be empty; fixed-size ones have exactly s_i elements. It allocates only to
// grow dst or the scratch.
func (m *Mechanism) Sample(dst []int32, i int, s *rng.Stream, scratch *SampleScratch) []int32 {
	return m.SampleOf(dst, m.Sizes.At(i), s, scratch)
}

// SampleOf is Sample for a round of the given size in [1, N], where sizes are not
// the sequence's.
func (m *Mechanism) SampleOf(dst []int32, size int, s *rng.Stream, scratch *SampleScratch) []int32 {
	switch {
	case m.Sampling == FixedSize:
		return sampleFixed(dst, size, m.DatasetSize, s, scratch)
	case m.Sampling != Poisson:
		panic(fmt.Sprintf("dp: sampling = %q is not drawn; Mechanism.Validate says so", m.Sampling))
	case m.Exact:
		return s.AppendTrials(dst, size, m.DatasetSize)
	case size == m.DatasetSize:
		for p := range size {
			dst = append(dst, int32(p))
		}
		return dst
	}
	// Each of N positions is taken with probability q by drawing the geometric gaps between
	// them: P(gap ≥ g) = (1-q)^g, the floor of an exponential number of mean -1/ln(1-q). That
	// has 31 bits, so a position is taken with probability q to 2^-31 (a test of rng works it
	// out of the table).
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

// Noise sets u to the round's noise N(0, C²σ²I), as a start for what is added to it
// in float64. Of an exact mechanism it is the noise alone, for comparison: a sum that is added
// to it later has not been rounded to the lattice, as AddNoise does.
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

// AddNoise sets u, of the sum's length, to the sum plus the round's noise N(0,
// C²σ²I). They are added in float64, so that rounding to float32 touches only what
// is private; of an exact mechanism by whole multiples of some 2^-40 of Cσ.
func (m *Mechanism) AddNoise(u []float32, sum []float64, s *rng.Stream) {
	if m.Exact && m.NoiseMultiplier > 0 {
		m.lattice(len(u)).add(u, sum, s)
		return
	}
	m.Noise(u, s)
	f32.AddNarrow(u, sum)
}

// roundingOfRelease is by how much a release may be longer than in exact arithmetic,
// relative to its parts: each of its coordinates is rounded to float32 once.
const roundingOfRelease = 1e-6

// CheckRelease reports that u is no release of a round that has sampled so many records,
// with noise from s: without the noise it is longer than C times the records. So another
// σ is seen, wherever more than their gradients is left of the noise.
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

// LargestRelease returns a norm that the release of a round of params coordinates, of
// the expected size, exceeds with probability at most tail in (0, 1), whatever the records
// are. With L = ln(2/tail) and the sample size B, by Bernstein's inequality for Poisson
// samples, whose variance is at most s,
//
//	B ≤ s + √(2sL) + L/3      and      ‖noise‖ ≤ Cσ(√d + √(2L)),
//
// each but for probability tail/2 (Boucheron, Lugosi and Massart, "Concentration
// Inequalities", 2013, Theorems 2.10 and 5.6), and ‖U‖ ≤ C·B + ‖noise‖, but for rounding. Of
// an exact mechanism the noise is larger than Cσ, by what its lattice takes. A sampling that
// is not drawn is an error.
func (m *Mechanism) LargestRelease(size, params int, tail float64) (float64, error) {
	if m == nil {
		return 0, errors.New("no Mechanism")
	}
	l, records := math.Log(2/tail), float64(size)
	switch m.Sampling {
	case Poisson:
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

// Ledger is what one client has released so far, in order, equal rounds
// counted together. The zero value is an empty ledger.
type Ledger struct {
	events []Event
}

// Record adds an event. Equal rounds are not counted together where their number is no int.
func (l *Ledger) Record(e Event) {
	if n := len(l.events); n > 0 {
		last, count := &l.events[n-1], e.Count
		if e.Count = last.Count; *last == e && count <= math.MaxInt-last.Count {
			last.Count += count
			return
		}
		e.Count = count
	}
	l.events = append(l.events, e)
}

// Repeat records one more round like the last, if that was of the given size and an int counts
// one more, and reports whether it was: for the ledger of one mechanism.
func (l *Ledger) Repeat(size int) bool {
	n := len(l.events)
	if n == 0 || l.events[n-1].SampleSize != size || l.events[n-1].Count == math.MaxInt {
		return false
	}
	l.events[n-1].Count++
	return true
}

// Events returns a copy of what was recorded.
func (l *Ledger) Events() []Event { return slices.Clone(l.events) }

// Run returns the recorded rounds as one Run, with nothing left over. It panics if an int cannot
// hold the number of gradient computations.
func (l *Ledger) Run() Run {
	r := Run{}
	for _, e := range l.events {
		some, ok1 := decimal.Product(e.Count, e.SampleSize)
		rounds, ok2 := decimal.Sum(r.Rounds, e.Count)
		computed, ok3 := decimal.Sum(r.Computed, some)
		if !ok1 || !ok2 || !ok3 {
			panic("dp: the ledger has more gradient computations than an int can hold")
		}
		r = Run{Rounds: rounds, Computed: computed, Max: max(r.Max, e.SampleSize)}
	}
	return r
}

// Clone returns an independent copy of l.
func (l *Ledger) Clone() Ledger { return Ledger{events: l.Events()} }

// Named returns a copy of l in which all rounds are of the noise given.
func (l *Ledger) Named(noise Noise) Ledger {
	named := l.Clone()
	for i := range named.events {
		named.events[i].Noise = noise
	}
	return named
}

// ledgerRow is an event of a ledger in JSON, with whose noise it is.
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
// errors, because a round that is not understood must not be counted as another.
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

// givenEvent is an event in JSON. A noise multiplier that is not given is not 0.
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
