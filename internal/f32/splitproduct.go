package f32

// Products by matrix tiles. Their panels are what is taken apart at a time: they keep to
// the second cache, with as many terms for every shape, so that what a column comes to
// does not depend on the others.
const (
	splitTerms = 512        // of a panel: 768 KB of B
	splitTiles = 16         // of the terms of runs
	splitOuts  = 64 * Lanes // rows of C that a panel of runs has: 3 MB of A
	splitRuns  = 16 * Lanes // columns of C that a panel of runs has: 768 KB of B
	blockRows  = 2 * Lanes  // of a SplitTile
	wideBlock  = blockRows * tileFloats
)

// splitScratch is what products by matrix tiles work in.
type splitScratch struct {
	left, right []Pair
	tile        SplitTile
	terms       []Term
	sum         []float32 // a block
	wide        []float64 // a block
	runs        []int     // steps
}

// Splits reports whether a product of M rows of A and so many terms can be made by
// matrix tiles.
func Splits(rows, terms int) bool { return rows%Lanes == 0 && terms%TileTerms == 0 }

// steps returns the terms of a block whose tiles lie one behind the other.
func (s *splitScratch) steps(n, parts int) Terms {
	s.terms = s.terms[:0]
	for t := range n {
		s.terms = append(s.terms, Term{int32(t * parts * TilePairs), int32(t * parts * TilePairs)})
	}
	last := (n - 1) * parts * TilePairs
	return Terms{s.terms, last, last}
}

// pairsOf returns n pairs, p's if it has as many.
func pairsOf(p *[]Pair, n int) []Pair {
	if cap(*p) < n {
		*p = make([]Pair, n)
	}
	return (*p)[:n]
}

// mulSplit is Mul by matrix tiles of numbers of so many parts.
func (p *Product) mulSplit(s *splitScratch) {
	turned := p.ColA != 1
	if !Splits(p.M, p.K) || p.N%Lanes != 0 || p.K == 0 || turned && (p.Bias != nil || p.Accumulate || p.RowC != Lanes) {
		panic("f32: a product that matrix tiles do not make")
	}
	if p.M == 0 || p.N == 0 {
		return
	}
	if p.Bias != nil {
		p.spreadBias()
	}
	blocks := p.N / Lanes
	for j := 0; j < blocks; j += panelBlocks {
		some := min(panelBlocks, blocks-j)
		for k := 0; k < p.K; k += splitTerms {
			if turned {
				p.splitTurned(s, k, min(splitTerms, p.K-k), j, some)
			} else {
				p.splitPanel(s, k, min(splitTerms, p.K-k), j, some)
			}
		}
		for b := j; b < j+some && turned; b++ {
			p.turn(b)
		}
	}
}

// turn transposes the squares of a block of C in their places.
func (p *Product) turn(block int) {
	var square [Lanes * Lanes]float32
	for m := 0; m < p.M; m += Lanes {
		c := p.C[block*p.BlockC+m*Lanes:][:Lanes*Lanes]
		Transpose(square[:], Lanes, c, Lanes)
		copy(c, square[:])
	}
}

// spreadBias sets C to what the product starts with.
func (p *Product) spreadBias() {
	for b := range p.N / Lanes {
		for m, v := range p.Bias[:p.M] {
			row := p.C[b*p.BlockC+m*p.RowC:][:Lanes]
			for l := range row {
				row[l] = v
			}
		}
	}
}

// splitPanel adds the product of columns of A from k on with blocks of B from j on.
func (p *Product) splitPanel(s *splitScratch, k, terms, j, blocks int) {
	size := terms / TileTerms * p.Parts * TilePairs // pairs of 16 rows, or 16 columns
	right, left := pairsOf(&s.right, blocks*size), pairsOf(&s.left, 2*size)
	for b := range blocks {
		SplitColumns(right[b*size:], p.Parts, p.B[(j+b)*p.BlockB+k*p.RowB:], p.RowB, terms)
	}
	list, t := s.steps(terms/TileTerms, p.Parts), &s.tile
	t.Parts, t.RowC = p.Parts, p.RowC
	t.Accumulate = p.Accumulate || p.Bias != nil || k > 0
	for m := 0; m < p.M; m += blockRows {
		rows := min(blockRows, p.M-m)
		for r := 0; r < rows; r += Lanes {
			SplitRows(left[r/Lanes*size:], p.Parts, p.A[(m+r)*p.RowA+k:], p.RowA, terms)
		}
		t.A, t.DownA, t.DownC = left, (rows-Lanes)/Lanes*size, (rows-Lanes)*p.RowC
		for b := 0; b < blocks; b += 2 {
			two := min(1, blocks-b-1)
			t.B, t.RightB, t.C, t.RightC = right[b*size:], two*size, p.C[(j+b)*p.BlockC+m*p.RowC:], two*p.BlockC
			t.near = near{}
			if next := m + blockRows + 2*b; next+4 <= p.M { // four of the next rows
				t.near = nearRows(p.A[next*p.RowA+k:], p.RowA)
				t.near.step = 128
			}
			t.Mul(&list)
		}
	}
	s.tile = SplitTile{} // the scratch must not hold on to what is the caller's
}

// splitTurned is splitPanel for A that is transposed: it makes squares of 16×16 of C
// transposed in their places, since there what A has is on the right.
func (p *Product) splitTurned(s *splitScratch, k, terms, j, blocks int) {
	size := terms / TileTerms * p.Parts * TilePairs
	left, right := pairsOf(&s.left, blocks*size), pairsOf(&s.right, 2*size)
	var columns [ThreeParts * TilePairs]Pair
	for b := range blocks {
		for i := 0; i < terms; i += TileTerms {
			SplitColumns(columns[:], p.Parts, p.B[(j+b)*p.BlockB+(k+i)*p.RowB:], p.RowB, TileTerms)
			to := left[b*size+i/TileTerms*p.Parts*TilePairs:]
			for part := range p.Parts {
				TransposePairs(to[part*TilePairs:], Lanes, columns[part*TilePairs:], Lanes)
			}
		}
	}
	list, t := s.steps(terms/TileTerms, p.Parts), &s.tile
	t.Parts, t.RowC, t.Accumulate = p.Parts, Lanes, k > 0
	for m := 0; m < p.M; m += blockRows {
		columns := min(blockRows, p.M-m)
		for c := 0; c < columns; c += Lanes {
			SplitColumns(right[c/Lanes*size:], p.Parts, p.A[k*p.ColA+m+c:], p.ColA, terms)
		}
		t.B, t.RightB, t.RightC = right, (columns-Lanes)/Lanes*size, (columns-Lanes)*Lanes
		t.near = near{}
		if m+2*blockRows <= p.M {
			t.near = nearRows(p.A[k*p.ColA+m+blockRows:], p.ColA)
		}
		for b := 0; b < blocks; b += 2 {
			two := min(1, blocks-b-1)
			t.A, t.DownA, t.C, t.DownC = left[b*size:], two*size, p.C[(j+b)*p.BlockC+m*Lanes:], two*p.BlockC
			t.Mul(&list)
		}
	}
	s.tile = SplitTile{}
}

// mulSplit is Mul by matrix tiles. Each run fills tiles of its own, 0 behind its end.
func (p *RunProduct) mulSplit(s *splitScratch) {
	if p.M%Lanes != 0 || p.N%Lanes != 0 {
		panic("f32: a product of runs that matrix tiles do not make")
	}
	if s.sum == nil {
		s.sum, s.wide = make([]float32, wideBlock), make([]float64, wideBlock)
	}
	accumulate := p.Accumulate
	for first, start := 0, 0; first < len(p.Ends); {
		end, from, tiles := first, start, 0
		for ; end < len(p.Ends); end++ {
			n := (p.Ends[end] - from + TileTerms - 1) / TileTerms
			if tiles+n > splitTiles && end > first {
				break
			}
			tiles, from = tiles+n, p.Ends[end]
		}
		for m := 0; m < p.M; m += splitOuts {
			for j := 0; j < p.N; j += splitRuns {
				p.splitRuns(s, first, end, start, tiles, m, j, accumulate)
			}
		}
		first, start, accumulate = end, from, true
	}
	s.tile = SplitTile{}
}

// splitRuns adds the runs [first, end), whose terms begin at start and fill so many
// tiles, to rows from m on and columns from j on.
func (p *RunProduct) splitRuns(s *splitScratch, first, end, start, tiles, m, j int, accumulate bool) {
	rows, columns := min(splitOuts, p.M-m), min(splitRuns, p.N-j)
	size := tiles * p.Parts * TilePairs
	right, left := pairsOf(&s.right, columns/Lanes*size), pairsOf(&s.left, rows/Lanes*size)
	s.runs = s.runs[:0]
	p.eachRun(first, end, start, func(from, terms, at int) {
		s.runs = append(s.runs, (terms+TileTerms-1)/TileTerms)
		for r := 0; r < rows && j == 0; r += Lanes {
			SplitRows(left[r/Lanes*size+at:], p.Parts, p.A[(m+r)*p.RowA+from:], p.RowA, terms)
		}
		for c := 0; c < columns; c += Lanes {
			SplitColumns(right[c/Lanes*size+at:], p.Parts, p.B[(j+c)/Lanes*p.BlockB+from*Lanes:], Lanes, terms)
		}
	})
	t := &s.tile
	t.Parts, t.C = p.Parts, s.sum
	for r := 0; r < rows; r += blockRows {
		height := min(blockRows, rows-r)
		t.DownA = (height - Lanes) / Lanes * size
		for c := 0; c < columns; c += blockRows {
			width := min(blockRows, columns-c)
			t.RightB = (width - Lanes) / Lanes * size
			p.fetchWide(s, m+r, j+c, height, width, accumulate)
			t.A, t.B, t.near = left[r/Lanes*size:], right[c/Lanes*size:], near{}
			if p.Out != nil { // which comes next
				t.near = nearRows(p.Out[(m+r)*p.RowOut+j+c:], p.RowOut)
			}
			t.addRuns(s.runs, s.wide)
			p.storeWide(s, m+r, j+c, height, width, end == len(p.Ends))
		}
	}
}

// eachRun calls f with where the terms of each run start, how many they are, and where
// their tiles stand among those of 16 rows or columns.
func (p *RunProduct) eachRun(first, end, start int, f func(from, terms, at int)) {
	at := 0
	for _, e := range p.Ends[first:end] {
		f(start, e-start, at)
		at += (e - start + TileTerms - 1) / TileTerms * p.Parts * TilePairs
		start = e
	}
}

// fetchWide sets the block of float64 to what it starts with.
func (p *RunProduct) fetchWide(s *splitScratch, m, j, height, width int, accumulate bool) {
	if !accumulate {
		clear(s.wide)
		return
	}
	for r := range height {
		copy(s.wide[r*tileFloats:][:width], p.C[(m+r)*p.RowC+j:])
	}
}

// storeWide brings the block to where it belongs.
func (p *RunProduct) storeWide(s *splitScratch, m, j, height, width int, last bool) {
	if p.Out != nil && last {
		addTile(p.Out[m*p.RowOut+j:], p.RowOut, s.wide, height, width)
		return
	}
	for r := range height {
		copy(p.C[(m+r)*p.RowC+j:][:width], s.wide[r*tileFloats:])
	}
}
