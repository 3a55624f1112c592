package f32

// RunProduct is a sum of matrix products: the terms of one long product are divided into runs. The product
// over each run is computed in float32, and these products are added in float64:
//
//	for m < M, j < N:
//	    C[m·RowC + j] = start + Σ_r Σ_{t in run r} A[m·RowA + t] · B[⌊j/Lanes⌋·BlockB + t·Lanes + j mod Lanes]
//
// start is the content of C if Accumulate, otherwise 0. The first run begins at term 0, and every other
// run where the previous one ends. Run r ends before term Ends[r]. The sum of each run begins at 0 and
// adds its terms in order, as in Tile. B has whole vectors; lanes beyond column N are read but not used.
type RunProduct struct {
	M, N       int // ≥ 1
	Ends       []int
	A          []float32
	RowA       int
	B          []float32
	BlockB     int
	C          []float64
	RowC       int
	Accumulate bool
	// If Out is not nil, the product is added to it instead: Out[m·RowOut + j] += the product, in
	// float64, then rounded to float32. C is then unchanged, or it is working memory if there are
	// more runs than matrix tiles compute at a time.
	Out    []float32
	RowOut int
	// Parts is the number of bfloat16 parts into which numbers are split if matrix tiles compute the
	// products; see SplitTile. 0 means that they do not. With Parts, M and N must be multiples of Lanes,
	// and the terms of a run are added in groups of TileTerms.
	Parts int
	// BF16 says that the numbers of A and B are rounded to bfloat16 and added up as pairs; see Tile. In a
	// run of an odd length, the last term is paired with 0.
	BF16 bool
}

// Mul computes the product, with s as working memory. It works tile by tile, so that a tile of C stays in the
// first-level cache while the runs are added to it.
func (p *RunProduct) Mul(s *ProductScratch) {
	if p.M < 1 || p.N < 1 || p.RowA < 1 || p.BlockB < Lanes || p.RowC < p.N || p.Out != nil && p.RowOut < p.N {
		panic("f32: a product of runs out of range")
	}
	_ = p.C[(p.M-1)*p.RowC+p.N-1]
	if len(p.Ends) == 0 {
		panic("f32: a product of no runs")
	}
	if p.Parts != 0 {
		p.mulSplit(&s.split)
		return
	}
	if p.BF16 {
		for m := 0; m < p.M; m += panelRows {
			for j := 0; j < p.N; j += panelBlocks * Lanes {
				q := p.paired(s, m, j)
				q.mul(s)
			}
		}
		return
	}
	p.mul(s)
}

// mul does the work of Mul, without matrix tiles.
func (p *RunProduct) mul(s *ProductScratch) {
	s.lengths = s.lengths[:0]
	start := 0
	for _, end := range p.Ends {
		s.lengths = append(s.lengths, end-start)
		start = end
	}
	if p.Out != nil {
		_ = p.Out[(p.M-1)*p.RowOut+p.N-1]
	}
	for m := 0; m < p.M; m += panelRows {
		rows := min(panelRows, p.M-m)
		for j := 0; j < p.N; j += tileFloats {
			p.column(s, m, rows, j)
		}
	}
	s.tile = Tile{} // the scratch must not keep the caller's memory
}

// paired returns the part of the product for a panel of rows from m on and of columns from j on, with pairs
// in place of its numbers. Columns must be taken in order, because the pairs of A are made for the first ones.
func (p *RunProduct) paired(s *ProductScratch, m, j int) RunProduct {
	q, pairs, start := *p, 0, 0
	q.M, q.N = min(panelRows, p.M-m), min(panelBlocks*Lanes, p.N-j)
	q.C = p.C[m*p.RowC+j:]
	if p.Out != nil {
		q.Out = p.Out[m*p.RowOut+j:]
	}
	s.ends = s.ends[:0]
	for _, end := range p.Ends {
		pairs += (end - start + 1) / 2
		start = end
		s.ends = append(s.ends, pairs)
	}
	blocks := (q.N + Lanes - 1) / Lanes
	s.a, s.b = grow(s.a, q.M*pairs), grow(s.b, blocks*pairs*Lanes)
	at, start := 0, 0
	for i, end := range p.Ends {
		for r := range q.M {
			if row := (m + r) * p.RowA; j == 0 {
				PairRow(s.a[r*pairs+at:], p.A[row+start:row+end])
			}
		}
		for b := range blocks {
			pairRows(s.b[(b*pairs+at)*Lanes:], p.B[(j/Lanes+b)*p.BlockB+start*Lanes:], Lanes, end-start)
		}
		at, start = s.ends[i], end
	}
	q.Ends, q.A, q.RowA, q.B, q.BlockB = s.ends, s.a, pairs, s.b, pairs*Lanes
	return q
}

// column computes rows from m on, for the columns of a tile from j on.
func (p *RunProduct) column(s *ProductScratch, m, rows, j int) {
	width := min(tileFloats, p.N-j)
	t := &s.tile
	t.Cols, t.RowA, t.BF16 = (width+Lanes-1)/Lanes, p.RowA, p.BF16
	for c := range t.Cols {
		t.ColB[c] = c * p.BlockB
	}
	t.B = p.B[j/Lanes*p.BlockB:]
	terms := s.ladder(1, Lanes, p.Ends[len(p.Ends)-1])
	if p.Out != nil && !p.Accumulate && len(p.Ends) == 1 && width%Lanes == 0 {
		p.single(t, &terms, m, rows, j)
		return
	}
	for r := m; r < m+rows; r += TileRows {
		t.Rows, t.A = min(TileRows, m+rows-r), p.A[r*p.RowA:]
		at := r*p.RowC + j
		if p.Out == nil && width%Lanes == 0 { // directly into C
			if !p.Accumulate {
				for i := range t.Rows {
					clear(p.C[at+i*p.RowC:][:width])
				}
			}
			t.MulWide(&terms, s.lengths, p.C[at:], p.RowC)
			continue
		}
		if p.Out != nil {
			prefetch(p.Out[r*p.RowOut+j:], p.RowOut, t.Rows, width)
		}
		if p.Accumulate {
			for i := range t.Rows {
				copy(s.wide[i*tileFloats:][:width], p.C[at+i*p.RowC:])
			}
		} else {
			clear(s.wide[:t.Rows*tileFloats])
		}
		t.MulWide(&terms, s.lengths, s.wide[:], tileFloats)
		if p.Out != nil {
			addTile(p.Out[r*p.RowOut+j:], p.RowOut, s.wide[:], t.Rows, width)
			continue
		}
		for i := range t.Rows {
			copy(p.C[at+i*p.RowC:][:width], s.wide[i*tileFloats:])
		}
	}
}

var one = [1]float32{1}

// single does the same as column, for a product of a single run. It adds in float32, because the
// sum of two float32 numbers, rounded once to float32, is the same in float64 and in float32.
func (p *RunProduct) single(t *Tile, terms *Terms, m, rows, j int) {
	t.RowC, t.Factors = p.RowOut, one[:]
	for c := range t.Cols {
		t.ColC[c] = c * Lanes
	}
	for r := m; r < m+rows; r += TileRows {
		t.Rows, t.A, t.C = min(TileRows, m+rows-r), p.A[r*p.RowA:], p.Out[r*p.RowOut+j:]
		prefetch(t.C, p.RowOut, t.Rows, t.Cols*Lanes)
		t.MulRuns(terms, len(terms.list))
	}
}

// AddWide adds rows of a tile to rows of dst in float64. It adds the first vectors·Lanes numbers of each row. The
// rows of dst are dstRow numbers apart, and those of tile TileCols·Lanes.
func AddWide(dst []float64, dstRow int, tile []float32, rows, vectors int) {
	_, _ = dst[(rows-1)*dstRow+vectors*Lanes-1], tile[(rows-1)*tileFloats+vectors*Lanes-1]
	kernels.addWide(dst, dstRow, tile, rows, vectors)
}

// addTile adds to rows of dst, dstRow apart, the rows of a tile of float64, and then rounds to
// float32.
func addTile(dst []float32, dstRow int, tile []float64, rows, width int) {
	whole := width / Lanes * Lanes
	_, _ = dst[(rows-1)*dstRow+width-1], tile[(rows-1)*tileFloats+width-1]
	kernels.narrowTile(dst, dstRow, tile, rows, whole/Lanes)
	for r := range rows {
		addNarrowPortable(dst[r*dstRow+whole:r*dstRow+width], tile[r*tileFloats+whole:r*tileFloats+width])
	}
}
