package f32

// RunProduct is a sum of matrix products, each over a run of terms and by itself in
// float32, which are added in float64:
//
//	for m < M, j < N:
//	    C[m·RowC + j] = start + Σ_r Σ_{t in run r} A[m·RowA + t] · B[⌊j/Lanes⌋·BlockB + t·Lanes + j mod Lanes]
//
// where start is what C holds if Accumulate, else 0. Run r is from where the run
// before it ends, the first from term 0, to Ends[r]; the sum of each begins at 0 and
// adds its terms in order, as in Tile. B has whole vectors, whose lanes beyond column N
// are read and not used.
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
}

// Mul computes the product. For a panel of A and a few columns it goes through one
// run after the other, whose part of B then stays in the first-level cache, and C in
// the second.
func (p *RunProduct) Mul(s *ProductScratch) {
	if p.M < 1 || p.N < 1 || p.RowA < 1 || p.BlockB < Lanes || p.RowC < p.N {
		panic("f32: a product of runs out of range")
	}
	_ = p.C[(p.M-1)*p.RowC+p.N-1]
	start := 0
	for _, end := range p.Ends {
		if end < start {
			panic("f32: runs that are not in order")
		}
		start = end
	}
	if !p.Accumulate && len(p.Ends) == 0 {
		for m := range p.M {
			clear(p.C[m*p.RowC:][:p.N])
		}
	}
	for m := 0; m < p.M; m += panelRows {
		rows := min(panelRows, p.M-m)
		for j := 0; j < p.N; j += tileFloats {
			start = 0
			for i, end := range p.Ends {
				p.run(s, start, end, m, rows, j, !p.Accumulate && i == 0)
				start = end
			}
		}
	}
}

// run adds a run's product to rows from m on and the columns of a tile from j on.
func (p *RunProduct) run(s *ProductScratch, start, end, m, rows, j int, fresh bool) {
	width := min(tileFloats, p.N-j)
	list := s.ladder(1, Lanes, end-start)
	t := &s.tile
	t.Cols, t.RowA, t.RowC, t.C = (width+Lanes-1)/Lanes, p.RowA, tileFloats, s.edge[:]
	t.B = p.B[j/Lanes*p.BlockB+start*Lanes:]
	for c := range t.Cols {
		t.ColB[c], t.ColC[c] = c*p.BlockB, c*Lanes
	}
	for r := m; r < m+rows; r += TileRows {
		t.Rows = min(TileRows, m+rows-r)
		t.A = p.A[r*p.RowA+start:]
		t.Mul(&list)
		to := p.C[r*p.RowC+j:]
		if fresh {
			for i := range t.Rows {
				clear(to[i*p.RowC:][:width])
			}
		}
		AddWide(to, p.RowC, t.C, t.Rows, width)
	}
	s.tile = Tile{} // the scratch must not hold on to what is the caller's
}

// AddWide adds to rows of dst, dstRow apart, those of a tile, TileCols·Lanes apart: of
// each the first width.
func AddWide(dst []float64, dstRow int, tile []float32, rows, width int) {
	_, _ = dst[(rows-1)*dstRow+width-1], tile[(rows-1)*tileFloats+width-1]
	whole := width / Lanes
	addWide(dst, dstRow, tile, rows, whole)
	if whole *= Lanes; whole < width {
		for r := range rows {
			for i := whole; i < width; i++ {
				dst[r*dstRow+i] += float64(tile[r*tileFloats+i])
			}
		}
	}
}
