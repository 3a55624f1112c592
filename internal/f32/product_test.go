package f32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// stored is a matrix as it lies in memory: place gives the index of (i, j).
type stored struct {
	x     []float32
	place func(i, j int) int
}

func (s stored) at(i, j int) float64 { return float64(s.x[s.place(i, j)]) }

// rowMajor stores a matrix with rows ld floats apart, guards in between, and
// ends with its last element.
func rowMajor(r *rand.Rand, rows, cols, ld int, transposed bool) stored {
	place := func(i, j int) int { return i*ld + j }
	if transposed {
		rows, cols = cols, rows
		place = func(i, j int) int { return j*ld + i }
	}
	n := 0
	if rows > 0 && cols > 0 {
		n = (rows-1)*ld + cols
	}
	x := filled(n, guard)
	for i := range rows {
		for j := range cols {
			x[i*ld+j] = float32(r.NormFloat64())
		}
	}
	return stored{x, place}
}

// blocked stores a matrix as [column/Lanes][row][column mod Lanes], with a gap
// between blocks, and ends with its last element.
func blocked(r *rand.Rand, rows, cols, gap int) (s stored, block int) {
	block = rows*Lanes + gap
	s.place = func(i, j int) int { return j/Lanes*block + i*Lanes + j%Lanes }
	if rows > 0 && cols > 0 {
		s.x = filled(s.place(rows-1, cols-1)+1, guard)
	}
	for i := range rows {
		for j := range cols {
			s.x[s.place(i, j)] = float32(r.NormFloat64())
		}
	}
	return s, block
}

// checkProduct compares C with start + A·B in float64 and finds every other
// place as it was.
func checkProduct(t *testing.T, what string, m, n, k int, a, b, c stored, before []float32,
	start func(i, j int) float64) {
	t.Helper()
	untouched := slices.Clone(before)
	for i := range m {
		for j := range n {
			sum := start(i, j)
			magnitude := math.Abs(sum)
			for l := range k {
				term := a.at(i, l) * b.at(l, j)
				sum += term
				magnitude += math.Abs(term)
			}
			p := c.place(i, j)
			if got := c.at(i, j); math.Abs(got-sum) > contractionTolerance*magnitude {
				t.Fatalf("%s: C(%d, %d) = %v, want %v", what, i, j, got, sum)
			}
			untouched[p] = c.x[p]
		}
	}
	if !slices.Equal(untouched, c.x) {
		t.Fatalf("%s: written outside C", what)
	}
}

// gemm computes C ← op(A)·B, or C ← C + op(A)·B, of row-major matrices with lda,
// ldb and ldc floats from a row to the next: C is m×n, B k×n.
func gemm(transA bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, accumulate bool,
	s *ProductScratch) {
	p := Product{
		M: m, N: n, K: k, A: a, RowA: lda, ColA: 1, B: b, RowB: ldb, BlockB: Lanes,
		C: c, RowC: ldc, BlockC: Lanes, Accumulate: accumulate,
	}
	if transA {
		p.RowA, p.ColA = 1, lda
	}
	p.Mul(s)
}

// TestProductOfMatrices compares with a triple loop in float64: small shapes of
// every kind of remainder and some larger than the panels, A as it lies and
// transposed, rows with gaps.
func TestProductOfMatrices(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(11)
		var s ProductScratch
		check := func(m, n, k int) {
			for flags := range 4 {
				transA, accumulate := flags&2 > 0, flags&1 > 0
				ld := func(rows, cols int, transposed bool) int {
					if transposed {
						cols = rows
					}
					return max(1, cols+r.IntN(4)*r.IntN(8))
				}
				lda, ldb, ldc := ld(m, k, transA), ld(k, n, false), ld(m, n, false)
				a, b, c := rowMajor(r, m, k, lda, transA), rowMajor(r, k, n, ldb, false), rowMajor(r, m, n, ldc, false)
				before := slices.Clone(c.x)
				gemm(transA, m, n, k, a.x, lda, b.x, ldb, c.x, ldc, accumulate, &s)
				checkProduct(t, fmt.Sprintf("%d×%d×%d, transposed %v, accumulate %v", m, n, k, transA, accumulate),
					m, n, k, a, b, c, before, func(i, j int) float64 {
						if accumulate {
							return float64(before[i*ldc+j])
						}
						return 0
					})
			}
		}
		for range 60 {
			check(r.IntN(41), r.IntN(41), r.IntN(41))
		}
		for _, n := range []int{0, 1, 15, 16, 17, 32, 40, 48} {
			check(9, n, 7)
			check(n, 1, 1)
			check(1, n, 1)
			check(1, 1, n)
		}
		check(panelRows+7, 20, 9)
		check(7, panelBlocks*Lanes+5, 5)
		check(8, reusedA*Lanes+3, max(2*panelTerms, farApart)+1) // copies A as it lies
		check(farApart+1, 20, 9)                                 // copies A transposed …
		check(farApart+1, 20, 2*Lanes+5)                         // … by squares
	})
}

// TestProduct checks the layouts of dense layers: blocks of lanes in and out,
// rows out, weights as they lie and transposed, every start.
func TestProduct(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		r := source(12)
		var s ProductScratch
		for i := range 120 {
			m, n, k := r.IntN(30), r.IntN(12*Lanes), r.IntN(30)
			if i%10 == 0 {
				k += panelTerms
			}
			p := Product{M: m, N: n, K: k, Accumulate: i%3 == 0}
			transposed := i%2 == 0
			ld := max(m, k, 1) + r.IntN(5)
			a := rowMajor(r, m, k, ld, transposed)
			p.A, p.RowA, p.ColA = a.x, ld, 1
			if transposed {
				p.RowA, p.ColA = 1, ld
			}
			b, blockB := blocked(r, k, n, r.IntN(20))
			p.B, p.RowB, p.BlockB = b.x, Lanes, max(1, blockB)
			c, blockC := blocked(r, m, n, r.IntN(20))
			p.RowC, p.BlockC = Lanes, max(1, blockC)
			if i%4 == 0 {
				ldc := max(n, 1) + r.IntN(9)
				c, p.RowC, p.BlockC = rowMajor(r, m, n, ldc, false), ldc, Lanes
			}
			p.C = c.x
			if i%5 < 2 {
				p.Bias = randomFloats(r, m)
			}
			before := slices.Clone(c.x)
			p.Mul(&s)
			checkProduct(t, fmt.Sprintf("%d×%d×%d, case %d", m, n, k, i), m, n, k, a, b, c, before,
				func(i, j int) float64 {
					switch {
					case p.Bias != nil:
						return float64(p.Bias[i])
					case p.Accumulate:
						return float64(before[c.place(i, j)])
					}
					return 0
				})
		}
	})
}

// The result is the same bits however the work is cut: whole, by columns, by
// rows, and by terms with Accumulate.
func TestProductDoesNotDependOnCuts(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		const m, n, k = 50, 11 * Lanes, 300
		r := source(13)
		a, b := randomFloats(r, m*k), randomFloats(r, k*n)
		var s ProductScratch
		product := func(p Product) {
			p.RowA, p.ColA, p.RowB, p.BlockB, p.RowC, p.BlockC = k, 1, n, Lanes, n, Lanes
			p.Mul(&s)
		}
		whole, cut := make([]float32, m*n), make([]float32, m*n)
		product(Product{M: m, N: n, K: k, A: a, B: b, C: whole})
		for i := 0; i < m; i += 7 {
			for j := 0; j < n; j += 37 {
				for l := 0; l < k; l += 111 {
					product(Product{M: min(7, m-i), N: min(37, n-j), K: min(111, k-l),
						A: a[i*k+l:], B: b[l*n+j:], C: cut[i*n+j:], Accumulate: l > 0})
				}
			}
		}
		if !slices.Equal(whole, cut) {
			t.Error("other bits")
		}
	})
}

// A column that is not finite spoils itself alone, a term of A its row; a zero
// of A hides nothing.
func TestProductKeepsNotFinite(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		const m, n, k = 9, 37, 20
		var s ProductScratch
		a, b, c := make([]float32, m*k), filled(k*n, 1), make([]float32, m*n)
		b[3*n+36] = float32(math.Inf(1))
		a[7*k+19] = float32(math.NaN())
		gemm(false, m, n, k, a, k, b, n, c, n, false, &s)
		for i := range m {
			for j := range n {
				if bad := i == 7 || j == 36; bad != (c[i*n+j] != c[i*n+j]) {
					t.Errorf("C(%d, %d) = %v", i, j, c[i*n+j])
				}
			}
		}
	})
}

func TestProductPanicsOutOfRange(t *testing.T) {
	good := func() Product {
		return Product{M: 2, N: 18, K: 3, A: make([]float32, 6), RowA: 3, ColA: 1, B: make([]float32, 54), RowB: 18,
			BlockB: Lanes,
			C:      make([]float32, 36), RowC: 18, BlockC: Lanes, Bias: make([]float32, 2)}
	}
	var s ProductScratch
	p := good()
	p.Mul(&s)
	for name, spoil := range map[string]func(*Product){
		"A":           func(p *Product) { p.A = p.A[:5] },
		"B":           func(p *Product) { p.B = p.B[:53] },
		"C":           func(p *Product) { p.C = p.C[:35] },
		"bias":        func(p *Product) { p.Bias = p.Bias[:1] },
		"size":        func(p *Product) { p.M = -1 },
		"stride":      func(p *Product) { p.RowB = 0 },
		"scattered A": func(p *Product) { p.A, p.ColA = make([]float32, 100), 2 },
	} {
		p := good()
		spoil(&p)
		if !panics(func() { p.Mul(&s) }) {
			t.Errorf("%s: no panic", name)
		}
	}
}

// Once grown, the scratch serves all shapes without an allocation.
func TestProductAllocatesNothing(t *testing.T) {
	const n = 150
	var s ProductScratch
	a, b, c := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	if got := testing.AllocsPerRun(3, func() {
		for _, transposed := range []bool{false, true} {
			gemm(transposed, n, n, n, a, n, b, n, c, n, true, &s)
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
