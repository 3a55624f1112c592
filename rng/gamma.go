package rng

import "math"

// LogGamma returns the logarithm of a Gamma random number with the given shape > 0 and scale 1 (G. Marsaglia and W.
// W. Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26(3), 2000). Divided by their sum, Gamma
// numbers are a draw from a Dirichlet distribution. The result is a logarithm because for a small shape the number
// itself may be too small for a float64.
func (s *Stream) LogGamma(shape float64) float64 {
	if shape < 1 { // G(a) = G(a+1)·U^(1/a)
		return s.LogGamma(shape+1) - s.Exp()/shape
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.Normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		// Accept where log U < x²/2 + d − dv + d·log v.
		if -s.Exp() < 0.5*float64(x*x)+d-float64(d*v)+float64(d*math.Log(v)) {
			return math.Log(d) + math.Log(v)
		}
	}
}
