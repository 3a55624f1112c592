package f32

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func fill(n int, scale float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(scale * math.Sin(float64(3*i+1)))
	}
	return x
}

// Axpy is its portable loop, bit for bit, at every length and alignment, and
// writes nothing else.
func TestAxpy(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		for n := range 200 {
			for shift := range 4 {
				x, y := fill(n+shift, 2)[shift:], fill(n+8, 5)
				want := slices.Clone(y)
				to := want[shift+1 : n+shift+1]
				axpyToPortable(to, -0.37, x, to)
				dst := slices.Clone(y)
				for i := range n { // what was in dst does not matter
					dst[shift+1+i] = float32(math.NaN())
				}
				AxpyTo(dst[shift+1:n+shift+1], -0.37, x, y[shift+1:n+shift+1])
				Axpy(-0.37, x, y[shift+1:n+shift+1])
				if !slices.Equal(y, want) || !slices.Equal(dst, want) {
					t.Fatalf("length %d, shift %d: %v and %v, want %v", n, shift, y, dst, want)
				}
			}
		}
		for n := 1; n < 40; n++ {
			for at := range n {
				x, y := fill(n, 1), fill(n, 1)
				x[at] = float32(math.NaN())
				if Axpy(1, x, y); y[at] == y[at] {
					t.Errorf("length %d: NaN at %d was lost", n, at)
				}
				x[at] = float32(math.Inf(-1))
				y = fill(n, 1)
				if Axpy(1, x, y); !math.IsInf(float64(y[at]), -1) {
					t.Errorf("length %d: -Inf at %d gave %v", n, at, y[at])
				}
			}
		}
	})
}

func TestAxpyPanicsOnUnequalLengths(t *testing.T) {
	three, four := make([]float32, 3), make([]float32, 4)
	for i, f := range []func(){
		func() { Axpy(1, three, four) },
		func() { AxpyTo(four, 1, three, three) },
		func() { AxpyTo(three, 1, three, four) },
	} {
		if !panics(f) {
			t.Errorf("no panic of case %d", i)
		}
	}
}

// SumSquares is its portable loop, bit for bit, and accurate to 1e-13, at every
// length and alignment.
func TestSumSquares(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		for n := range 300 {
			x := fill(n+3, 100)[3:]
			want := 0.0
			for _, v := range x {
				want += float64(v) * float64(v)
			}
			if got := SumSquares(x); math.Abs(got-want) > 1e-13*want {
				t.Fatalf("length %d: %v, want %v", n, got, want)
			}
			if whole := x[:n/Lanes*Lanes]; kernels.sumSquares(whole) != sumSquaresPortable(whole) {
				t.Fatalf("length %d: %v, portable %v", n, kernels.sumSquares(whole), sumSquaresPortable(whole))
			}
		}
		for at := range 70 {
			x := fill(70, 1)
			x[at] = float32(math.NaN())
			if got := SumSquares(x); got == got {
				t.Errorf("NaN at %d was lost: %v", at, got)
			}
		}
	})
}

func BenchmarkAxpy(b *testing.B) {
	for _, n := range []int{69, 61706} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			x, y := fill(n, 1), fill(n, 1)
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				Axpy(1e-9, x, y)
			}
		})
	}
}

func BenchmarkSumSquares(b *testing.B) {
	for _, n := range []int{69, 61706} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			x := fill(n, 1)
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				SumSquares(x)
			}
		})
	}
}
