//go:build unix

package main

import (
	"math"
	"slices"
)

// median returns the median of x, which must not be empty.
func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	if n := len(x); n%2 == 0 {
		return (x[n/2-1] + x[n/2]) / 2
	}
	return x[len(x)/2]
}

// quantile returns the smallest element of x that at least a fraction p in (0, 1] of x does not
// exceed. x must not be empty.
func quantile(x []float64, p float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[int(math.Ceil(p*float64(len(x))))-1]
}
