package rng

import (
	"math"
	"testing"
)

// A place is among those of AppendPlaces with the probability that its gap is for, q =
// 1 − e^(−1/gap), to 2^-31: a gap is made of 31 bits, of which the first place, that of no
// gap, has half a unit too many. The law of a draw is taken from the table, with sums over
// the places of a layer that are beside the curve as integrals.
func TestPlacesHaveTheirProbability(t *testing.T) {
	const unit = 1.0 / (1 << placeBits)
	rejected := 0.0
	for layer := 1; layer < ziggLayers; layer++ {
		rejected += 1 - float64(expTable.k[layer])*unit - besideCurve(layer, 1)
	}
	below := func(x float64) float64 { // P(E < x)
		p := 0.0
		for layer, w := range expTable.w {
			places := min(math.Ceil(x/w)*unit, 1)
			p += min(places, float64(expTable.k[layer])*unit)
			if layer > 0 {
				p += besideCurve(layer, places)
			}
		}
		return p / (ziggLayers - rejected)
	}
	worst := 0.0
	for _, q := range []float64{0.3, 1e-2, 1e-4, 1e-6, 1e-8, 5e-10} {
		mean := -1 / math.Log1p(-q)
		var gap, taken [40]float64 // P(gap = i), and P(place i is taken)
		for i := range gap {
			if float64(i+1)/mean >= expTable.r {
				break // behind which the tail begins
			}
			gap[i] = below(float64(i+1)/mean) - below(float64(i)/mean)
			taken[i] = gap[i]
			for j := range i {
				taken[i] += taken[j] * gap[i-1-j]
			}
			off := taken[i] - q
			if worst = max(worst, math.Abs(off)); math.Abs(off) > unit {
				t.Errorf("q = %v: place %d has a probability that is off by %.3g, want at most %.3g", q, i, off, unit)
			}
		}
		t.Logf("q = %v: the first place has %.3g of q more", q, taken[0]/q-1)
	}
	if worst < unit/4 {
		t.Errorf("the largest error is %.3g, which is less than a table of 31 bits can have", worst)
	}
}

// besideCurve returns which part of a layer's places is beside what is surely below the
// curve, before the given part, and is taken all the same: by Euler and Maclaurin's formula.
func besideCurve(layer int, before float64) float64 {
	z := expTable
	unit, from, width := 1.0/(1<<placeBits), float64(z.k[layer])/(1<<placeBits), z.x[layer]
	if before <= from {
		return 0
	}
	low, high := z.f[layer], z.f[layer+1]
	taken := func(part float64) float64 { return (math.Exp(-part*width) - low) / (high - low) }
	area := (math.Exp(-from*width)-math.Exp(-before*width))/width - low*(before-from)
	return area/(high-low) + (taken(from)-taken(before))*unit/2
}
