package rdp

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// logSum adds numbers that are given by their logarithms. The sum is sum·e^top.
type logSum struct{ top, sum float64 }

func (s *logSum) log() float64 { return s.top + math.Log(s.sum) }

func (s *logSum) add(l float64) {
	switch {
	case math.IsInf(l, -1):
	case s.sum == 0:
		s.top, s.sum = l, 1
	case l > s.top:
		s.top, s.sum = l, s.sum*math.Exp(s.top-l)+1
	default:
		s.sum += math.Exp(l - s.top)
	}
}

// panel adds the integral of e^f over [lo, hi].
func (s *logSum) panel(f func(float64) float64, lo, hi float64) {
	center, half := lo+(hi-lo)/2, (hi-lo)/2
	logHalf := math.Log(half)
	for i, t := range legendreX {
		s.add(logHalf + legendreLogW[i] + f(center+half*t))
	}
}

// legendreX has the nodes of the Gauss–Legendre rule on [-1, 1], legendreLogW the logarithms of its
// weights.
var legendreX, legendreLogW = legendre()

const panelNodes = 16

func legendre() (x, logW [panelNodes]float64) {
	quad.Legendre{}.FixedLocations(x[:], logW[:], -1, 1)
	for i, w := range logW {
		logW[i] = math.Log(w)
	}
	return x, logW
}
