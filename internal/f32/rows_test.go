package f32

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// someRows are drawn rows of a matrix of so many columns, and numbers of them.
func someRows(r *rand.Rand, stride, n int) (x []float32, rows []int32) {
	const size = 23
	x = randomFloats(r, size*stride)
	for range n {
		rows = append(rows, int32(r.IntN(size)))
	}
	return x, rows
}

// magicOf is that of a unit.
func magicOf(unit float64) float64 { return 1.5 * (1 << 52) * unit }

// The kernels of rows are their portable twins, bit for bit, and write nothing else.
func TestRowKernels(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(40)
		for stride := 8; stride <= 280; stride += 8 {
			for n := range 15 {
				x, rows := someRows(r, stride, n)
				w, f := make([]float64, stride), randomWides(r, n)
				Widen(w, randomFloats(r, stride))
				got, all := guarded(make([]float64, n))
				want, allWant := guarded(make([]float64, n))
				RowDots(got, x, stride, rows, w)
				rowDotsPortable(want, n, x, stride, rows, w, 1)
				if !sameWides(all, allWant) {
					t.Fatalf("RowDots of %d rows of %d: %v, want %v", n, stride, got, want)
				}
				for i := range f {
					f[i] = math.Tanh(f[i]) * 0x1p20
				}
				got, all = guarded(make([]float64, stride))
				want, allWant = guarded(make([]float64, stride))
				AddRows(got, x, stride, rows, f, magicOf(0x1p-7))
				addRowsPortable(want, x, stride, rows, f, n, magicOf(0x1p-7), 0, 1)
				if !sameWides(all, allWant) {
					t.Fatalf("AddRows of %d rows of %d: %v, want %v", n, stride, got, want)
				}
			}
		}
	})
}

// Several vectors at once give the bits of each by itself.
func TestRowKernelsOfSeveralVectors(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(47)
		for _, stride := range []int{8, 16, 40, 104} {
			for vectors := 1; vectors <= 12; vectors++ {
				for _, n := range []int{0, 1, 3, 4, 11} {
					x, rows := someRows(r, stride, n)
					w := make([]float64, vectors*stride)
					Widen(w, randomFloats(r, len(w)))
					got, all := guarded(make([]float64, vectors*n))
					want, allWant := guarded(make([]float64, vectors*n))
					RowDots(got, x, stride, rows, w)
					for k := range vectors {
						rowDotsPortable(want[k*n:], n, x, stride, rows, w[k*stride:][:stride], 1)
					}
					if !sameWides(all, allWant) {
						t.Fatalf("RowDots of %d rows of %d and %d vectors: %v, want %v", n, stride, vectors, got, want)
					}
					f := randomWides(r, vectors*n)
					for i := range f {
						f[i] = math.Tanh(f[i]) * 0x1p20
					}
					got, all = guarded(make([]float64, vectors*stride))
					want, allWant = guarded(make([]float64, vectors*stride))
					AddRows(got, x, stride, rows, f, magicOf(0x1p-7))
					for k := range vectors {
						addRowsPortable(want[k*stride:][:stride], x, stride, rows, f[k*n:], n, magicOf(0x1p-7), 0, 1)
					}
					if !sameWides(all, allWant) {
						t.Fatalf("AddRows of %d rows of %d to %d sums: %v, want %v", n, stride, vectors, got, want)
					}
				}
			}
		}
	})
}

// WidenRow writes all of a row, the numbers and 0 behind them, and nothing else.
func TestWidenRow(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(46)
		for n := range 90 {
			x := specialAt(randomFloats(r, n))
			got, all := guarded(slices.Repeat([]float64{wideGuard}, (n+7)/8*8))
			want, allWant := guarded(make([]float64, len(got)))
			WidenRow(got, x)
			for i, v := range x {
				want[i] = float64(v)
			}
			if !sameWides(all, allWant) {
				t.Fatalf("%d numbers: %v, want %v", n, got, want)
			}
		}
	})
}

// RowDots is the product where that is exact, whatever the order.
func TestRowDotsOfIntegers(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		const stride = 72
		x, w := make([]float32, 5*stride), make([]float64, stride)
		for i := range x {
			x[i] = float32(i%19 - 9)
		}
		for c := range w {
			w[c] = float64(c%7 - 3)
		}
		rows := []int32{4, 0, 2, 2, 3, 1}
		z := make([]float64, len(rows))
		RowDots(z, x, stride, rows, w)
		for i, row := range rows {
			want := 0.0
			for c, v := range x[int(row)*stride:][:stride] {
				want += float64(v) * w[c]
			}
			if z[i] != want {
				t.Errorf("row %d: %v, want %v", row, z[i], want)
			}
		}
	})
}

// The largest numbers of units, at the most rows that are added at once and beyond, sum
// to what they are, in any order.
func TestAddRowsIsExact(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		const stride = WideLanes
		for _, n := range []int{1, 2, 3, rowsOfUnits - 1, rowsOfUnits, rowsOfUnits + 5} {
			x := slices.Concat(filled(stride, 1), filled(stride, -1), filled(stride, 0x1p-32))
			rows, f, units := make([]int32, n), make([]float64, n), 0.0
			for i := range rows {
				f[i], rows[i] = 0x1p32, int32(i%8/7) // seven times up, once down
				units += float64(1-2*rows[i]) * 0x1p32
			}
			rows[0], units = 2, units-0x1p32+1
			sum := make([]float64, stride)
			for range 2 {
				clear(sum)
				AddRows(sum, x, stride, rows, f, magicOf(1))
				for c, v := range sum {
					if v != units {
						t.Fatalf("%d rows: column %d is %v units, want %v", n, c, v, units)
					}
				}
				slices.Reverse(rows)
			}
		}
	})
}

// bigExp is e^x to far more than the digits of a float64.
func bigExp(x float64) *big.Float {
	const precision, halvings = 300, 24
	r := new(big.Float).SetPrec(precision).SetFloat64(x)
	r.SetMantExp(r, -halvings)
	term, sum := big.NewFloat(1).SetPrec(precision), big.NewFloat(1).SetPrec(precision)
	for i := 1; i < 30; i++ {
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetInt64(int64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// ExpWide keeps its promised error.
func TestExpWide(t *testing.T) {
	const promised = 1.1 // units in the last place
	r := source(41)
	var x []float64
	for i := range 8000 {
		switch v := r.Float64(); i % 4 {
		case 0:
			x = append(x, -708+1417*v)
		case 1:
			x = append(x, -40*v)
		case 2: // beside where the integer changes
			x = append(x, (math.Round(2000*v)-1000+0.5)*math.Ln2*(1+(r.Float64()-0.5)*0x1p-40))
		default:
			x = append(x, math.Ldexp(v-0.5, -r.IntN(60)))
		}
	}
	copy(x, []float64{0, -708, 709, math.Copysign(0, -1), 1, -1, math.SmallestNonzeroFloat64, 708})
	eachClass(t, func(t *testing.T) {
		y := slices.Clone(x)
		ExpWide(y)
		worst, where := 0.0, 0.0
		for i, v := range x {
			want := bigExp(v)
			ulp := math.Ldexp(1, want.MantExp(nil)-53)
			off, _ := new(big.Float).Sub(want, big.NewFloat(y[i])).Float64()
			if off = math.Abs(off) / ulp; !(off <= worst) {
				worst, where = off, v
			}
		}
		t.Logf("at most %.4f units in the last place, at %v", worst, where)
		if !(worst <= promised) || worst < 0.5 {
			t.Errorf("e^%v is off by %v units in the last place", where, worst)
		}
	})
}

// ExpWide is its portable twin, and what it says beyond its range.
func TestExpWideAtTheEnds(t *testing.T) {
	inf := math.Inf(1)
	x := []float64{inf, -inf, 710, -1e300, math.NaN(), math.Float64frombits(0x7ff8000000000fff), 709.7, -708.5}
	eachClass(t, func(t *testing.T) {
		y, twin := slices.Clone(x), slices.Clone(x)
		ExpWide(y)
		expWidePortable(twin)
		if !sameWides(y, twin) {
			t.Errorf("%v, want %v", y, twin)
		}
		ends := []float64{709, -708, 709, -708, math.NaN(), math.NaN(), 709, -708}
		ExpWide(ends)
		if !sameWides(y, ends) {
			t.Errorf("e^%v = %v, want %v", x, y, ends)
		}
		r := source(42)
		for range 200 {
			x := randomWides(r, 40)
			twin := slices.Clone(x)
			ExpWide(x)
			if expWidePortable(twin); !sameWides(x, twin) {
				t.Fatalf("%v, want %v", x, twin)
			}
		}
	})
}

// What does not fit panics.
func TestRowKernelsPanicOnMisuse(t *testing.T) {
	x, w, z, rows := make([]float32, 3*16), make([]float64, 16), make([]float64, 2), []int32{0, 2}
	if panics(func() { RowDots(z, x, 16, rows, w); AddRows(w, x, 16, rows, z, magicOf(1)) }) {
		t.Fatal("what fits panics")
	}
	for name, f := range map[string]func(){
		"WidenRow to a longer row":      func() { WidenRow(w, x[:8]) },
		"WidenRow to a shorter row":     func() { WidenRow(w[:8], x[:9]) },
		"RowDots of a negative row":     func() { RowDots(z, x, 16, []int32{0, -1}, w) },
		"RowDots of a row that is not":  func() { RowDots(z, x, 16, []int32{0, 3}, w) },
		"RowDots of other parameters":   func() { RowDots(z, x, 16, rows, w[:8]) },
		"RowDots of parts of a vector":  func() { RowDots(z, x, 12, rows, w[:12]) },
		"RowDots of no vector":          func() { RowDots(nil, x, 16, rows, nil) },
		"RowDots of numbers of another": func() { RowDots(z, x, 8, rows, w) },
		"RowDots of too few numbers":    func() { RowDots(z[:1], x, 16, rows, w) },
		"AddRows of a row that is not":  func() { AddRows(w, x, 16, []int32{3, 0}, z, magicOf(1)) },
		"AddRows to another sum":        func() { AddRows(w[:8], x, 16, rows, z, magicOf(1)) },
		"AddRows of too few factors":    func() { AddRows(w, x, 16, rows, z[:1], magicOf(1)) },
		"AddRows of rows of no columns": func() { AddRows(nil, x, -8, rows, z, magicOf(1)) },
		"ExpWide of a part of a vector": func() { ExpWide(w[:7]) },
	} {
		if !panics(f) {
			t.Errorf("%s does not panic", name)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	const stride = 72
	for _, n := range []int{1, 26} {
		x, rows := someRows(source(43), stride, n)
		w, z, f := randomWides(source(44), stride), make([]float64, n), randomWides(source(45), n)
		e := make([]float64, (n+7)/8*8)
		for name, kernel := range map[string]func(){
			"dots": func() { RowDots(z, x, stride, rows, w) },
			"add":  func() { AddRows(w, x, stride, rows, f, magicOf(1)) },
			"exp":  func() { ExpWide(e) },
		} {
			b.Run(name+map[int]string{1: "/n=1", 26: "/n=26"}[n], func(b *testing.B) {
				for b.Loop() {
					kernel()
				}
			})
		}
	}
}
