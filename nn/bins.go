package nn

import (
	"slices"
	"sort"
)

// Where matrix products add examples in float32, a sum's rounding depends on what it
// has grown to, and one record more or less would move the rounding of all that comes
// behind it. So a batch is put into the order of its records' numbers and summed in
// bins, each by itself in float32 and all together in float64: the largest intervals
// [i·2^j, (i+1)·2^j) of record numbers of which the batch has at most binSize. What a
// bin sums to depends on its own records alone. A record that comes splits at most
// one bin, that of 64 records it falls into, or lengthens one by one, or is a bin by
// itself; a record that goes does the reverse.

// binSize is how many examples are added in float32.
const binSize = 64

// MaxBatch is the largest batch whose rounding is bounded.
const MaxBatch = 1 << 18

// Rounding bounds, as a part of C, by how much more than C the sum of GradSum can
// move when a record comes or goes, with factors that bring every gradient's norm to
// at most C as computed, and a batch of at most MaxBatch.
//
// The changed bin is of n ≤ 64 examples before and of n+1, in one or more bins of at
// most 64, after. The kernels of every class but that of matrix tiles add in the order of
// the terms, a product rounded by itself (portable) or with its sum (AVX2, AVX-512, NEON).
// Adding n numbers in float32, each perhaps a product rounded before, is off by at most
// (n+1)·u·Σ|·| in every coordinate to first order, u = 2^-24 (N. Higham, "Accuracy and
// Stability of Numerical Algorithms", Eq. 3.5), so the vector by at most (n+1)·u·n·C, in
// all layers together since the norms of an example's parts are those of orthogonal
// vectors: 65·64·u·C before and 65·65·u·C after. The rest of the first term is for the
// second order. Other bins are the same bits, and so are gradients of other examples,
// wherever they stand.
//
// Sums by matrix tiles keep to it: those of a bin's examples that a dense layer makes
// add 16 terms in a row, two such sums, and then at most 12 of them, of magnitudes that
// are at most 1 + 2^-6 of those of the products, and leave out 2^-22.9, so they are off
// by less than 34·u·Σ|·|. What a convolution adds is at newTiledGhost.
//
// In float64 at most MaxBatch/2 bins are added (of two intervals that make up one of
// more than 64 records at most 31 in a row can be small), to at most MaxBatch·C: by
// 2^17·2^-53·2^18·C before and after.
const Rounding = (binSize+1)*(2*binSize+2)*0x1p-24 + 0x1p-17

// appendBins appends where the bins of rows, in ascending order, end.
func appendBins(ends []int, rows []int32) []int { return splitBins(ends, rows, 0, len(rows), 30) }

// splitBins appends the ends of the bins of rows[from:to], which agree in all bits
// above the given one.
func splitBins(ends []int, rows []int32, from, to, bit int) []int {
	switch {
	case from == to:
		return ends
	case to-from <= binSize:
		return append(ends, to)
	case bit < 0: // one record many times, which no sample has
		return splitBins(append(ends, from+binSize), rows, from+binSize, to, bit)
	}
	middle := from + sort.Search(to-from, func(i int) bool { return rows[from+i]>>bit&1 != 0 })
	return splitBins(splitBins(ends, rows, from, middle, bit-1), rows, middle, to, bit-1)
}

// order puts the batch's records in order, in the scratch, and makes the bins.
func (s *Scratch) order(rows []int32) []int32 {
	s.rows = append(s.rows[:0], rows...)
	if !slices.IsSorted(s.rows) {
		slices.Sort(s.rows)
	}
	s.ends = appendBins(s.ends[:0], s.rows)
	return s.rows
}

// segment is a part of a bin, [from, to) in a batch: whether it has the first of the
// bin's examples, and the last.
type segment struct {
	from, to     int
	begins, ends bool
}

// segments returns what the bins have of the examples [from, to) of the batch. They
// are valid until the next call.
func (s *Scratch) segments(from, to int) []segment {
	s.parts = s.parts[:0]
	for i := sort.SearchInts(s.ends, from+1); from < to; i++ {
		end := min(s.ends[i], to)
		s.parts = append(s.parts, segment{from, end, i == 0 && from == 0 || i > 0 && from == s.ends[i-1],
			end == s.ends[i]})
		from = end
	}
	return s.parts
}

// binStart returns where the bin begins that is at a place of the batch, or that place if
// a bin ends there.
func (s *Scratch) binStart(at int) int {
	if i := sort.SearchInts(s.ends, at+1); i > 0 {
		return s.ends[i-1]
	}
	return 0
}

// runs is segments of the bins' runs of so many examples each, the last of a bin shorter.
func (s *Scratch) runs(from, to, most int) []segment {
	s.cut = s.cut[:0]
	for _, p := range s.segments(from, to) {
		start := s.binStart(p.from)
		for at := p.from; at < p.to; {
			next := at + most - (at-start)%most
			end := min(next, p.to)
			s.cut = append(s.cut, segment{at, end, (at-start)%most == 0, end == next || p.ends && end == p.to})
			at = end
		}
	}
	return s.cut
}

// pieces is segments cut to at most so many examples.
func (s *Scratch) pieces(from, to, most int) []segment {
	s.cut = s.cut[:0]
	for _, p := range s.segments(from, to) {
		for at := p.from; at < p.to; at += most {
			end := min(at+most, p.to)
			s.cut = append(s.cut, segment{at, end, p.begins && at == p.from, p.ends && end == p.to})
		}
	}
	return s.cut
}
