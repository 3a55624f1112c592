package f32

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"proactivedp/internal/cpu"
	"proactivedp/rng"
)

// wideGuard is what lies where nothing may be written of float64.
const wideGuard = float64(guard)

func randomWides(r interface{ NormFloat64() float64 }, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64() * math.Ldexp(1, i%60-30)
	}
	return x
}

// guarded returns a copy of x between guard zones, and the copy with them.
func guarded(x []float64) (inside, all []float64) {
	all = slices.Concat(slices.Repeat([]float64{wideGuard}, zone), x, slices.Repeat([]float64{wideGuard}, zone))
	return all[zone : zone+len(x) : zone+len(x)], all
}

func guardedNarrow(x []float32) (inside, all []float32) {
	all = slices.Concat(filled(zone, guard), x, filled(zone, guard))
	return all[zone : zone+len(x) : zone+len(x)], all
}

// sameWides takes all NaNs for the same.
func sameWides(x, y []float64) bool {
	return slices.EqualFunc(x, y, func(v, w float64) bool {
		return math.Float64bits(v) == math.Float64bits(w) || v != v && w != w
	})
}

func sameNarrows(x, y []float32) bool { return slices.EqualFunc(x, y, sameBits) }

// specialAt puts numbers that are not finite, subnormal ones and zeros into every
// seventh place.
func specialAt[T float32 | float64](x []T) []T {
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-40, -3e38}
	for i := 3; i < len(x); i += 7 {
		x[i] = T(odd[i/7%len(odd)])
	}
	return x
}

// The kernels that add in float64 are their portable twins, bit for bit, at every
// length, with numbers that are not finite too, and write nothing else.
func TestWideKernels(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(20)
		for _, special := range []bool{false, true} {
			for n := range 130 {
				x32, x64, y32, y64 := randomFloats(r, n), randomWides(r, n), randomFloats(r, n), randomWides(r, n)
				f := [Lanes]float32(randomFloats(r, Lanes))
				if special {
					x32, x64, y32, y64 = specialAt(x32), specialAt(x64), specialAt(y32), specialAt(y64)
					f[5] = 1e-40
				}
				got64, all64 := guarded(y64)
				want64, allWant64 := guarded(y64)
				AxpyWide(-0.37, x32, got64)
				axpyWidePortable(-0.37, x32, want64)
				if !sameWides(all64, allWant64) {
					t.Fatalf("AxpyWide of %d: %v, want %v", n, got64, want64)
				}
				got32, all32 := guardedNarrow(y32)
				want32, allWant32 := guardedNarrow(y32)
				AddNarrow(got32, x64)
				for i, v := range x64 {
					want32[i] = float32(float64(want32[i]) + v)
				}
				if !sameNarrows(all32, allWant32) {
					t.Fatalf("AddNarrow of %d: %v, want %v", n, got32, want32)
				}
				Narrow(got32, x64)
				Widen(got64, x32)
				for i := range n { // an equal number, which of −0 is 0
					if v, w := got32[i], float32(x64[i]); v != w && (v == v || w == w) {
						t.Fatalf("Narrow of %d gives %v for %v", n, v, x64[i])
					}
					if v, w := got64[i], float64(x32[i]); v != w && (v == v || w == w) {
						t.Fatalf("Widen of %d gives %v for %v", n, v, w)
					}
				}
				vectors := n % 40
				lanes := randomFloats(r, vectors*Lanes)
				if special {
					lanes = specialAt(lanes)
				}
				sums := randomWides(r, vectors*WideLanes)
				got64, all64 = guarded(sums)
				want64, allWant64 = guarded(sums)
				LaneAxpyWide(&f, lanes, got64)
				laneAxpyWidePortable(&f, lanes, want64)
				if !sameWides(all64, allWant64) {
					t.Fatalf("LaneAxpyWide of %d vectors: %v, want %v", vectors, got64, want64)
				}
			}
		}
	})
}

// LaneAxpyWide rounds each product to float32 and adds in float64: the definition, and
// no more is lost than a place of the sum.
func TestLaneAxpyWideIsTheFormula(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		f, x := [Lanes]float32(fill(Lanes, 3)), fill(2*Lanes, 0.7)
		y := make([]float64, 2*WideLanes)
		LaneAxpyWide(&f, x, y)
		for i, got := range y {
			v, l := i/WideLanes*Lanes, i%WideLanes
			want := float64(f[l]*x[v+l]) + float64(f[l+WideLanes]*x[v+l+WideLanes])
			if got != want {
				t.Errorf("number %d is %v, want %v", i, got, want)
			}
		}
		sums := make([]float64, 2)
		SumWideLanes(sums, []float64{1, 2, 4, 8, 16, 32, 64, 128, 1, 0x1p60, 1, -0x1p60, 1, 1, 1, 1})
		if sums[0] != 255 {
			t.Errorf("1 + 2 + … + 128 = %v", sums[0])
		}
		// Halves first: (1+1) + (1+1) and (2^60+1) + (−2^60+1).
		if sums[1] != 4 {
			t.Errorf("the sum with two that cancel is %v, want 4", sums[1])
		}
	})
}

// Normal takes the stream as AddNormal does, whatever the length: the same numbers, and
// the next ones too.
func TestNormalIsAddNormal(t *testing.T) {
	const sigma = 0.83
	eachClass(t, func(t *testing.T) {
		const once = normalsAtOnce
		for _, n := range []int{0, 1, 31, 32, 33, once - 1, once, once + 1, 3*once + 45} {
			stream := func() *rng.Stream { return rng.New(5).Stream(rng.Noise, 1, n) }
			a, b := stream(), stream()
			want, got := make([]float32, n), filled(n, guard)
			AddNormal(want, sigma, a)
			Normal(got, sigma, b)
			if !slices.Equal(got, want) {
				t.Errorf("Normal of %d gives other numbers", n)
			}
			if a.Uint64() != b.Uint64() {
				t.Errorf("%d numbers use up the stream otherwise", n)
			}
		}
	})
}

// runs draws how many terms runs have, in all so many.
func runs(r interface{ IntN(int) int }, terms int) []int {
	var lengths []int
	for terms > 0 {
		n := 1 + r.IntN(min(terms, 70))
		lengths = append(lengths, n)
		terms -= n
	}
	return lengths
}

// What MulRuns adds is each run by itself: bit for bit what Mul of a run from 0 gives in
// the same class, added in order; the portable one to the tolerance.
func TestMulRuns(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(21)
		for rows := 1; rows <= TileRows; rows++ {
			for cols := 1; cols <= TileCols; cols++ {
				for _, run := range []int{1, 2, 3, 7, 25} {
					for count := range 6 {
						tile, list := randomTile(r, rows, cols, run*count)
						size := (rows-1)*tile.RowC + maxColumn(tile.ColC[:cols]) + Lanes
						before := filled(size+2*Lanes, guard)
						forEachOfC(rows, tile.RowC, tile.ColC[:cols],
							func(i int) { before[Lanes+i] = float32(i%7) / 3 })
						got, want, portable := slices.Clone(before), slices.Clone(before), slices.Clone(before)
						terms := NewTerms(list)
						tile.C = got[Lanes : Lanes+size]
						tile.MulRuns(terms, run)
						one := tile
						one.C = make([]float32, size)
						for i := range count {
							part := terms.Slice(i*run, (i+1)*run)
							one.Mul(&part)
							forEachOfC(rows, tile.RowC, tile.ColC[:cols], func(i int) { want[Lanes+i] += one.C[i] })
						}
						if !slices.Equal(got, want) {
							t.Fatalf("%d×%d, %d runs of %d: not each by itself", rows, cols, count, run)
						}
						tile.C = portable[Lanes : Lanes+size]
						runsPortable(&tile, list, run)
						compare(t, "MulRuns", got, portable, filled(len(got), float32(20*(1+len(list)))))
					}
				}
			}
		}
	})
}

// What MulWide adds is each run by itself in float32, bit for bit what Mul of a run from 0
// gives in the same class, added in float64.
func TestMulWide(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(22)
		for rows := 1; rows <= TileRows; rows++ {
			for cols := 1; cols <= TileCols; cols++ {
				for _, count := range []int{0, 1, 2, 63, 64, 65, 200} {
					tile, list := randomTile(r, rows, cols, count)
					lengths, wideRow := runs(r, count), cols*Lanes+r.IntN(9)
					inside, got := guarded(randomWides(r, (rows-1)*wideRow+cols*Lanes))
					want := slices.Clone(got)
					terms := NewTerms(list)
					tile.MulWide(terms, lengths, inside, wideRow)
					one := tile
					one.RowC, one.C = TileCols*Lanes, make([]float32, TileRows*TileCols*Lanes)
					for j := range cols {
						one.ColC[j] = j * Lanes
					}
					from := 0
					for _, n := range lengths {
						part := terms.Slice(from, from+n)
						one.Mul(&part)
						for m := range rows {
							for i := range cols * Lanes {
								want[zone+m*wideRow+i] += float64(one.C[m*one.RowC+i])
							}
						}
						from += n
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%d×%d, runs of %v: not each by itself", rows, cols, lengths)
					}
				}
			}
		}
	})
}

// AddWide and addTile are their definitions, bit for bit, for every number of rows and
// columns, and write nothing else.
func TestTilesAreAdded(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(23)
		for rows := 1; rows <= TileRows; rows++ {
			for vectors := 1; vectors <= TileCols; vectors++ {
				row := vectors*Lanes + r.IntN(9)
				tile := specialAt(randomFloats(r, rows*tileFloats))
				inside, got := guarded(randomWides(r, (rows-1)*row+vectors*Lanes))
				want := slices.Clone(got)
				AddWide(inside, row, tile, rows, vectors)
				for m := range rows {
					for i := range vectors * Lanes {
						want[zone+m*row+i] += float64(tile[m*tileFloats+i])
					}
				}
				if !sameWides(got, want) {
					t.Errorf("AddWide of %d rows of %d vectors: %v, want %v", rows, vectors, got, want)
				}
			}
			for width := 1; width <= tileFloats; width++ {
				row := width + r.IntN(9)
				tile := specialAt(randomWides(r, rows*tileFloats))
				inside, got := guardedNarrow(randomFloats(r, (rows-1)*row+width))
				want := slices.Clone(got)
				addTile(inside, row, tile, rows, width)
				for m := range rows {
					for i := range width {
						at := zone + m*row + i
						want[at] = float32(float64(want[at]) + tile[m*tileFloats+i])
					}
				}
				if !sameNarrows(got, want) {
					t.Errorf("addTile of %d rows of %d: %v, want %v", rows, width, got, want)
				}
			}
		}
	})
}

// randomRuns is a product of runs, and its C and Out in guard zones.
func randomRuns(seed uint64, m, n, terms int, accumulate, out bool) (p RunProduct, c []float64, o []float32) {
	r := source(seed)
	p = RunProduct{M: m, N: n, Accumulate: accumulate, RowA: terms + r.IntN(5), RowC: n + r.IntN(20)}
	for _, length := range runs(r, terms) {
		last := 0
		if len(p.Ends) > 0 {
			last = p.Ends[len(p.Ends)-1]
		}
		p.Ends = append(p.Ends, last+length)
	}
	blocks := (n + Lanes - 1) / Lanes
	p.BlockB = terms*Lanes + Lanes*r.IntN(3)
	p.A, p.B = randomFloats(r, (m-1)*p.RowA+terms), randomFloats(r, blocks*p.BlockB)
	p.C, c = guarded(randomWides(r, (m-1)*p.RowC+n))
	if out {
		p.RowOut = n + r.IntN(20)
		p.Out, o = guardedNarrow(randomFloats(r, (m-1)*p.RowOut+n))
	}
	return p, c, o
}

// checkRuns compares RunProduct.Mul with its definition: the sum of each run in float32,
// multiplications and additions fused or not, added in float64; and what is put out,
// rounded once. Nothing else is written.
func checkRuns(t *testing.T, what string, p RunProduct, c []float64, o []float32, fused bool) {
	t.Helper()
	wantC, wantO := slices.Clone(c), slices.Clone(o)
	for m := range p.M {
		for j := range p.N {
			sum, from := 0.0, 0
			if p.Accumulate {
				sum = c[zone+m*p.RowC+j]
			}
			for _, end := range p.Ends {
				var run float32
				for i := from; i < end; i++ {
					a, b := p.A[m*p.RowA+i], p.B[j/Lanes*p.BlockB+i*Lanes+j%Lanes]
					if fused {
						run = multiplyAdd(a, b, run)
					} else {
						run += float32(a * b)
					}
				}
				sum += float64(run)
				from = end
			}
			if p.Out == nil {
				wantC[zone+m*p.RowC+j] = sum
			} else {
				at := zone + m*p.RowOut + j
				wantO[at] = float32(float64(wantO[at]) + sum)
			}
		}
	}
	p.Mul(new(ProductScratch))
	if !slices.Equal(c, wantC) {
		t.Errorf("%s: C is not the definition's", what)
	}
	if !slices.Equal(o, wantO) {
		t.Errorf("%s: Out is not the definition's", what)
	}
}

// RunProduct.Mul is its definition, bit for bit in every class, for ragged shapes, one run
// and several, from nothing or from what C holds, into C or added to Out.
func TestRunProduct(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		fused := Kernels() != cpu.Portable
		seed := uint64(24)
		rows := []int{1, 5, 6, 7, 13, panelRows + 3}
		if testing.Short() { // under an emulator
			rows = []int{1, 7}
		}
		for _, m := range rows {
			for _, n := range []int{1, 15, 16, 17, 63, 64, 65, 130} {
				for _, terms := range []int{1, 2, 64, 150} {
					for k := range 4 {
						seed++
						p, c, o := randomRuns(seed, m, n, terms, k%2 == 1, k/2 == 1)
						checkRuns(t, fmt.Sprintf("%d×%d, runs to %v, accumulate %v, out %v", m, n, p.Ends, p.Accumulate,
							p.Out != nil), p, c, o, fused)
					}
				}
			}
		}
	})
}

// All classes that fuse give the same bits, of all that is summed by runs.
func TestAcceleratedRunsAgree(t *testing.T) {
	var first []float64
	for _, class := range Classes() {
		if class == cpu.Portable {
			continue
		}
		restore, err := Use(class)
		if err != nil {
			t.Fatal(err)
		}
		var all []float64
		for seed := range uint64(20) {
			p, c, o := randomRuns(seed, 17, 100, 150, seed%2 == 0, seed%3 == 0)
			p.Mul(new(ProductScratch))
			all = append(all, c...)
			for _, v := range o {
				all = append(all, float64(v))
			}
			tile, list := randomTile(source(seed), 1+int(seed)%TileRows, 1+int(seed)%TileCols, 30)
			tile.C = make([]float32, 3000)
			tile.MulRuns(NewTerms(list), 5)
			for _, v := range tile.C {
				all = append(all, float64(v))
			}
		}
		restore()
		if first == nil {
			first = all
		} else if !slices.Equal(first, all) {
			t.Errorf("%v gives other bits", class)
		}
	}
}

// What does not fit panics.
func TestWideKernelsPanicOnMisuse(t *testing.T) {
	terms := NewTerms([]Term{{0, 0}, {1, Lanes}})
	tile := func() *Tile {
		return &Tile{Rows: 1, Cols: 1, RowA: 2, A: make([]float32, 2), B: make([]float32, 2*Lanes),
			C: make([]float32, Lanes)}
	}
	product := func(spoil func(p *RunProduct)) func() {
		return func() {
			p, _, _ := randomRuns(1, 3, 20, 10, false, true)
			spoil(&p)
			p.Mul(new(ProductScratch))
		}
	}
	x, wide, run := make([]float32, 4*Lanes), make([]float64, 4*Lanes), []int{2}
	if panics(product(func(*RunProduct) {})) || panics(func() { tile().MulRuns(terms, 2) }) ||
		panics(func() { tile().MulWide(terms, []int{1, 1}, wide, Lanes) }) {
		t.Fatal("what fits panics")
	}
	for name, f := range map[string]func(){
		"MulRuns of no run":               func() { tile().MulRuns(terms, 0) },
		"MulRuns of a part of a run":      func() { tile().MulRuns(NewTerms(make([]Term, 3)), 2) },
		"MulRuns beyond C":                func() { x := tile(); x.C = x.C[1:]; x.MulRuns(terms, 2) },
		"MulRuns beyond B":                func() { x := tile(); x.B = x.B[1:]; x.MulRuns(terms, 2) },
		"MulRuns with a bias":             func() { x := tile(); x.Bias = make([]float32, 1); x.MulRuns(terms, 2) },
		"MulWide of other lengths":        func() { tile().MulWide(terms, []int{1}, wide, Lanes) },
		"MulWide of a run of no terms":    func() { tile().MulWide(terms, []int{2, 0}, wide, Lanes) },
		"MulWide of a negative run":       func() { tile().MulWide(terms, []int{3, -1}, wide, Lanes) },
		"MulWide to overlapping rows":     func() { tile().MulWide(terms, []int{2}, wide, Lanes-1) },
		"MulWide beyond the sum":          func() { tile().MulWide(terms, []int{2}, wide[:Lanes-1], Lanes) },
		"MulWide beyond A":                func() { x := tile(); x.A = x.A[1:]; x.MulWide(terms, run, wide, Lanes) },
		"MulWide beyond B":                func() { x := tile(); x.B = x.B[1:]; x.MulWide(terms, run, wide, Lanes) },
		"AddWide beyond the sum":          func() { AddWide(wide[:Lanes], Lanes, x, 1, 2) },
		"AddWide of a part of a tile":     func() { AddWide(wide, 2*Lanes, x, 2, 2) },
		"addTile beyond the rows":         func() { addTile(x[:5], 3, wide, 2, 3) },
		"addTile of a part of a tile":     func() { addTile(x, 3, wide, 2, 3) },
		"SumWideLanes of other lengths":   func() { SumWideLanes(wide[:2], wide[:15]) },
		"Narrow of unequal lengths":       func() { Narrow(x, wide[1:]) },
		"Widen of unequal lengths":        func() { Widen(wide[:3], x) },
		"a product without rows":          product(func(p *RunProduct) { p.M = 0 }),
		"a product without columns":       product(func(p *RunProduct) { p.N = 0 }),
		"a product without runs":          product(func(p *RunProduct) { p.Ends = nil }),
		"a product with an empty run":     product(func(p *RunProduct) { p.Ends = []int{3, 3, 10} }),
		"a product that goes back":        product(func(p *RunProduct) { p.Ends = []int{5, 3, 10} }),
		"a product to overlapping rows":   product(func(p *RunProduct) { p.RowC = 19 }),
		"a product beyond A":              product(func(p *RunProduct) { p.A = p.A[1:] }),
		"a product beyond B":              product(func(p *RunProduct) { p.B = p.B[:p.BlockB] }),
		"a product beyond C":              product(func(p *RunProduct) { p.C = p.C[1:] }),
		"a product beyond Out":            product(func(p *RunProduct) { p.Out = p.Out[:len(p.Out)-1] }),
		"a product to rows in each other": product(func(p *RunProduct) { p.RowOut = 19 }),
	} {
		if !panics(f) {
			t.Errorf("%s does not panic", name)
		}
	}
}

func TestRunsAllocateNothing(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		p, _, _ := randomRuns(1, 7, 50, 90, true, true)
		s := new(ProductScratch)
		p.Mul(s)
		if n := testing.AllocsPerRun(10, func() { p.Mul(s) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
