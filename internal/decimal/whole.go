package decimal

import (
	"math"
	"math/bits"
)

// MaxWhole is 2^53. A float64 can hold every whole number up to it.
const MaxWhole = 1 << 53

// Whole returns the integer part of v, and whether v is in [0, MaxWhole]. In Go, converting a
// float64 outside the range of int gives an arbitrary number, often a negative one.
func Whole(v float64) (n int, ok bool) {
	if !(v >= 0 && v <= MaxWhole) {
		return 0, false
	}
	return int(v), true
}

// Product returns the product of counts. It reports false if one is negative or an int cannot hold
// the product.
func Product(counts ...int) (n int, ok bool) {
	n = 1
	for _, c := range counts {
		high, low := bits.Mul64(uint64(n), uint64(c))
		if c < 0 || high != 0 || low > math.MaxInt {
			return 0, false
		}
		n = int(low)
	}
	return n, true
}

// Sum returns the sum of counts. It reports false if one is negative or an int cannot hold the sum.
func Sum(counts ...int) (n int, ok bool) {
	for _, c := range counts {
		if c < 0 || c > math.MaxInt-n {
			return 0, false
		}
		n += c
	}
	return n, true
}
