package decimal

import (
	"math"
	"math/big"
	"testing"
)

func TestWhole(t *testing.T) {
	for v, want := range map[float64]int{0: 0, math.Copysign(0, -1): 0, 0.9: 0, 1: 1, 2.5: 2, MaxWhole: MaxWhole} {
		if n, ok := Whole(v); !ok || n != want {
			t.Errorf("%v: %d, %v, want %d", v, n, ok, want)
		}
	}
	for _, v := range []float64{-1, -1e-9, MaxWhole + 2, 1 << 63, 1e300, math.Inf(1), math.Inf(-1), math.NaN()} {
		if n, ok := Whole(v); ok || n != 0 {
			t.Errorf("%v is taken for %d", v, n)
		}
	}
}

// Sums and products are those of the integers, or refused.
func TestSumsAndProducts(t *testing.T) {
	some := []int{0, 1, 2, 3, 1e9, 1<<31 - 1, 1 << 31, 1<<32 + 1, 3037000499, 3037000500, 1 << 53, 1 << 62,
		math.MaxInt - 1, math.MaxInt, -1, math.MinInt}
	whole := func(n int) *big.Int { return big.NewInt(int64(n)) }
	check := func(what string, n int, ok bool, want *big.Int, negative bool) {
		t.Helper()
		if holds := want.IsInt64() && !negative; ok != holds || ok && whole(n).Cmp(want) != 0 {
			t.Errorf("%s: %d, %v, want %v", what, n, ok, want)
		}
	}
	for _, a := range some {
		for _, b := range some {
			for _, c := range []int{0, 1, 2, 1 << 40} {
				n, ok := Product(a, b, c)
				// A product of 0 with what is too large is refused, as its factors are too large together.
				if product := new(big.Int).Mul(whole(a), whole(b)); c != 0 || product.IsInt64() {
					check("product", n, ok, product.Mul(product, whole(c)), a < 0 || b < 0)
				}
				n, ok = Sum(a, b, c)
				sum := new(big.Int).Add(whole(a), whole(b))
				check("sum", n, ok, sum.Add(sum, whole(c)), a < 0 || b < 0)
			}
		}
	}
	if n, ok := Product(); n != 1 || !ok {
		t.Errorf("product of none: %d, %v", n, ok)
	}
}
