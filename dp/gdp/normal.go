package gdp

import "math"

// series is the x at which [mills] changes from the error function to the continued fraction.
// fractionTerms is how many terms the fraction needs there for full accuracy. Larger x need fewer.
const (
	series        = 3.0
	fractionTerms = 50
)

// Tail returns P(Z > x) for a standard normal Z: one minus the distribution function, but without its loss of digits
// for large x. The relative error is at most 1e-12 for x < 37.5. For larger x the result is below the normal range of
// float64; use [LogTail].
func Tail(x float64) float64 {
	if x < series {
		return math.Erfc(x/math.Sqrt2) / 2
	}
	return math.Exp(LogTail(x))
}

// LogTail returns ln P(Z > x) for a standard normal Z. Use it where [Tail] would be too small for float64.
func LogTail(x float64) float64 {
	if x < 0 {
		return math.Log1p(-Tail(-x))
	}
	return logDensity(x) + math.Log(mills(x))
}

// TailQuantile is the inverse of [Tail]: it returns the z with P(Z > z) = p, to a few units in the last place. The
// result is +Inf for p = 0, -Inf for p = 1, and NaN for p outside of [0, 1].
func TailQuantile(p float64) float64 {
	switch {
	case p > 0.5:
		return -TailQuantile(1 - p)
	case p >= 0.125:
		return math.Sqrt2 * math.Erfinv(1-2*p)
	case p == 0:
		return math.Inf(1)
	}
	// Tail(z) ≤ e^{-z²/2}/2, so this z is above the root. LogTail is concave and decreasing, so
	// Newton's steps come down to the root and never pass it.
	l := math.Log(p)
	z := math.Sqrt(-2 * (l + math.Ln2))
	for {
		next := z + mills(z)*(LogTail(z)-l)
		if !(next < z) {
			return z
		}
		z = next
	}
}

// logDensity returns ln φ(x) of the standard normal density φ.
func logDensity(x float64) float64 { return -x*x/2 - math.Log(2*math.Pi)/2 }

// mills returns the Mills ratio R(x) = P(Z > x)/φ(x), for x > -37.
func mills(x float64) float64 {
	if x < series {
		return math.Erfc(x/math.Sqrt2) / 2 / math.Exp(logDensity(x))
	}
	return 1 / (x + fraction(x))
}

// millsSlope returns -R'(x) = 1 - x·R(x) > 0, for x > -37.
func millsSlope(x float64) float64 {
	if x < series {
		return 1 - x*mills(x)
	}
	k := fraction(x)
	return k / (x + k)
}

// fraction returns Laplace's continued fraction f = 1/(x + 2/(x + 3/(x + …))) for x ≥ series. With
// it, R(x) = 1/(x + f).
func fraction(x float64) float64 {
	k := 0.0
	for n := fractionTerms; n > 0; n-- {
		k = float64(n) / (x + k)
	}
	return k
}
