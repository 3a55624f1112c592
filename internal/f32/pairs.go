package f32

import "math"

// A pair of bfloat16 is stored in the bits of a float32, the first number in the lower half. A bfloat16
// is a float32 without its lower 16 bits. Slices of pairs are []float32, so that everything which only
// moves numbers can move pairs. Their numbers are rounded to nearest, to even if two are equally near.
// Numbers below 2^-126 become 0 of their sign.
//
// A Tile of pairs (Tile.BF16) adds two products for each term, in this order: that of the upper
// numbers of its two pairs, and then that of the lower ones. It rounds once for each product and its
// addition, to nearest. Operands and results below 2^-126 are 0. This is the instruction VDPBF16PS
// (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2). AMD's processors give the
// same bits.

// BF16 reports whether the kernels in use have an instruction that multiplies pairs of bfloat16. Other kernels give
// the same bits, but slowly.
func BF16() bool { return pairedKernels() }

// RoundToBF16 rounds the numbers of x to the nearest bfloat16, stored as float32. The length of x must be a multiple
// of Lanes.
func RoundToBF16(x []float32) {
	if vectors(x) > 0 {
		roundBF16(x)
	}
}

func roundBF16Portable(x []float32) {
	for i, v := range x {
		x[i] = math.Float32frombits(bf16Bits(v))
	}
}

// PairVectors interleaves two sequences of n vectors, even and odd, as pairs of bfloat16: each float of
// dst then holds a number of even, followed by the number of odd at the same place. Vector i is at i·step
// in even and in odd, and its pairs are at i·dstStep in dst. dst may be even or odd.
func PairVectors(dst []float32, dstStep int, even, odd []float32, step, n int) {
	if n < 1 || dstStep < 0 || step < 0 {
		panic("f32: pairs out of range")
	}
	_, _, _ = dst[(n-1)*dstStep+Lanes-1], even[(n-1)*step+Lanes-1], odd[(n-1)*step+Lanes-1]
	pairVectors(dst, dstStep, even, odd, step, n)
}

func pairVectorsPortable(dst []float32, dstStep int, even, odd []float32, step, n int) {
	for i := range n {
		for l := range Lanes {
			dst[i*dstStep+l] = pairOf(even[i*step+l], odd[i*step+l])
		}
	}
}

// PairRow sets dst to pairs of bfloat16 of consecutive numbers of src. If the number of these is odd, the last pair
// has 0 as its second number.
func PairRow(dst, src []float32) {
	dst = dst[:(len(src)+1)/2]
	whole := len(src) / (2 * Lanes) * Lanes
	if whole > 0 {
		pairRow(dst[:whole], src)
	}
	for i := whole; i < len(dst); i++ {
		second := float32(0)
		if 2*i+1 < len(src) {
			second = src[2*i+1]
		}
		dst[i] = pairOf(src[2*i], second)
	}
}

// pairRows makes pairs of the vectors of src, step floats apart. An odd one is paired with zeros.
func pairRows(dst, src []float32, step, n int) {
	if n > 1 {
		PairVectors(dst, Lanes, src, src[step:], 2*step, n/2)
	}
	if n%2 != 0 {
		var none [Lanes]float32
		PairVectors(dst[n/2*Lanes:], Lanes, src[(n-1)*step:], none[:], 0, 1)
	}
}

// turnPairs sets dst, in the order [row][pair], to pairs of the terms of the transpose of a, whose terms are
// colA apart.
func turnPairs(dst, a []float32, colA, rows, terms int) {
	pairs := (terms + 1) / 2
	squares, columns := terms/(2*Lanes)*Lanes, rows/Lanes*Lanes
	var square [Lanes * Lanes]float32
	for p := 0; p < squares; p += Lanes {
		for i := 0; i < columns; i += Lanes {
			at := a[2*p*colA+i:]
			if 2*p+4*Lanes <= terms {
				prefetch(at[2*Lanes*colA:], colA, 2*Lanes, Lanes)
			}
			PairVectors(square[:], Lanes, at, at[colA:], 2*colA, Lanes)
			Transpose(dst[i*pairs+p:], pairs, square[:], Lanes)
		}
	}
	for i := range rows {
		from := squares
		if i >= columns {
			from = 0
		}
		for p := from; p < pairs; p++ {
			second := float32(0)
			if 2*p+1 < terms {
				second = a[(2*p+1)*colA+i]
			}
			dst[i*pairs+p] = pairOf(a[2*p*colA+i], second)
		}
	}
}

func pairRowPortable(dst, src []float32) {
	for i := range dst {
		dst[i] = pairOf(src[2*i], src[2*i+1])
	}
}

func pairOf(even, odd float32) float32 {
	return math.Float32frombits(bf16Bits(even)>>16 | bf16Bits(odd))
}

// bf16Bits returns the bits of x rounded to bfloat16. The lower half is 0. A NaN remains a NaN.
func bf16Bits(x float32) uint32 {
	bits := math.Float32bits(x)
	switch bits & 0x7f800000 {
	case 0:
		return bits & 0x80000000
	case 0x7f800000:
		if bits&0x7fffff != 0 {
			bits |= 0x400000
		}
		return bits &^ 0xffff
	}
	return (bits + 0x7fff + bits>>16&1) &^ 0xffff
}

// dotPairs returns sum plus the products of two pairs.
func dotPairs(x, y, sum float32) float32 {
	p, q := Pair(math.Float32bits(x)), Pair(math.Float32bits(y))
	return fused(p.even(), q.even(), fused(p.odd(), q.odd(), flush(sum)))
}

// runsOfPairs specifies Tile.MulRuns of pairs.
func runsOfPairs(t *Tile, terms []Term, run int) {
	for r := 0; len(terms) > 0; r, terms = r+1, terms[run:] {
		for m := range t.Rows {
			for j := range t.Cols {
				c := (*[Lanes]float32)(t.C[m*t.RowC+t.ColC[j]:])
				for l, v := range t.sum([Lanes]float32{}, terms[:run], m, j) {
					c[l] = multiplyAdd(v, t.Factors[r], c[l])
				}
			}
		}
	}
}
