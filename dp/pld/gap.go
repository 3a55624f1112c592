package pld

// Adding a Gaussian loss Z of mean μ²/2 and variance μ² makes δ(ε) larger by E[gap(Y-ε)] with
//
//	gap(a) = ∫₀^μ φ(a/v + v/2) dv
//
// (the derivative of the Black–Scholes formula by its volatility). With x = a/μ and the kernel N(a;
// -μ²/2, μ²), which is the density of -Z,
//
//	gap(a) = μ²·N(a; -μ²/2, μ²)·(1 - |x|·R(|x|))·f,  1 ≤ f ≤ e^(μ²/8)
//
// where R is the Mills ratio. The factor in parentheses lies between two polynomials in x, and the
// upper one has the larger absolute value:
//
//	leastAt0 - leastSlope·x²  ≤  1 - |x|·R(|x|)  ≤  1 - mostSlope·x² + mostCurve·x⁴
//
// So E[gap] lies between two integrals over the same contour. For a smooth density they are 0.3425
// and 0.731 times μ², and E[gap] is half of μ².
const (
	mostSlope, mostCurve = 0.485, 0.072
	leastAt0, leastSlope = 0.475, 0.1325

	gapMostMean = 1 - mostSlope + 3*mostCurve // for a smooth density

	// gapWidth is the difference of the integrals for a smooth density.
	gapWidth = gapMostMean - leastAt0 + leastSlope
)

// gapMost returns the transform of the upper polynomial times the kernel, divided by the kernel's
// transform, at z = λ+it. In it, x² and x⁴ become u²+1 and u⁴+6u²+3 with u = μ(z+½). size is the
// sum of the absolute values of the terms. It bounds the transform, and size/t⁴ decreases with t.
func (c *contour) gapMost(t float64) (value complex128, size float64) {
	u2, abs := c.kernel(t)
	value = 1 - mostSlope*(u2+1) + mostCurve*(u2*u2+6*u2+3)
	return value, 1 + mostSlope*(abs+1) + mostCurve*(abs*abs+6*abs+3)
}

// gapLeast is gapMost for the lower polynomial.
func (c *contour) gapLeast(t float64) (value complex128, size float64) {
	u2, abs := c.kernel(t)
	return leastAt0 - leastSlope*(u2+1), leastAt0 + leastSlope*(abs+1)
}

// kernel returns u² = μ²(z+½)² and its absolute value.
func (c *contour) kernel(t float64) (u2 complex128, abs float64) {
	l := c.lambda + 0.5
	return complex(c.smooth*(l*l-t*t), c.smooth*2*l*t), c.smooth * (l*l + t*t)
}
