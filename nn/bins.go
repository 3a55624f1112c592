package nn

import (
	"slices"
	"sort"
)

// Matrix products add examples in float32, and the rounding of such a sum depends on its size. So
// one record more or less would change the rounding of everything that is added after it. To
// prevent that, a batch is sorted by record number and divided into bins. Each bin is summed in
// float32, and the bins are added in float64. The bins are the largest intervals [i·2^j, (i+1)·2^j)
// of record numbers in which the batch has at most binSize records. So a bin's sum depends only on
// its own records. Adding a record lengthens one bin by one, splits one bin of 64 records, or makes
// a new bin. Removing a record does the reverse.

// binSize is the largest number of examples whose gradients are added in float32. The results of these bins are added
// in float64.
const binSize = 64

// MaxBatch is the largest number of examples in a batch for which [Rounding] bounds the rounding errors of a sum of
// clipped gradients. For larger batches package models returns an error.
const MaxBatch = 1 << 18

// Proof of Rounding. A batch is divided into bins of at most binSize = 64 examples. A bin is summed in
// float32, and the sums of bins are added in float64. A bin depends only on its own examples, wherever
// they are in the batch. So if a record is added or removed, only its bin changes (or the bins into which
// that bin is split), and all other bins keep their bits.
//
// The changed bin, in float32. Let it have n ≤ 64 examples without the record, and n+1 with it. Let u =
// 2^-24. The kernels of every class except matrix tiles add terms in order. They round a product by itself
// (portable) or together with its sum (AVX2, AVX-512, NEON). To first order, adding n numbers, each
// perhaps a rounded product, has an error of at most (n+1)·u times the sum of their magnitudes, in every
// coordinate (N. Higham, "Accuracy and Stability of Numerical Algorithms", Eq. 3.5). Every example has at
// most the norm C, so the error of the vector is at most (n+1)·u·n·C. This includes all layers together,
// because the parts of an example in different layers are orthogonal vectors. The error is at most
// 65·64·u·C without the record and 65·65·u·C with it. The rest of the first term of Rounding covers the
// second order.
//
// bfloat16 (BF16). Two products are a term, and all are added one by one as above. Products of bfloat16
// are exact. In a dense layer, the input is rounded to bfloat16, and the derivative after it is multiplied
// by the clip factor; its norm allows for both. In a convolution, the derivatives are rounded before, for
// the norm and for the sum alike, and an example's sum over positions is multiplied by the clip factor
// when it is added to its bin. Results below 2^-126 are lost, which is less than 2^-24 of LeastNorm in a
// sum.
//
// Matrix tiles. In a dense layer, the sum over a bin's examples adds 16 terms in a row, then two such
// sums, then at most 12 of these. The magnitudes of the terms are at most 1 + 2^-6 times those of the
// products, and splitting leaves out at most 2^-22.9 of them. So the error is less than 34·u times the sum
// of the magnitudes, which is below the bound above. For convolutions see newTiledGhost.
//
// The sum of the bins, in float64. There are at most MaxBatch/2 bins. (Two neighbouring intervals that
// together have more than 64 records cannot both be small. Record numbers have 31 bits, so at most 31
// small bins are in a row.) Their sum is at most MaxBatch·C, so the error is at most 2^17·2^-53·2^18·C,
// once without the record and once with it. This is the second term of Rounding.

// Rounding is a proven bound on how much rounding errors add to the sensitivity of a sum of clipped gradients (see
// [Net.GradSum]), as a fraction of the clipping norm C: adding or removing a record moves the computed sum by at most
// C·(1 + Rounding). A caller who needs at most C therefore clips to C/(1 + Rounding). The bound holds for batches of
// at most MaxBatch examples, and if the caller's [Factor], for each norm that it gets, returns at most the clipping
// norm divided by this norm.
const Rounding = (binSize+1)*(2*binSize+2)*0x1p-24 + 0x1p-17

// appendBins appends to ends the end of each bin of rows. rows must be in ascending order.
func appendBins(ends []int, rows []int32) []int { return splitBins(ends, rows, 0, len(rows), 30) }

// splitBins appends the ends of the bins of rows[from:to], whose numbers are equal in all bits
// above the given one.
func splitBins(ends []int, rows []int32, from, to, bit int) []int {
	switch {
	case from == to:
		return ends
	case to-from <= binSize:
		return append(ends, to)
	case bit < 0: // a repeated record, which no sample has
		return splitBins(append(ends, from+binSize), rows, from+binSize, to, bit)
	}
	middle := from + sort.Search(to-from, func(i int) bool { return rows[from+i]>>bit&1 != 0 })
	return splitBins(splitBins(ends, rows, from, middle, bit-1), rows, middle, to, bit-1)
}

// order sorts the batch's records into the scratch and computes the bins.
func (s *Scratch) order(rows []int32) []int32 {
	s.rows = append(s.rows[:0], rows...)
	if !slices.IsSorted(s.rows) {
		slices.Sort(s.rows)
	}
	s.ends = appendBins(s.ends[:0], s.rows)
	return s.rows
}

// segment is the part [from, to) of a bin, as positions in a batch. begins and ends say whether it
// has the bin's first and last example.
type segment struct {
	from, to     int
	begins, ends bool
}

// segments returns the parts of bins in the examples [from, to) of the batch. They are valid until
// the next call.
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

// binStart returns where the bin begins that contains a position of the batch, or that position if
// a bin ends there.
func (s *Scratch) binStart(at int) int {
	if i := sort.SearchInts(s.ends, at+1); i > 0 {
		return s.ends[i-1]
	}
	return 0
}

// runs divides the bins of the examples [from, to) into runs of most examples each, and returns the
// segments of these runs. The last run of a bin may be shorter.
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

// pieces returns the segments of the examples [from, to), cut into pieces that have no more examples than the limit most.
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
