package f32

import (
	"encoding/binary"
	"math"

	"proactivedp/rng"
)

// Normal numbers are generated in groups from the stream, by the method of G. E. P. Box and M. E.
// Muller (Ann. Math. Stat. 29, 1958). With uniform u and θ, r = √(−2 ln u) gives two numbers r·cos
// θ and r·sin θ. A group takes 16 radius words, then 16 angle words, of 32 bits each,
// little-endian. The words with index i give the numbers i and i+16.
//
// A radius word k means u = (k+½)·2^-32. Near u = 1, ln u is computed from 1−u, so that small radii
// are as finely spaced as the word allows. If k is below rareRadius, which happens for one in 4096
// words, the group is followed by 64 more bits b for every such word, in order, and u =
// (k+(b+½)·2^-64)·2^-32. So the tail is resolved as finely as the rest, and |n| reaches 11.59.
//
// The highest bit of an angle word swaps cosine and sine, the next one is the sign of both, and the
// others are an angle in (−π/4, π/4).
//
// Every kernel on every machine rounds each operation to float32 separately, so the numbers have
// the same bits everywhere.
const (
	groupNormals = 2 * Lanes
	groupBytes   = 4 * groupNormals
	rareRadius   = 1 << 20
)

// gaussTable has the constants of the kernels, in the order of their use. G, S and C are
// polynomials with −2 ln(1−t) = t·G(t) on [0, ½], sin x = x + x³·S(x²) and cos x = 1 + x²·C(x²) on
// |x| ≤ π/4. They have the least relative error, found by Remez's exchange (2.3e-8, 4e-9, 4e-8).
// The numbers that the code names follow.
var gaussTable = [20]float32{
	2.000000045, 0.9999857055, 0.6674012186, 0.4856102865, 0.5392246987,
	-0.4070752852, 2.515335648, -3.391622358, 2.882216886,
	-0.1666665461, 0.008332160783, -0.000195152782,
	-0.4999988476, 0.0416557771, -0.001359184765,
	1, 0.5, 0x1p-32, 2 * math.Ln2, math.Pi / 4 * 0x1p-31,
}

// AddNormal adds independent normal numbers with mean 0 and standard deviation sigma to the elements of x: x[i] +=
// float32(sigma·n). sigma must be at least 0, and is rounded up to a float32. Numbers are generated in groups; a
// partial group takes as much of the stream as a whole one.
//
// The numbers n have the normal distribution to about 1e-7 of their value. Floating-point noise does not protect
// against an adversary who looks at its last bits: see dp.Mechanism.Exact.
func AddNormal(x []float32, sigma float64, s *rng.Stream) {
	scale := float32(sigma)
	if float64(scale) < sigma {
		scale = math.Nextafter32(scale, float32(math.Inf(1)))
	}
	for len(x) > 0 {
		groups := (len(x) + groupNormals - 1) / groupNormals
		bits := s.Peek(groupBytes, groups*groupBytes)
		ready := min(len(bits)/groupBytes, groups)
		done := addNormals(x[:min(ready*groupNormals, len(x))], bits, scale)
		s.Skip(done * groupBytes)
		x = x[min(done*groupNormals, len(x)):]
		if done < ready {
			n := min(groupNormals, len(x))
			addGroup(x[:n], scale, s)
			x = x[n:]
		}
	}
}

// addGroup adds the group, or partial group, at which addNormals has stopped.
func addGroup(x []float32, scale float32, s *rng.Stream) {
	var group [groupNormals]float32
	copy(group[:], x)
	if bits := s.Peek(groupBytes, groupBytes); addNormals(group[:], bits, scale) == 1 {
		s.Skip(groupBytes)
	} else {
		addRareGroup(&group, scale, s)
	}
	copy(x, group[:])
}

// addNormalsPortable specifies addNormals. It adds to whole groups of x until it meets a group with
// a rare radius, and returns how many groups it has processed. Kernels with masks also process a
// partial group after the whole ones.
func addNormalsPortable(x []float32, bits []byte, scale float32) int {
	done := 0
	for ; len(x) >= groupNormals; x, bits = x[groupNormals:], bits[groupBytes:] {
		for i := range Lanes {
			if binary.LittleEndian.Uint32(bits[4*i:]) < rareRadius {
				return done
			}
		}
		for i := range Lanes {
			addPair(x, i, radius(binary.LittleEndian.Uint32(bits[4*i:])),
				binary.LittleEndian.Uint32(bits[4*(i+Lanes):]), scale)
		}
		done++
	}
	return done
}

func addRareGroup(x *[groupNormals]float32, scale float32, s *rng.Stream) {
	bits := *(*[groupBytes]byte)(s.Peek(groupBytes, groupBytes)) // a copy, since s moves on
	s.Skip(groupBytes)
	for i := range Lanes {
		k := binary.LittleEndian.Uint32(bits[4*i:])
		r := radius(k)
		if k < rareRadius {
			r = rareRadiusOf(k, s.Uint64())
		}
		addPair(x[:], i, r, binary.LittleEndian.Uint32(bits[4*(i+Lanes):]), scale)
	}
}

// radius returns √(−2 ln u) for a radius word. With u = 2^-e·(1−t) and t in [0, ½], it is √(e·2 ln
// 2 + t·G(t)).
func radius(k uint32) float32 {
	w := float32(int32(k&math.MaxInt32)) + gaussTable[16]
	w *= gaussTable[17] // u or, if u ≥ ½, 1−u
	b := math.Float32bits(w)
	e := int32(oneHalfBits>>23) - int32(b>>23)
	t := math.Float32bits(gaussTable[15] - math.Float32frombits(b&mantissaBits|oneHalfBits))
	if k > math.MaxInt32 { // an integer comparison, which the compiler turns into no branch
		e, t = 0, b
	}
	v := math.Float32frombits(t)
	return sqrt32(float32(float32(e)*gaussTable[18]) + float32(v*polynomial(gaussTable[:9], v)))
}

// Bits of a float32.
const (
	mantissaBits = 1<<23 - 1
	oneHalfBits  = 126 << 23
)

// polynomial returns c[0] + c[1]·t + …
func polynomial(c []float32, t float32) float32 {
	p := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		p = float32(p*t) + c[i]
	}
	return p
}

// sqrt32 returns the square root, rounded once: a float64 has more than twice as many digits as a
// float32.
func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// addPair adds the two numbers that the radius r and an angle word give, times scale, to x[i] and
// x[i+Lanes].
func addPair(x []float32, i int, r float32, word uint32, scale float32) {
	r *= scale
	r = math.Float32frombits(math.Float32bits(r) ^ word<<1&signBit)
	a := float32(float32(int32(word<<2|lowAngleBit)) * gaussTable[19])
	z := float32(a * a)
	sin := float32(float32(a*z)*polynomial(gaussTable[9:12], z)) + a
	cos := float32(z*polynomial(gaussTable[12:15], z)) + gaussTable[15]
	both, swap := [2]float32{cos, sin}, word>>31
	x[i] += float32(r * both[swap])
	x[i+Lanes] += float32(r * both[1-swap])
}

const (
	signBit     = 1 << 31
	lowAngleBit = 2 // half a unit, so that an angle is the middle of its interval
)

// rareRadiusOf returns √(−2 ln u) for u = (k+(b+½)·2^-64)·2^-32. It uses no function whose last bit
// may differ between machines, as that of math.Log may. u is 2^e·f with f in [√½, √2), and ln f =
// 2·artanh((f−1)/(f+1)) is summed to 2^-60.
func rareRadiusOf(k uint32, b uint64) float32 {
	u := (float64(k) + float64((float64(b)+0.5)*0x1p-64)) * 0x1p-32
	f, e := math.Frexp(u)
	if f < math.Sqrt2/2 {
		f, e = 2*f, e-1
	}
	s := (f - 1) / (f + 1)
	z, sum := float64(s*s), 0.0
	for i := 12; i >= 0; i-- {
		sum = float64(z*sum) + 1/float64(2*i+1)
	}
	return float32(math.Sqrt(-2 * (float64(float64(e)*math.Ln2) + float64(2*s*sum))))
}
