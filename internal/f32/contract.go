package f32

import (
	"fmt"
	"slices"
)

// Lanes is the number of examples that are stored next to each other, so that one vector instruction works
// on all of them. A group of Lanes floats is called a vector, and each of its places a lane. Activations
// are [channel][y][x][lane]. Every kernel below works on whole vectors, whatever the width of the
// machine's registers.
const Lanes = 16

// Term is one product in the sum that a tile computes (see Tile). A and B are the offsets of its two factors in the
// slices of these names, in floats.
type Term struct{ A, B int32 }

// Terms is a list of Term, for kernels that add up products. The offsets are checked once, when the list is made, so
// that kernels need not check them. It is read-only and may be shared.
type Terms struct {
	list       []Term
	maxA, maxB int
}

// NewTerms returns Terms with a copy of list. It panics if an offset is negative.
func NewTerms(list []Term) *Terms {
	t := &Terms{list: slices.Clone(list)}
	for _, x := range list {
		if x.A < 0 || x.B < 0 {
			panic(fmt.Sprintf("f32: a term at offsets %d, %d", x.A, x.B))
		}
		t.maxA, t.maxB = max(t.maxA, int(x.A)), max(t.maxB, int(x.B))
	}
	return t
}

// Slice returns terms from to to-1 of the list, without a copy. Kernels still check the lengths of slices
// for all terms of t.
func (t *Terms) Slice(from, to int) Terms { return Terms{t.list[from:to], t.maxA, t.maxB} }

// Patch has a group of columns of a tile, and the terms of their sums. Several patches let a tile compute
// several such groups in one call. The fields Cols, ColB and ColC are as in Tile and LaneTile.
type Patch struct {
	Terms      *Terms
	Cols       int
	ColB, ColC [LaneTileCols]int
}

// Patches is a list of Patch for MulPatches. The list is checked once, when it is made, so that kernels need not
// check it. It is read-only and may be shared.
type Patches struct {
	list             []Patch
	columns          int  // largest number of columns
	odd              bool // whether they meet the conditions of MulOdd
	maxA, maxB, maxC int
}

// NewPatches returns Patches that use list, without a copy. It panics if a patch has no columns or too many.
func NewPatches(list []Patch) *Patches {
	p := &Patches{list: list, odd: true}
	for i := range list {
		q := &list[i]
		if q.Cols < 1 || q.Cols > LaneTileCols {
			panic(fmt.Sprintf("f32: a patch of %d columns", q.Cols))
		}
		p.columns = max(p.columns, q.Cols)
		p.maxA = max(p.maxA, q.Terms.maxA)
		p.maxB = max(p.maxB, q.Terms.maxB+maxColumn(q.ColB[:q.Cols]))
		p.maxC = max(p.maxC, maxColumn(q.ColC[:q.Cols]))
		for j, at := range q.ColB[:q.Cols] {
			p.odd = p.odd && at == q.ColB[0]+j*Lanes
		}
		if i == 0 || q.Terms != list[i-1].Terms {
			p.odd = p.odd && !slices.ContainsFunc(q.Terms.list, func(x Term) bool { return x.A%Lanes != 0 })
		}
	}
	return p
}

// These are the largest numbers of rows and columns of a tile whose sums fit into the processor's
// registers.
const (
	TileRows, TileCols         = 6, 4
	LaneTileRows, LaneTileCols = 5, 5
	OddTileRows                = 4
)

// Tile is a block of a matrix product. A has scalars, such as weights. B and C have vectors of Lanes
// floats, such as the activations of 16 examples. Every convolution and matrix product of this package is
// computed from such blocks:
//
//	for m < Rows, j < Cols, l < Lanes:
//	    C[m·RowC + ColC[j] + l] = start + Σ_t A[t.A + m·RowA] · B[t.B + ColB[j] + l]
//
// start is Bias[m] if Bias is not nil, otherwise the content of C if Accumulate, otherwise 0. Terms are
// added in order. The portable kernel rounds each product separately. Accelerated kernels fuse
// multiplication and addition. They give the same bits in every class, and differ from the portable kernel
// by at most 1e-5 relative to Σ|A·B|. C must not overlap A or B.
type Tile struct {
	Rows, Cols int // in [1, TileRows], [1, TileCols]
	RowA, RowC int // floats from one row to the next, ≥ 0
	ColB, ColC [TileCols]int
	A, B, C    []float32
	Bias       []float32 // nil, or Rows floats
	Accumulate bool
	// BF16 says that A and B hold pairs of bfloat16 (see RoundToBF16) in place of floats, so that
	// a term is two products. All kernels then give the same bits.
	BF16    bool
	Factors []float32 // of the runs of MulRuns, if BF16
}

// Mul computes the tile. terms are the terms of its sums.
func (t *Tile) Mul(terms *Terms) {
	t.check(terms)
	mulTile(t, terms.list)
}

// MulPatches runs Mul once for each patch, with the columns and terms of the patch.
func (t *Tile) MulPatches(p *Patches) {
	r := t.Rows
	if r < 1 || r > TileRows || p.columns > TileCols || t.RowA < 0 || t.RowC < 0 || t.Bias != nil && len(t.Bias) < r {
		panic("f32: a tile out of range")
	}
	_, _ = t.A[p.maxA+(r-1)*t.RowA], t.B[p.maxB+Lanes-1]
	_ = t.C[(r-1)*t.RowC+p.maxC+Lanes-1]
	mulPatches(t, p.list)
}

// eachTile implements Tile.MulPatches for classes whose kernels compute a single tile.
func eachTile(t *Tile, patches []Patch) {
	for i := range patches {
		p := &patches[i]
		t.Cols = p.Cols
		copy(t.ColB[:], p.ColB[:])
		copy(t.ColC[:], p.ColC[:])
		mulTile(t, p.Terms.list)
	}
}

// MulRuns divides the terms into runs of run terms each, and adds the sum of each run to C. The sum of a run begins
// at 0, so it does not depend on earlier runs. The number of terms must be a multiple of run ≥ 1, and Bias must be
// nil. Accumulate is ignored. With BF16, the sum of run r is multiplied by Factors[r] and added with one rounding.
func (t *Tile) MulRuns(terms *Terms, run int) {
	if run < 1 || len(terms.list)%run != 0 || t.Bias != nil || t.BF16 && len(t.Factors) < len(terms.list)/run {
		panic(fmt.Sprintf("f32: %d terms in runs of %d", len(terms.list), run))
	}
	t.check(terms)
	mulRuns(t, terms.list, run)
}

// MulWide divides the terms into runs of the given lengths, computes the sum of each run in float32, and adds these
// sums in float64 to the rows of wide. A row of wide has Cols·Lanes numbers, and rows begin wideRow numbers apart. C,
// RowC, ColC, Bias and Accumulate are ignored. The lengths must be at least 1 and add up to the number of terms.
func (t *Tile) MulWide(terms *Terms, lengths []int, wide []float64, wideRow int) {
	sum := 0
	for _, n := range lengths {
		if n < 1 {
			panic("f32: a run of no terms")
		}
		sum += n
	}
	t.checkFactors(terms)
	if width := t.Cols * Lanes; sum != len(terms.list) || wideRow < width {
		panic("f32: a tile out of range")
	} else {
		_ = wide[(t.Rows-1)*wideRow+width-1]
	}
	mulWide(t, terms.list, lengths, wide, wideRow)
}

// check panics if the tile or the terms exceed the slices.
func (t *Tile) check(terms *Terms) {
	t.checkFactors(terms)
	if t.RowC < 0 || t.Bias != nil && len(t.Bias) < t.Rows {
		panic("f32: a tile out of range")
	}
	_ = t.C[(t.Rows-1)*t.RowC+maxColumn(t.ColC[:t.Cols])+Lanes-1]
}

// checkFactors does the same checks as check, except for those of C and Bias.
func (t *Tile) checkFactors(terms *Terms) {
	r, c := t.Rows, t.Cols
	if r < 1 || r > TileRows || c < 1 || c > TileCols || t.RowA < 0 {
		panic("f32: a tile out of range")
	}
	if lastB := maxColumn(t.ColB[:c]); len(terms.list) > 0 {
		_, _ = t.A[terms.maxA+(r-1)*t.RowA], t.B[terms.maxB+lastB+Lanes-1]
	}
}

// LaneTile is a block of Rows × Cols results, each a vector of Lanes floats. In contrast to Tile, both A
// and B have vectors: a term is a vector of A times a vector of B, lane by lane. So each lane (example)
// has its own sum. LaneTile computes per-example weight gradients and Gram matrices. For term t with the
// offsets t.A and t.B:
//
//	for m < Rows, j < Cols, l < Lanes:
//	    C[m·RowC + ColC[j] + l] = start + Σ_t A[t.A + m·RowA + l] · B[t.B + ColB[j] + l]
//
// start is the content of C if Accumulate, otherwise 0. Order and tolerance are those of Tile.
type LaneTile struct {
	Rows, Cols int // in [1, LaneTileRows], [1, LaneTileCols]
	RowA, RowC int
	ColB, ColC [LaneTileCols]int
	A, B, C    []float32
	Accumulate bool
	Odd        []int32 // see MulOdd
	BF16       bool    // whether A and B hold pairs, as in Tile; MulOdd ignores it
}

// Mul computes the tile. terms are the terms of its sums.
func (t *LaneTile) Mul(terms *Terms) {
	r, c := t.Rows, t.Cols
	if r < 1 || r > LaneTileRows || c < 1 || c > LaneTileCols || t.RowA < 0 || t.RowC < 0 {
		panic("f32: a tile out of range")
	}
	lastB, lastC := maxColumn(t.ColB[:c]), maxColumn(t.ColC[:c])
	if len(terms.list) > 0 {
		_, _ = t.A[terms.maxA+(r-1)*t.RowA+Lanes-1], t.B[terms.maxB+lastB+Lanes-1]
	}
	_ = t.C[(r-1)*t.RowC+lastC+Lanes-1]
	mulLaneTile(t, terms.list)
}

// MulPatches runs Mul once for each patch, with the columns and terms of the patch.
func (t *LaneTile) MulPatches(p *Patches) {
	r := t.Rows
	if r < 1 || r > LaneTileRows || t.RowA < 0 || t.RowC < 0 {
		panic("f32: a tile out of range")
	}
	_, _ = t.A[p.maxA+(r-1)*t.RowA+Lanes-1], t.B[p.maxB+Lanes-1]
	_ = t.C[(r-1)*t.RowC+p.maxC+Lanes-1]
	mulLanePatches(t, p.list)
}

// MulOdd computes the same as MulPatches in half the time, if A comes from max pooling by MaxPoolHalves.
// There, at most one of two adjacent positions is not 0, so A stores one vector for both. If bit l of
// Odd[i/Lanes] is 1, the number in lane l of the vector A[i:] belongs to the second position, so it is
// multiplied by the element of B that is Lanes further on. Rows must be at most OddTileRows, the columns
// of a patch must read consecutive vectors of B, and the terms and RowA must be multiples of Lanes.
func (t *LaneTile) MulOdd(p *Patches) {
	r := t.Rows
	if r < 1 || r > OddTileRows || t.RowA < 0 || t.RowA%Lanes != 0 || t.RowC < 0 || !p.odd {
		panic("f32: a tile out of range")
	}
	last := p.maxA + (r-1)*t.RowA
	_, _, _ = t.A[last+Lanes-1], t.Odd[last/Lanes], t.B[p.maxB+2*Lanes-1]
	_ = t.C[(r-1)*t.RowC+p.maxC+Lanes-1]
	mulOdd(t, p.list)
}

// PrefersOdd reports whether MulOdd is faster than MulPatches over all positions, with the kernels in use.
func PrefersOdd() bool { return kernels.oddTiles }

// oddPortable specifies LaneTile.MulOdd.
func oddPortable(t *LaneTile, patches []Patch) {
	for i := range patches {
		p := &patches[i]
		for m := range t.Rows {
			for j := range p.Cols {
				c := (*[Lanes]float32)(t.C[m*t.RowC+p.ColC[j]:])
				acc := [Lanes]float32{}
				if t.Accumulate {
					acc = *c
				}
				for _, x := range p.Terms.list {
					at := int(x.A) + m*t.RowA
					a, odd := (*[Lanes]float32)(t.A[at:]), t.Odd[at/Lanes]
					b := (*[2 * Lanes]float32)(t.B[int(x.B)+p.ColB[j]:])
					for l := range acc {
						acc[l] += float32(a[l] * b[int(odd>>l&1)*Lanes+l])
					}
				}
				*c = acc
			}
		}
	}
}

// eachLaneTile implements LaneTile.MulPatches for classes whose kernels compute a single tile.
func eachLaneTile(t *LaneTile, patches []Patch) {
	for i := range patches {
		p := &patches[i]
		t.Cols, t.ColB, t.ColC = p.Cols, p.ColB, p.ColC
		mulLaneTile(t, p.Terms.list)
	}
}

// maxColumn returns the largest of the offsets in columns. It panics if one of them is negative.
func maxColumn(columns []int) int {
	most := 0
	for _, c := range columns {
		if c < 0 {
			panic("f32: a column before the start")
		}
		most = max(most, c)
	}
	return most
}

// tilePortable specifies Tile.Mul.
func tilePortable(t *Tile, terms []Term) {
	for m := range t.Rows {
		for j := range t.Cols {
			c := (*[Lanes]float32)(t.C[m*t.RowC+t.ColC[j]:])
			acc := [Lanes]float32{}
			if t.Bias != nil {
				for l := range acc {
					acc[l] = t.Bias[m]
				}
			} else if t.Accumulate {
				acc = *c
			}
			*c = t.sum(acc, terms, m, j)
		}
	}
}

// sum returns acc plus the terms in row m and column j, added in order.
func (t *Tile) sum(acc [Lanes]float32, terms []Term, m, j int) [Lanes]float32 {
	for _, x := range terms {
		a := t.A[int(x.A)+m*t.RowA]
		b := (*[Lanes]float32)(t.B[int(x.B)+t.ColB[j]:])
		for l := range acc {
			if t.BF16 {
				acc[l] = dotPairs(a, b[l], acc[l])
			} else {
				acc[l] += float32(a * b[l])
			}
		}
	}
	return acc
}

// runsPortable specifies Tile.MulRuns.
func runsPortable(t *Tile, terms []Term, run int) {
	if t.BF16 {
		runsOfPairs(t, terms, run)
		return
	}
	for ; len(terms) > 0; terms = terms[run:] {
		for m := range t.Rows {
			for j := range t.Cols {
				c := (*[Lanes]float32)(t.C[m*t.RowC+t.ColC[j]:])
				for l, v := range t.sum([Lanes]float32{}, terms[:run], m, j) {
					c[l] += v
				}
			}
		}
	}
}

// widePortable specifies Tile.MulWide.
func widePortable(t *Tile, terms []Term, lengths []int, wide []float64, wideRow int) {
	for _, n := range lengths {
		for m := range t.Rows {
			for j := range t.Cols {
				to := (*[Lanes]float64)(wide[m*wideRow+j*Lanes:])
				for l, v := range t.sum([Lanes]float32{}, terms[:n], m, j) {
					to[l] += float64(v)
				}
			}
		}
		terms = terms[n:]
	}
}

// laneTilePortable specifies LaneTile.Mul.
func laneTilePortable(t *LaneTile, terms []Term) {
	for m := range t.Rows {
		for j := range t.Cols {
			c := (*[Lanes]float32)(t.C[m*t.RowC+t.ColC[j]:])
			acc := [Lanes]float32{}
			if t.Accumulate {
				acc = *c
			}
			for _, x := range terms {
				a := (*[Lanes]float32)(t.A[int(x.A)+m*t.RowA:])
				b := (*[Lanes]float32)(t.B[int(x.B)+t.ColB[j]:])
				for l := range acc {
					if t.BF16 {
						acc[l] = dotPairs(a[l], b[l], acc[l])
					} else {
						acc[l] += float32(a[l] * b[l])
					}
				}
			}
			*c = acc
		}
	}
}

// Transpose sets the 16×16 block dst to the transpose of the block src: dst[j·dstRow+i] = src[i·srcRow+j]. dstRow and
// srcRow are the numbers of floats from one row to the next.
func Transpose(dst []float32, dstRow int, src []float32, srcRow int) {
	if dstRow < Lanes || srcRow < Lanes {
		panic("f32: a row of a block shorter than the block")
	}
	_, _ = dst[(Lanes-1)*dstRow+Lanes-1], src[(Lanes-1)*srcRow+Lanes-1]
	transpose(dst, dstRow, src, srcRow)
}

// transposePortable specifies Transpose.
func transposePortable(dst []float32, dstRow int, src []float32, srcRow int) {
	for i := range Lanes {
		for j := range Lanes {
			dst[j*dstRow+i] = src[i*srcRow+j]
		}
	}
}
