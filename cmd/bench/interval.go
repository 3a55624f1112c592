//go:build unix

package main

import (
	"math"

	"proactivedp/dp"
	"proactivedp/dp/pld"
)

// width returns the width of an interval divided by its upper end.
func width(b dp.Bound) float64 {
	switch {
	case b.EpsilonUpper == 0:
		return 0
	case math.IsInf(b.EpsilonUpper, 1):
		return 1
	}
	return (b.EpsilonUpper - b.EpsilonLower) / b.EpsilonUpper
}

// widest returns the largest width, or NaN if any width is NaN.
func widest(bounds []dp.Bound) float64 {
	w := 0.0
	for _, b := range bounds {
		w = max(w, width(b))
	}
	return w
}

// For ε below smallEpsilon, a relative width means less, so only smallAccuracy is required.
const (
	smallEpsilon  = 0.005
	smallAccuracy = 1e-2
)

// asked returns the width that is required of the interval.
func asked(b dp.Bound) float64 {
	if b.EpsilonUpper < smallEpsilon {
		return smallAccuracy
	}
	return pld.DefaultAccuracy
}

// sound reports whether the ends are non-negative numbers in order. The upper end may be infinite.
func sound(b dp.Bound) bool {
	return b.EpsilonLower >= 0 && b.EpsilonLower <= b.Epsilon && b.Epsilon <= b.EpsilonUpper
}
