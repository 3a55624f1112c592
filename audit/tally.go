package audit

import (
	"math"
	"slices"
)

// The blocks of the noise of a release, which must all differ.
const (
	blockLength = 4
	maxBlocks   = 256 // largest number of blocks of a release
)

// The bins of the noise's distribution, in standard deviations.
const (
	binsPerStd = 4
	lastBin    = 40 // bins from −5 to 5
)

// tally accumulates the numbers that checks need over many runs.
type tally struct {
	*sheet
	runs   int
	square []float64        // of each free coordinate
	total  []float64        // of each free coordinate
	bins   [lastBin + 2]int // the outer ones are the tails
	pairs  [][]float64      // products of the noise of two releases of one run
	legs   float64          // products of the noise of a release and the same release of the leg before
	legged int              // number of legs that have one before
	blocks []uint64         // hashes of blocks of noise
	sum    float64          // of standardised sums
	sumSq  float64          // of their squares
	fourth float64          // of their fourth cumulants
	louder float64          // products of sums and squared norms of the noise
	mark   []float64        // of the mark of each record
	marked [][]float64      // products of the marks of two releases
	off    float64          // largest distance from what the seeds give
	other  int
}

func newTally(h *sheet) *tally {
	n := h.releases()
	t := &tally{sheet: h, square: make([]float64, len(h.free)), total: make([]float64, len(h.free)),
		mark: make([]float64, len(h.marks)), pairs: make([][]float64, n), marked: make([][]float64, n)}
	for i := range n {
		t.pairs[i], t.marked[i] = make([]float64, n), make([]float64, n)
	}
	return t
}

// add adds the run s. before is the first leg of the same root, or nil if s is a first leg.
func (t *tally) add(s, before *seen) {
	t.runs++
	for a, z := range s.noise {
		loudness := 0.0
		for i, v := range z {
			x := float64(v)
			t.total[i] += x
			square := float64(x * x)
			t.square[i] += square
			loudness += square
			t.bins[int(min(max((x+lastBin/2/binsPerStd)*binsPerStd+1, 0), lastBin+1))]++
		}
		free := float64(len(z))
		t.louder += s.sums[a] * (loudness - free) / math.Sqrt(2*free)
		t.sum += s.sums[a]
		t.sumSq += float64(s.sums[a] * s.sums[a])
		t.fourth += s.fours[a]
		for b := range a {
			t.pairs[a][b] += dot(z, s.noise[b])
			t.marked[a][b] += dot(s.found[a], s.found[b])
		}
		for i, x := range s.found[a] {
			t.mark[i] += x
		}
		if before != nil {
			t.legs += dot(z, before.noise[a])
		}
		for i := 0; i+blockLength <= min(len(z), maxBlocks*blockLength); i += blockLength {
			t.blocks = append(t.blocks, hashed(z[i:i+blockLength]))
		}
		t.off = max(t.off, s.off[a])
	}
	if before != nil {
		t.legged++
	}
	t.other += s.other
}

// merge adds another tally. The order of merges must be fixed to give the same bits.
func (t *tally) merge(o *tally) {
	t.runs += o.runs
	t.legged += o.legged
	addTo(t.square, o.square)
	addTo(t.total, o.total)
	addTo(t.mark, o.mark)
	for i := range t.pairs {
		addTo(t.pairs[i], o.pairs[i])
		addTo(t.marked[i], o.marked[i])
	}
	for i, n := range o.bins {
		t.bins[i] += n
	}
	t.blocks = append(t.blocks, o.blocks...)
	for _, part := range []struct {
		to   *float64
		from float64
	}{{&t.legs, o.legs}, {&t.sum, o.sum}, {&t.sumSq, o.sumSq}, {&t.fourth, o.fourth}, {&t.louder, o.louder}} {
		*part.to += part.from
	}
	t.off = max(t.off, o.off)
	t.other += o.other
}

func addTo(x, y []float64) {
	for i, v := range y {
		x[i] += v
	}
}

// repeated returns the number of blocks of noise that equal another one.
func (t *tally) repeated() int {
	blocks := slices.Clone(t.blocks)
	slices.Sort(blocks)
	return len(blocks) - len(slices.Compact(blocks))
}
