package f32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"proactivedp/internal/cpu"
)

// eachClass runs a test with the kernels of every class that can be used.
func eachClass(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, c := range Classes() {
		restore, err := Use(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.String(), test)
		restore()
	}
}

// source gives the tests' operands; a seed gives the same ones.
func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func randomFloats(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// guard is what lies where nothing may be written.
const guard = float32(-12345.5)

func filled(n int, v float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = v
	}
	return x
}

// contractionTolerance is what the kernels may differ by, relative to the sum
// of the terms' magnitudes.
const contractionTolerance = 1e-5

// same reports whether got is want to the tolerance, or both are NaN or the
// same infinity.
func same(got, want, magnitude float32) bool {
	g, w := float64(got), float64(want)
	if math.IsNaN(w) || math.IsInf(w, 0) {
		return math.IsNaN(g) && math.IsNaN(w) || g == w
	}
	return math.Abs(g-w) <= contractionTolerance*float64(magnitude)
}

func magnitudes(x []float32) []float32 {
	y := slices.Clone(x)
	for i, v := range y {
		y[i] = float32(math.Abs(float64(v)))
	}
	return y
}

// randomTile is a tile with strides and offsets that overlap no place of C, and
// its terms.
func randomTile(r *rand.Rand, rows, cols, terms int) (Tile, []Term) {
	t := Tile{Rows: rows, Cols: cols, RowA: r.IntN(50)}
	a, b := 200, 300
	list := make([]Term, terms)
	for i := range list {
		list[i] = Term{int32(r.IntN(a)), int32(r.IntN(b))}
	}
	for j := range t.ColB {
		t.ColB[j] = r.IntN(100)
	}
	t.A, t.B = randomFloats(r, a+(rows-1)*t.RowA), randomFloats(r, b+slices.Max(t.ColB[:cols])+Lanes-1)
	if r.IntN(2) == 0 { // columns side by side, or rows
		t.RowC = TileCols*(Lanes+3) + r.IntN(9)
		for j, at := range r.Perm(TileCols) {
			t.ColC[j] = at*(Lanes+3) + r.IntN(3)
		}
	} else {
		t.RowC = Lanes + r.IntN(5)
		for j, at := range r.Perm(TileCols) {
			t.ColC[j] = at * (TileRows*t.RowC + 1)
		}
	}
	return t, list
}

// TestTile compares Tile.Mul with its portable loop: every shape, every number
// of terms to 40 and some more, each start; nothing else of C is written.
func TestTile(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(1)
		for rows := 1; rows <= TileRows; rows++ {
			for cols := 1; cols <= TileCols; cols++ {
				for terms := range 44 {
					if terms > 40 {
						terms *= 37
					}
					tile, list := randomTile(r, rows, cols, terms)
					if terms%3 == 1 {
						tile.Bias = randomFloats(r, rows)
					}
					tile.Accumulate = terms%3 == 2 || r.IntN(4) == 0
					checkTile(t, tile, list)
				}
			}
		}
	})
}

func checkTile(t *testing.T, tile Tile, list []Term) {
	t.Helper()
	used := (tile.Rows-1)*tile.RowC + maxColumn(tile.ColC[:tile.Cols]) + Lanes
	before := filled(used+2*Lanes, guard)
	forEachOfC(tile.Rows, tile.RowC, tile.ColC[:tile.Cols], func(i int) { before[Lanes+i] = float32(i % 7) })
	run := func(mul func(*Tile), tile Tile) []float32 {
		c := slices.Clone(before)
		tile.C = c[Lanes : Lanes+used]
		mul(&tile)
		return c
	}
	portable := func(x *Tile) { tilePortable(x, list) }
	got, want := run(func(x *Tile) { x.Mul(NewTerms(list)) }, tile), run(portable, tile)
	tile.A, tile.B, tile.Bias = magnitudes(tile.A), magnitudes(tile.B), magnitudes(tile.Bias)
	if len(tile.Bias) == 0 {
		tile.Bias = nil
	}
	magnitude := run(portable, tile)
	compare(t, fmt.Sprintf("%d×%d, %d terms", tile.Rows, tile.Cols, len(list)), got, want, magnitude)
}

func forEachOfC(rows, row int, columns []int, do func(i int)) {
	for m := range rows {
		for _, c := range columns {
			for l := range Lanes {
				do(m*row + c + l)
			}
		}
	}
}

// compare checks every float, those of the guard zones included: there the
// magnitude is the guard's, so they must be equal.
func compare(t *testing.T, what string, got, want, magnitude []float32) {
	t.Helper()
	for i, w := range want {
		if !same(got[i], w, max(0, magnitude[i])) {
			t.Fatalf("%s: place %d is %v, want %v ± %.0e·%v", what, i, got[i], w, contractionTolerance, magnitude[i])
		}
	}
}

// TestLaneTile compares LaneTile.Mul with its portable loop as TestTile does.
func TestLaneTile(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(2)
		for rows := 1; rows <= LaneTileRows; rows++ {
			for cols := 1; cols <= LaneTileCols; cols++ {
				for terms := range 44 {
					if terms > 40 {
						terms *= 37
					}
					checkLaneTile(t, r, rows, cols, terms)
				}
			}
		}
	})
}

func checkLaneTile(t *testing.T, r *rand.Rand, rows, cols, terms int) {
	t.Helper()
	tile := LaneTile{Rows: rows, Cols: cols, RowA: r.IntN(50), RowC: LaneTileCols*(Lanes+1) + r.IntN(9),
		Accumulate: r.IntN(2) == 0}
	list := make([]Term, terms)
	for i := range list {
		list[i] = Term{int32(r.IntN(200)), int32(r.IntN(300))}
	}
	for j, at := range r.Perm(LaneTileCols) {
		tile.ColB[j], tile.ColC[j] = r.IntN(100), at*(Lanes+1)
	}
	tile.A, tile.B = randomFloats(r, 200+(rows-1)*tile.RowA+Lanes-1), randomFloats(r,
		300+slices.Max(tile.ColB[:cols])+Lanes-1)
	used := (rows-1)*tile.RowC + maxColumn(tile.ColC[:cols]) + Lanes
	before := filled(used+2*Lanes, guard)
	forEachOfC(rows, tile.RowC, tile.ColC[:cols], func(i int) { before[Lanes+i] = float32(i % 7) })
	run := func(mul func(*LaneTile), tile LaneTile) []float32 {
		c := slices.Clone(before)
		tile.C = c[Lanes : Lanes+used]
		mul(&tile)
		return c
	}
	portable := func(x *LaneTile) { laneTilePortable(x, list) }
	got, want := run(func(x *LaneTile) { x.Mul(NewTerms(list)) }, tile), run(portable, tile)
	tile.A, tile.B = magnitudes(tile.A), magnitudes(tile.B)
	compare(t, fmt.Sprintf("%d×%d, %d terms", rows, cols, terms), got, want, run(portable, tile))
}

// Not-finite factors come through in their places, and only there: clipping
// must see a gradient that diverged. A factor 0 does not hide an infinity.
func TestTilesKeepNotFinite(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(3)
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for range 50 {
				tile, list := randomTile(r, 1+r.IntN(TileRows), 1+r.IntN(TileCols), 10)
				tile.B[r.IntN(len(tile.B))] = float32(bad)
				tile.A[r.IntN(len(tile.A))] = 0
				checkTile(t, tile, list)
				tile.A[r.IntN(len(tile.A))] = float32(bad)
				checkTile(t, tile, list)
			}
		}
		a, b, c := make([]float32, Lanes), filled(Lanes, float32(math.Inf(1))), make([]float32, Lanes)
		lane := LaneTile{Rows: 1, Cols: 1, RowA: Lanes, RowC: Lanes, A: a, B: b, C: c}
		if lane.Mul(NewTerms([]Term{{0, 0}})); c[3] == c[3] {
			t.Errorf("0·∞ gave %v", c[3])
		}
	})
}

// The accelerated kernels fuse and add in the same order: the same bits.
func TestAcceleratedClassesAgree(t *testing.T) {
	var first []float32
	for _, c := range Classes() {
		if c == cpu.Portable {
			continue
		}
		restore, err := Use(c)
		if err != nil {
			t.Fatal(err)
		}
		r := source(4)
		tile, list := randomTile(r, 5, 3, 200)
		tile.C = make([]float32, 1000)
		tile.Mul(NewTerms(list))
		restore()
		if first == nil {
			first = tile.C
		} else if !slices.Equal(first, tile.C) {
			t.Errorf("%v gives other bits", c)
		}
	}
}

func TestTranspose(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		for _, rows := range [][2]int{{16, 16}, {17, 40}, {31, 16}, {400, 33}} {
			dstRow, srcRow := rows[0], rows[1]
			src := randomFloats(source(5), 15*srcRow+Lanes+3)[3:]
			got := filled(15*dstRow+Lanes+2*Lanes, guard)
			want := slices.Clone(got)
			Transpose(got[Lanes:][:15*dstRow+Lanes], dstRow, src, srcRow)
			transposePortable(want[Lanes:], dstRow, src, srcRow)
			if !slices.Equal(got, want) {
				t.Errorf("rows of %d and %d: %v, want %v", dstRow, srcRow, got, want)
			}
		}
	})
}

// Kernels do not check what Mul has checked, so Mul must find what lies outside.
func TestTilesPanicOutOfRange(t *testing.T) {
	terms := NewTerms([]Term{{4, 8}})
	good := func() Tile {
		return Tile{Rows: 2, Cols: 2, RowA: 3, RowC: 32, ColB: [TileCols]int{0, 16}, ColC: [TileCols]int{0, 16},
			A: make([]float32, 8), B: make([]float32, 8+16+Lanes), C: make([]float32,
				32+16+Lanes), Bias: make([]float32, 2)}
	}
	tile := good()
	tile.Mul(terms)
	for name, spoil := range map[string]func(*Tile){
		"rows":        func(x *Tile) { x.Rows = TileRows + 1 },
		"no row":      func(x *Tile) { x.Rows = 0 },
		"columns":     func(x *Tile) { x.Cols = TileCols + 1 },
		"A":           func(x *Tile) { x.A = x.A[:7] },
		"B":           func(x *Tile) { x.B = x.B[:len(x.B)-1] },
		"C":           func(x *Tile) { x.C = x.C[:len(x.C)-1] },
		"bias":        func(x *Tile) { x.Bias = x.Bias[:1] },
		"row of A":    func(x *Tile) { x.RowA = -1 },
		"row of C":    func(x *Tile) { x.RowC = -1 },
		"column of B": func(x *Tile) { x.ColB[0] = -1 },
		"column of C": func(x *Tile) { x.ColC[1] = 17 },
	} {
		tile := good()
		spoil(&tile)
		if !panics(func() { tile.Mul(terms) }) {
			t.Errorf("%s: no panic", name)
		}
	}
	lane := LaneTile{Rows: 1, Cols: 1, A: make([]float32, 4+Lanes-1), B: make([]float32, 8+Lanes),
		C: make([]float32, Lanes)}
	if !panics(func() { lane.Mul(terms) }) {
		t.Error("LaneTile reads beyond A")
	}
	if !panics(func() { NewTerms([]Term{{-1, 0}}) }) {
		t.Error("a term before the start")
	}
	if !panics(func() { Transpose(make([]float32, 255), 16, make([]float32, 256), 16) }) {
		t.Error("Transpose writes beyond its block")
	}
}

// TestPatches holds the tiles of a list of patches against Mul of each, bit by bit.
func TestPatches(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(6)
		for n := range 6 {
			rows := 1 + r.IntN(LaneTileRows)
			tile, _ := randomTile(r, rows, TileCols, 1)
			tile.A, tile.B, tile.C = randomFloats(r, 200+rows*tile.RowA+Lanes), randomFloats(r, 300+Lanes),
				randomFloats(r, rows*tile.RowC+300+Lanes)
			lane := LaneTile{Rows: rows, RowA: tile.RowA, RowC: tile.RowC, A: tile.A, B: tile.B}
			lane.C = slices.Clone(tile.C)
			var patches []Patch
			for range n {
				terms := NewTerms([]Term{{int32(r.IntN(200)), int32(r.IntN(200))}, {1, 2}})
				p := Patch{Terms: terms, Cols: 1 + r.IntN(TileCols)}
				for j := range p.Cols {
					p.ColB[j], p.ColC[j] = r.IntN(100), (n%3*TileCols+j)*(Lanes+1)
				}
				patches = append(patches, p)
			}
			one, oneLane := tile, lane
			one.C, oneLane.C = slices.Clone(tile.C), slices.Clone(lane.C)
			for i := range patches {
				p := &patches[i]
				one.Cols, oneLane.Cols = p.Cols, p.Cols
				copy(one.ColB[:], p.ColB[:])
				copy(one.ColC[:], p.ColC[:])
				one.Mul(p.Terms)
				oneLane.ColB, oneLane.ColC = p.ColB, p.ColC
				oneLane.Mul(p.Terms)
			}
			tile.MulPatches(NewPatches(patches))
			lane.MulPatches(NewPatches(patches))
			if !slices.Equal(tile.C, one.C) || !slices.Equal(lane.C, oneLane.C) {
				t.Fatalf("%d patches: another result than one by one", n)
			}
		}
	})
}

// TestMulOdd compares LaneTile.MulOdd with its portable loop as TestTile does.
func TestMulOdd(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(7)
		for rows := 1; rows <= OddTileRows; rows++ {
			for cols := 1; cols <= LaneTileCols; cols++ {
				for n := range 20 {
					list := make([]Term, n)
					for i := range list {
						list[i] = Term{int32(r.IntN(12) * Lanes), int32(r.IntN(300))}
					}
					p := Patch{Terms: NewTerms(list), Cols: cols}
					for j, at := range r.Perm(cols) {
						p.ColB[j], p.ColC[j] = 9+j*Lanes, at*(Lanes+1)
					}
					tile := LaneTile{Rows: rows, RowA: r.IntN(5) * Lanes, RowC: LaneTileCols*(Lanes+1) + r.IntN(9),
						Accumulate: r.IntN(2) == 0}
					tile.A, tile.B = randomFloats(r, (12+(rows-1)*5)*Lanes), randomFloats(r, 309+(cols+1)*Lanes)
					for range tile.A[:len(tile.A)/Lanes] {
						tile.Odd = append(tile.Odd, int32(r.IntN(1<<Lanes)))
					}
					before := filled(rows*tile.RowC+2*Lanes, guard)
					forEachOfC(rows, tile.RowC, p.ColC[:cols], func(i int) { before[Lanes+i] = float32(i % 7) })
					run := func(mul func(*LaneTile, []Patch), tile LaneTile) []float32 {
						c := slices.Clone(before)
						tile.C = c[Lanes:]
						mul(&tile, []Patch{p})
						return c
					}
					mul := func(x *LaneTile, list []Patch) { x.MulOdd(NewPatches(list)) }
					got, want := run(mul, tile), run(oddPortable, tile)
					tile.A, tile.B = magnitudes(tile.A), magnitudes(tile.B)
					compare(t, fmt.Sprintf("%d×%d, %d terms", rows, cols, n), got, want, run(oddPortable, tile))
				}
			}
		}
	})
}

// TestHalvesAreTheSameBits holds the products with what MaxPoolHalves gives against those
// with all that MaxPoolBack gives, which a class may take instead.
func TestHalvesAreTheSameBits(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		if !PrefersOdd() && Kernels() != cpu.Portable {
			t.Skip("its MulOdd is the portable one, and never taken")
		}
		const h, w = 3, 4
		r, p := source(8), Plane{H: h, W: w, Row: w * Lanes}
		which := make([]int32, h*w*Lanes)
		for i := range which {
			which[i] = int32(r.IntN(4))
		}
		d, all, half, odd := randomFloats(r, h*w*Lanes), make([]float32, 4*h*w*Lanes), make([]float32, 2*h*w*Lanes),
			make([]int32, 2*h*w)
		MaxPoolBack(all, 2*w*Lanes, d, p, which)
		MaxPoolHalves(half, odd, d, p, which)
		var each, pairs []Term
		for y := range 2 * h {
			for x := range 2 * w {
				each = append(each, Term{int32((y*2*w + x) * Lanes), int32((y*(2*w+2) + x) * Lanes)})
			}
			for x := range w {
				pairs = append(pairs, Term{int32((y*w + x) * Lanes), int32((y*(2*w+2) + 2*x) * Lanes)})
			}
		}
		columns := [LaneTileCols]int{0, Lanes, 2 * Lanes}
		patch := Patch{Cols: 3, ColB: columns, ColC: columns}
		tile := LaneTile{Rows: 1, A: all, B: randomFloats(r, 2*h*(2*w+2)*Lanes), C: make([]float32, 3*Lanes), Odd: odd}
		patch.Terms = NewTerms(each)
		tile.MulPatches(NewPatches([]Patch{patch}))
		want := slices.Clone(tile.C)
		patch.Terms, tile.A = NewTerms(pairs), half
		tile.MulOdd(NewPatches([]Patch{patch}))
		if !slices.Equal(tile.C, want) {
			t.Errorf("%v, of all positions %v", tile.C, want)
		}
	})
}

// TestPatchesPanicOutOfRange is TestTilesPanicOutOfRange for a list of patches.
func TestPatchesPanicOutOfRange(t *testing.T) {
	patch := Patch{Terms: NewTerms([]Term{{Lanes, 8}}), Cols: 2, ColB: [LaneTileCols]int{16},
		ColC: [LaneTileCols]int{0, 16}}
	reach := func(a, b, c, cols int) (tile Tile, lane LaneTile, p *Patches) {
		x := patch
		x.Cols = cols
		tile = Tile{Rows: 1, A: make([]float32, a), B: make([]float32, b), C: make([]float32, c)}
		lane = LaneTile{Rows: 1, A: make([]float32, a+Lanes-1), B: tile.B, C: tile.C}
		return tile, lane, NewPatches([]Patch{{Terms: NewTerms(nil), Cols: 1}, x})
	}
	const a, b, c = Lanes + 1, 8 + 16 + Lanes, 16 + Lanes
	tile, lane, good := reach(a, b, c, 2)
	tile.MulPatches(good)
	lane.MulPatches(good)
	for _, bad := range [][4]int{{a - 1, b, c, 2}, {a, b - 1, c, 2}, {a, b, c - 1, 2}} {
		tile, lane, p := reach(bad[0], bad[1], bad[2], bad[3])
		if !panics(func() { tile.MulPatches(p) }) || !panics(func() { lane.MulPatches(p) }) {
			t.Errorf("%v: no panic", bad)
		}
	}
	_, lane, apart := reach(a+Lanes, b+Lanes, c, 2)
	lane.Odd = []int32{0, 0}
	if !panics(func() { lane.MulOdd(apart) }) {
		t.Error("halves of columns that are not side by side: no panic")
	}
	patch.ColB[1] = 16 + Lanes
	for short := range 5 {
		_, lane, p := reach(a, b+2*Lanes, c, 2)
		lane.Odd = []int32{0, 0}
		switch short {
		case 1:
			lane.A = lane.A[1:]
		case 2:
			lane.B = lane.B[1:]
		case 3:
			lane.C = lane.C[1:]
		case 4:
			lane.Odd = lane.Odd[1:]
		}
		if panics(func() { lane.MulOdd(p) }) != (short > 0) {
			t.Errorf("halves that reach out of slice %d", short)
		}
	}
	patch.Terms = NewTerms([]Term{{1, 8}})
	_, lane, amid := reach(a, b+2*Lanes, c, 2)
	lane.Odd = []int32{0, 0}
	if !panics(func() { lane.MulOdd(amid) }) {
		t.Error("halves amid vectors: no panic")
	}
	if tile, _, p := reach(a, b, c, LaneTileCols); !panics(func() { tile.MulPatches(p) }) {
		t.Error("a tile of too many columns: no panic")
	}
	for _, cols := range []int{0, LaneTileCols + 1} {
		if !panics(func() { reach(a, b, c, cols) }) {
			t.Errorf("%d columns: no panic", cols)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestTilesAllocateNothing(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		a, b, c := make([]float32, 100), make([]float32, 100), make([]float32, 100)
		terms := NewTerms([]Term{{1, 2}, {3, 4}})
		if n := testing.AllocsPerRun(10, func() {
			tile := Tile{Rows: 1, Cols: 1, A: a, B: b, C: c}
			tile.Mul(terms)
			lane := LaneTile{Rows: 1, Cols: 1, A: a, B: b, C: c}
			lane.Mul(terms)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// TestFullTile holds the largest tile over a straight ladder of terms against Tile.Mul of the
// same class, bit by bit: every number of terms to 20 and some more, each start; nothing else
// of C is written.
func TestFullTile(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(4)
		for terms := range 60 {
			if terms > 20 {
				terms *= 11
			}
			var s ProductScratch
			list := s.ladder(1, Lanes, terms)
			tile, _ := randomTile(r, TileRows, TileCols, 1)
			tile.A = randomFloats(r, terms+(TileRows-1)*tile.RowA)
			tile.B = randomFloats(r, terms*Lanes+slices.Max(tile.ColB[:])+Lanes)
			switch terms % 3 {
			case 0:
				tile.Bias = randomFloats(r, TileRows)
			case 1:
				tile.Accumulate = true
			}
			size := (TileRows-1)*tile.RowC + slices.Max(tile.ColC[:]) + 2*Lanes
			want := randomFloats(r, size)
			got := slices.Clone(want)
			tile.C = want
			tile.Mul(&list)
			tile.C = got
			tile.mulLadder(&list, true)
			if !slices.Equal(got, want) {
				t.Fatalf("%d terms: another sum than Tile.Mul's", terms)
			}
		}
	})
}
