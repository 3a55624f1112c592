package dp

import (
	"math"

	"proactivedp/rng"
)

// lattice holds the whole multiples of a spacing. An exact round rounds its sum to a multiple and
// adds noise that is a multiple. Floating-point noise has gaps, and the sum moves them: a
// coordinate near 0 can take values if the sum is 0 that it cannot take if the sum is C. Then a
// single release can tell two data sets apart (I. Mironov, "On Significance of the Least
// Significant Bits for Differential Privacy", CCS 2012). On the lattice, every sum can lead to
// every multiple.
//
// For a sum of k multiples, the release is k + ⌊scale·X⌋ = ⌊k + scale·X⌋ with a normal X. It is the
// Gaussian mechanism's release, rounded, so every accountant's bound for that mechanism holds. Two
// sums that differ by at most C differ by at most C + spacing·√d after each of d coordinates is
// rounded; scale is large enough for that.
type lattice struct {
	spacing float64 // a power of two
	scale   uint64  // the standard deviation of the noise, in spacings
}

// latticeBits sets how fine the lattice is: the standard deviation is 2^40 to 2^41 spacings.
const latticeBits = 40

// MaxExactNoise is the largest noise multiplier σ of a [Mechanism] whose field Exact is set. Such a mechanism rounds
// sums and noise to multiples of a small spacing, so that the low bits of a release reveal nothing about the records.
// Rounding can increase the distance of two sums, so the standard deviation of the noise is made larger than C·σ, by
// about the fraction σ·2^-40·√d for a model with d parameters. The limit keeps this fraction small: it is 0.001 at σ
// = 10^6 and d = 10^6.
const MaxExactNoise = 1e6

// lattice returns the lattice for releases of d coordinates. σ must be above 0.
func (m *Mechanism) lattice(d int) lattice {
	std := m.ClipNorm * m.NoiseMultiplier
	_, exp := math.Frexp(std) // std is in [2^(exp-1), 2^exp)
	spacing := math.Ldexp(1, exp-1-latticeBits)
	const up = 1 + 0x1p-48 // more than the three roundings below it take away
	return lattice{spacing, uint64(math.Ceil(up * (std/spacing + float64(m.NoiseMultiplier*math.Sqrt(float64(d))))))}
}

// std is the standard deviation of the noise.
func (l lattice) std() float64 { return l.spacing * float64(l.scale) }

// add sets u to the sum plus noise. A nil sum means 0; otherwise its length is that of u. Dividing
// the sum by the spacing is exact, because the spacing is a power of two, and the quotient is
// rounded once. Rounding after the noise was added touches only what is already private.
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
