package f32

// These are the sizes of panels, the parts of A and B that are split at a time for products by
// matrix tiles. A panel fits the second-level cache. It has the same number of terms for every
// shape, so that the result of a column does not depend on other columns.
const (
	splitTerms = 512        // terms of a panel: 768 KB of B
	splitTiles = 16         // tiles of the terms of runs
	splitOuts  = 64 * Lanes // rows of C in a panel of runs: 3 MB of A
	splitRuns  = 16 * Lanes // columns of C in a panel of runs: 768 KB of B
	blockRows  = 2 * Lanes  // rows of a SplitTile
	wideBlock  = blockRows * tileFloats
)

// splitScratch is the working memory of products by matrix tiles.
type splitScratch struct {
	left, right []Pair
	tile        SplitTile
	terms       []Term
	sum         []float32 // a block
	wide        []float64 // a block
	runs        []int     // steps
}

// Splits reports whether matrix tiles can compute a Product with this number of rows of A and of terms.
func Splits(rows, terms int) bool { return rows%Lanes == 0 && terms%TileTerms == 0 }

// steps returns the n terms of a block whose tiles, with this many parts each, follow one another
// in memory.
func (s *splitScratch) steps(n, parts int) Terms {
	s.terms = s.terms[:0]
	for t := range n {
		s.terms = append(s.terms, Term{int32(t * parts * TilePairs), int32(t * parts * TilePairs)})
	}
	last := (n - 1) * parts * TilePairs
	return Terms{s.terms, last, last}
}

// pairsOf returns n pairs, reusing p if it is long enough.
func pairsOf(p *[]Pair, n int) []Pair {
	if cap(*p) < n {
		*p = make([]Pair, n)
	}
	return (*p)[:n]
}

// mulSplit computes the product as Mul does, with matrix tiles.
func (p *Product) mulSplit(s *splitScratch) {
	turned := p.ColA != 1
	if !Splits(p.M, p.K) || p.N%Lanes != 0 || p.K == 0 || turned && (p.Bias != nil || p.Accumulate || p.RowC != Lanes) {
		panic("f32: a product that matrix tiles cannot compute")
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

// turn transposes the squares of a block of C in place.
func (p *Product) turn(block int) {
	var square [Lanes * Lanes]float32
	for m := 0; m < p.M; m += Lanes {
		c := p.C[block*p.BlockC+m*Lanes:][:Lanes*Lanes]
		Transpose(square[:], Lanes, c, Lanes)
		copy(c, square[:])
	}
}

// spreadBias sets C to the product's start value.
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

// splitPanel adds to C the product of the given number of columns of A from k on with the blocks of
// B from j on.
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
	s.tile = SplitTile{} // the scratch must not keep the caller's memory
}

// splitTurned does the same as splitPanel, for a transposed A. It computes the 16×16 squares of C
// transposed, because A is then the right factor.
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

// mulSplit computes the product as Mul does, with matrix tiles. Each run fills its own tiles, with
// zeros after its end.
func (p *RunProduct) mulSplit(s *splitScratch) {
	if p.M%Lanes != 0 || p.N%Lanes != 0 {
		panic("f32: a product of runs that matrix tiles cannot compute")
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

// splitRuns adds the runs [first, end) to rows from m on and columns from j on. Their terms begin
// at start and fill the given number of tiles.
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
			if p.Out != nil { // needed next
				t.near = nearRows(p.Out[(m+r)*p.RowOut+j+c:], p.RowOut)
			}
			t.addRuns(s.runs, s.wide)
			p.storeWide(s, m+r, j+c, height, width, end == len(p.Ends))
		}
	}
}

// eachRun calls f for each run with the start and the number of its terms, and the position of its
// tiles among those of 16 rows or columns.
func (p *RunProduct) eachRun(first, end, start int, f func(from, terms, at int)) {
	at := 0
	for _, e := range p.Ends[first:end] {
		f(start, e-start, at)
		at += (e - start + TileTerms - 1) / TileTerms * p.Parts * TilePairs
		start = e
	}
}

// fetchWide sets s.wide, a block in float64, to its start value: the content of C if accumulate,
// and otherwise 0.
func (p *RunProduct) fetchWide(s *splitScratch, m, j, height, width int, accumulate bool) {
	if !accumulate {
		clear(s.wide)
		return
	}
	for r := range height {
		copy(s.wide[r*tileFloats:][:width], p.C[(m+r)*p.RowC+j:])
	}
}

// storeWide copies the block s.wide to its place in C. If p.Out is not nil, it adds the last block
// to Out instead.
func (p *RunProduct) storeWide(s *splitScratch, m, j, height, width int, last bool) {
	if p.Out != nil && last {
		addTile(p.Out[m*p.RowOut+j:], p.RowOut, s.wide, height, width)
		return
	}
	for r := range height {
		copy(p.C[(m+r)*p.RowC+j:][:width], s.wide[r*tileFloats:])
	}
}
