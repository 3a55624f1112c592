package f32

// The product is divided into panels that stay in the caches. Together with the part of C to which
// they are added, which is 384 KB, they take 1 MB of the second-level cache. If B is copied, panels
// of A have an eighth of the rows and twice the terms: then B is copied once and C is visited less
// often.
const (
	panelTerms  = 256
	panelRows   = 64 * TileRows // of A: 384 KB
	panelBlocks = 16            // of B: 256 KB
	farApart    = 1024          // floats in a page: rows of A that are farther apart are copied …
	reusedA     = 2 * TileCols  // … if they are used for at least as many blocks
	tileFloats  = TileCols * Lanes
)

// ProductScratch is the working memory of products. Reuse it to avoid allocations. It grows to at most 920 KB, or 5
// MB with matrix tiles. The zero value is ready to use. It is not safe for concurrent use.
type ProductScratch struct {
	a, b       []float32 // copied panels
	terms      []Term    // t·colA, t·rowB
	colA, rowB int
	tile       Tile
	edge       [TileRows * tileFloats]float32
	wide       [TileRows * tileFloats]float64
	lengths    []int
	ends       []int // of runs of pairs
	split      splitScratch
}

// panelA is a part of A: rows × terms.
type panelA struct {
	rows       int
	a          []float32
	rowA, colA int
}

// panelB is a part of B: terms × blocks.
type panelB struct {
	blocks       int
	b            []float32
	rowB, blockB int
}

// copiesB reports whether blocks from j on are copied: if the last column is inside a block, or if
// rows are far apart.
func (p *Product) copiesB(j, blocks int) bool {
	return p.K > 0 && ((j+blocks)*Lanes > p.N || p.RowB > tileFloats || p.BF16)
}

// panelB returns the terms from k on of the blocks from j on, in the order [block][term][lane]. It
// copies them unless they have that order. Lanes beyond the last column are 0 in a copy. Of pairs it
// returns half as many terms.
func (p *Product) panelB(s *ProductScratch, k, terms, j, blocks int) panelB {
	if p.BF16 && p.K > 0 {
		pairs := (terms + 1) / 2
		s.b = grow(s.b, blocks*pairs*Lanes)
		for i := range blocks {
			pairRows(s.b[i*pairs*Lanes:], p.B[(j+i)*p.BlockB+k*p.RowB:], p.RowB, terms)
		}
		return panelB{blocks, s.b, Lanes, pairs * Lanes}
	}
	if !p.copiesB(j, blocks) {
		return panelB{blocks, p.B[min(len(p.B), j*p.BlockB+k*p.RowB):], p.RowB, p.BlockB}
	}
	s.b = grow(s.b, blocks*terms*Lanes)
	for i := range blocks {
		dst, lanes := s.b[i*terms*Lanes:][:terms*Lanes], min(Lanes, p.N-(j+i)*Lanes)
		if lanes < Lanes {
			clear(dst)
		}
		src := p.B[(j+i)*p.BlockB+k*p.RowB:]
		if lanes == Lanes && p.RowB >= Lanes {
			Spread(dst, Lanes, Lanes, src, Plane{H: terms, W: 1, Row: p.RowB})
			continue
		}
		for t := range terms {
			copy(dst[t*Lanes:][:lanes], src[t*p.RowB:])
		}
	}
	return panelB{blocks, s.b, Lanes, terms * Lanes}
}

// panelA returns the terms from k on of the rows from m on. It copies them so that they are
// contiguous, if that is faster: every use of a copy avoids accesses to memory that is far apart.
func (p *Product) panelA(s *ProductScratch, m, rows, k, terms, blocks int) panelA {
	if p.K == 0 {
		return panelA{rows, nil, p.RowA, p.ColA}
	}
	a := p.A[m*p.RowA+k*p.ColA:]
	if p.BF16 {
		pairs := (terms + 1) / 2
		s.a = grow(s.a, rows*pairs)
		if p.ColA != 1 {
			turnPairs(s.a, a, p.ColA, rows, terms)
			return panelA{rows, s.a, pairs, 1}
		}
		for i := range rows {
			PairRow(s.a[i*pairs:], a[i*p.RowA:][:terms])
		}
		return panelA{rows, s.a, pairs, 1}
	}
	if p.ColA == 1 && (p.RowA <= farApart || blocks < reusedA) || p.RowA == 1 && p.ColA < farApart {
		return panelA{rows, a, p.RowA, p.ColA}
	}
	s.a = grow(s.a, rows*terms)
	if p.ColA == 1 {
		for i := range rows {
			copy(s.a[i*terms:][:terms], a[i*p.RowA:])
		}
		return panelA{rows, s.a, terms, 1}
	}
	turn(s.a, a, p.ColA, rows, terms)
	return panelA{rows, s.a, terms, 1}
}

// turn sets dst, in the order [row][term], to the transpose of a, whose terms are colA apart. A
// tile then reads contiguous numbers, from as few cache lines as possible.
func turn(dst, a []float32, colA, rows, terms int) {
	squares, columns := terms/Lanes*Lanes, rows/Lanes*Lanes
	for t := 0; t < squares; t += Lanes {
		for i := 0; i < columns; i += Lanes {
			if t+2*Lanes <= terms {
				prefetch(a[(t+Lanes)*colA+i:], colA, Lanes, Lanes)
			}
			Transpose(dst[i*terms+t:], terms, a[t*colA+i:], colA)
		}
	}
	for i := range rows {
		from := squares
		if i >= columns {
			from = 0
		}
		for t := from; t < terms; t++ {
			dst[i*terms+t] = a[t*colA+i]
		}
	}
}

// panels adds the product of two panels to C, from row m and block j on. The first terms, k = 0,
// begin with the product's start value.
func (p *Product) panels(s *ProductScratch, a *panelA, b *panelB, k, terms, m, j int) {
	if p.BF16 {
		terms = (terms + 1) / 2
	}
	list := s.ladder(a.colA, b.rowB, terms)
	straight := a.colA == 1 && b.rowB == Lanes
	t := &s.tile
	t.RowA, t.BF16 = a.rowA, p.BF16
	t.Accumulate = p.Accumulate || k > 0
	for i := 0; i < b.blocks; i += TileCols {
		t.Cols = min(TileCols, b.blocks-i)
		t.B = b.b[min(len(b.b), i*b.blockB):]
		for c := range t.Cols {
			t.ColB[c], t.ColC[c] = c*b.blockB, c*p.BlockC
		}
		edge := p.N - (j+i)*Lanes
		for r := 0; r < a.rows; r += TileRows {
			t.Rows = min(TileRows, a.rows-r)
			t.A = a.a[min(len(a.a), r*a.rowA):]
			t.Bias = nil
			if p.Bias != nil && k == 0 {
				t.Bias = p.Bias[m+r:]
			}
			t.C, t.RowC = p.C[(j+i)*p.BlockC+(m+r)*p.RowC:], p.RowC
			if edge < t.Cols*Lanes {
				s.mulEdge(&list, edge, p.BlockC)
			} else {
				t.mulLadder(&list, straight)
			}
		}
	}
	s.tile = Tile{} // the scratch must not keep the caller's memory
}

// mulLadder does the same as Mul, for terms that ladder returned. straight says that their offsets
// are t and t·Lanes.
func (t *Tile) mulLadder(terms *Terms, straight bool) {
	if !straight || t.Rows < TileRows || t.Cols < TileCols {
		t.Mul(terms)
		return
	}
	t.check(terms)
	mulFullTile(t, terms.list)
}

// mulEdge computes a tile at the edge of C, where only its first n columns exist. It computes the whole tile
// in working memory and copies these columns.
func (s *ProductScratch) mulEdge(terms *Terms, n, blockC int) {
	t := &s.tile
	c, rowC, colC := t.C, t.RowC, t.ColC
	move := func(back bool) {
		for r := range t.Rows {
			for j := 0; j < n; j += Lanes {
				mine, theirs := s.edge[r*tileFloats+j:], c[r*rowC+j/Lanes*blockC:]
				lanes := min(Lanes, n-j)
				if back {
					copy(theirs[:lanes], mine)
				} else {
					copy(mine[:lanes], theirs)
				}
			}
		}
	}
	move(false)
	t.C, t.RowC = s.edge[:], tileFloats
	for j := range t.Cols {
		t.ColC[j] = j * Lanes
	}
	t.Mul(terms)
	move(true)
	t.ColC = colC
}

// ladder returns the n terms with offsets t·colA and t·rowB.
func (s *ProductScratch) ladder(colA, rowB, n int) Terms {
	if s.colA != colA || s.rowB != rowB {
		s.terms, s.colA, s.rowB = s.terms[:0], colA, rowB
	}
	for t := len(s.terms); t < n; t++ {
		s.terms = append(s.terms, Term{int32(t * colA), int32(t * rowB)})
	}
	return Terms{s.terms[:n], max(0, n-1) * colA, max(0, n-1) * rowB}
}

// grow returns n floats, reusing x if it is long enough.
func grow(x []float32, n int) []float32 {
	if cap(x) < n {
		return make([]float32, n)
	}
	return x[:n]
}
