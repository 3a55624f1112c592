package dp

import (
	"math"

	"proactivedp/rng"
)

// lattice is the whole multiples of a spacing, to which an exact round rounds its sum, and on
// which its noise lies. Noise that is drawn in floating point has gaps, which the sum moves:
// near 0 a coordinate of 0 can take values that one of C cannot, and a single release then
// tells two data sets apart (I. Mironov, "On Significance of the Least Significant Bits for
// Differential Privacy", CCS 2012). Here every multiple can come of every sum.
//
// A release is the noise ⌊scale·X⌋ on a whole number k of multiples, that is, ⌊k + scale·X⌋
// with a normal X: it is made from the Gaussian mechanism's by rounding, and costs what that
// costs, by any accountant. Sums that differ by no more than C differ by at most C + spacing·√d
// when each of d coordinates is rounded; the scale is for that.
type lattice struct {
	spacing float64 // a power of two
	scale   uint64  // the standard deviation of the noise, in spacings
}

// latticeBits is how fine the lattice is: 2^40 to 2^41 spacings are the standard deviation.
const latticeBits = 40

// MaxExactNoise is the largest noise multiplier of an exact mechanism. Up to it a lattice
// adds σ·2^-40·√d of itself to the noise, which is 0.001 of 10^6 coordinates.
const MaxExactNoise = 1e6

// lattice returns that of releases of d coordinates; σ is above 0.
func (m *Mechanism) lattice(d int) lattice {
	std := m.ClipNorm * m.NoiseMultiplier
	_, exp := math.Frexp(std) // std is in [2^(exp-1), 2^exp)
	spacing := math.Ldexp(1, exp-1-latticeBits)
	const up = 1 + 0x1p-48 // more than the three roundings below it take away
	return lattice{spacing, uint64(math.Ceil(up * (std/spacing + float64(m.NoiseMultiplier*math.Sqrt(float64(d))))))}
}

// std is the standard deviation of the noise.
func (l lattice) std() float64 { return l.spacing * float64(l.scale) }

// add sets u to the sum, of the same length or nil for 0, plus noise. The sum in spacings is
// exact, as they are a power of two, and rounded once; what is rounded behind the noise is
// what is already private.
func (l lattice) add(u []float32, sum []float64, s *rng.Stream) {
	var noise [256]int64
	for first := 0; first < len(u); first += len(noise) {
		some := noise[:min(len(noise), len(u)-first)]
		s.FloorNormals(some, l.scale)
		for i, n := range some {
			k := 0.0
			if sum != nil {
				k = math.RoundToEven(sum[first+i] / l.spacing)
			}
			u[first+i] = float32(l.spacing * (k + float64(n)))
		}
	}
}
