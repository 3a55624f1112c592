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

// Axpy is its loop, bit for bit, at every length, and writes nothing else.
func TestAxpy(t *testing.T) {
	for n := range 100 {
		x, y := fill(n, 2), fill(n+2, 5)
		want := slices.Clone(y)
		for i, v := range x {
			want[i+1] += float32(-0.37 * v)
		}
		Axpy(-0.37, x, y[1:n+1])
		if !slices.Equal(y, want) {
			t.Fatalf("length %d: %v, want %v", n, y, want)
		}
	}
	y := []float32{1, 2}
	Axpy(1, []float32{float32(math.NaN()), float32(math.Inf(1))}, y)
	if y[0] == y[0] || !math.IsInf(float64(y[1]), 1) {
		t.Errorf("NaN and Inf were lost: %v", y)
	}
}

func TestAxpyPanicsOnUnequalLengths(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Axpy(1, make([]float32, 3), make([]float32, 4))
}

// SumSquares has a relative error below 1e-13 at every length.
func TestSumSquares(t *testing.T) {
	for n := range 100 {
		x := fill(n, 100)
		want := 0.0
		for _, v := range x {
			want += float64(v) * float64(v)
		}
		if got := SumSquares(x); math.Abs(got-want) > 1e-13*want {
			t.Fatalf("length %d: %v, want %v", n, got, want)
		}
	}
	if got := SumSquares([]float32{1, float32(math.NaN())}); got == got {
		t.Errorf("NaN was lost: %v", got)
	}
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
