package f32

// Product is a matrix product C = A·B, whose columns are lanes in blocks of Lanes:
//
//	for m < M, j < N:
//	    C(m, j) = start + Σ_{t<K} A(m, t) · B(t, j)
//
//	A(m, t) = A[m·RowA + t·ColA]
//	B(t, j) = B[⌊j/Lanes⌋·BlockB + t·RowB + j mod Lanes]
//	C(m, j) = C[⌊j/Lanes⌋·BlockC + m·RowC + j mod Lanes]
//
// start is Bias[m] if Bias is not nil, otherwise the content of C if Accumulate, otherwise 0. So
// activations [block][feature][lane] have RowB = Lanes and BlockB = features·Lanes. For a row-major
// matrix, RowB is its width and BlockB = Lanes. The same holds for C. A is row-major with ColA = 1
// and transposed with RowA = 1. Nothing beyond column N is read or written.
//
// Terms are added in order, as in Tile, for all sizes: the result does not depend on how the work
// is divided. C must not overlap A or B.
type Product struct {
	M, N, K      int // ≥ 0
	A            []float32
	RowA, ColA   int // one of them is 1, the other ≥ 1
	B            []float32
	RowB, BlockB int // ≥ 1
	C            []float32
	RowC, BlockC int       // ≥ 1; no two elements of C may coincide
	Bias         []float32 // nil, or M floats
	Accumulate   bool
	// Parts is the number of bfloat16 parts into which numbers are split if matrix tiles compute the
	// product; see SplitTile. 0 means that they do not. With Parts, M must be a multiple of Lanes, K of
	// TileTerms and N of Lanes. With RowA = 1 there is no start value and RowC must be Lanes. Terms are
	// added in groups of TileTerms, and otherwise in order.
	Parts int
	// BF16 says that the numbers of A and B are rounded to bfloat16 and added up as pairs; see Tile.
	// Then N must be a multiple of Lanes. If K is odd, the last term is paired with 0.
	BF16 bool
}

// Mul computes the product p, with s as working memory.
func (p *Product) Mul(s *ProductScratch) {
	p.check()
	if p.Parts != 0 {
		p.mulSplit(&s.split)
		return
	}
	blocks := (p.N + Lanes - 1) / Lanes
	for j := 0; j < blocks; j += panelBlocks {
		some := min(panelBlocks, blocks-j)
		all, rows, most := panelRows, panelRows, panelTerms
		if p.copiesB(j, some) {
			all, rows, most = p.M, panelRows/8, 2*panelTerms
		}
		if p.BF16 {
			most *= 2
		}
		for first := 0; first < p.M; first += all {
			end := min(first+all, p.M)
			for k := 0; k == 0 || k < p.K; k += most {
				terms := min(most, p.K-k)
				b := p.panelB(s, k, terms, j, some)
				for m := first; m < end; m += rows {
					a := p.panelA(s, m, min(rows, end-m), k, terms, some)
					p.panels(s, &a, &b, k, terms, m, j)
				}
			}
		}
	}
}

func (p *Product) check() {
	if p.M < 0 || p.N < 0 || p.K < 0 || p.Bias != nil && len(p.Bias) < p.M || p.BF16 && p.N%Lanes != 0 {
		panic("f32: a product out of range")
	}
	if p.M == 0 || p.N == 0 {
		return
	}
	block, lane := (p.N-1)/Lanes, (p.N-1)%Lanes
	checkStrides(p.RowC, p.BlockC)
	_ = p.C[(p.M-1)*p.RowC+block*p.BlockC+lane]
	if p.K == 0 {
		return
	}
	checkStrides(p.RowA, p.ColA)
	if min(p.RowA, p.ColA) != 1 {
		panic("f32: a product with neither rows nor columns of A side by side")
	}
	_ = p.A[(p.M-1)*p.RowA+(p.K-1)*p.ColA]
	checkStrides(p.RowB, p.BlockB)
	_ = p.B[(p.K-1)*p.RowB+block*p.BlockB+lane]
}

func checkStrides(a, b int) {
	if a < 1 || b < 1 {
		panic("f32: a product with a stride below 1")
	}
}
