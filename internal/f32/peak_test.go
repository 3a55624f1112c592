package f32

// PeakFMA runs rounds > 0 of independent multiply-adds on registers, with the kernels in use, and
// returns the number of floating-point operations. It measures the peak with which the speed of a
// contraction is compared.
func PeakFMA(rounds int) (flops float64) {
	if rounds < 1 {
		panic("f32: PeakFMA of no round")
	}
	return float64(rounds) * float64(peakFMA(rounds))
}

// peakFMAPortable runs rounds of multiply-adds on as many sums as scalar units can process at the
// same time, and returns the floating-point operations of a round.
func peakFMAPortable(rounds int) (flops int) {
	const sums, f = 8, 0.5
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for range rounds {
		s0, s1, s2, s3 = s0*f+f, s1*f+f, s2*f+f, s3*f+f
		s4, s5, s6, s7 = s4*f+f, s5*f+f, s6*f+f, s7*f+f
	}
	if s0+s1+s2+s3+s4+s5+s6+s7 > sums { // never true, because each stays below 1
		panic("f32: the sums diverged")
	}
	return 2 * sums
}
