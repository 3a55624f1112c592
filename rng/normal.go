package rng

import (
	"encoding/binary"
	"math"
)

// Normal and exponential numbers are drawn by the ziggurat method (G. Marsaglia and W. W. Tsang,
// "The Ziggurat Method for Generating Random Variables", J. Stat. Soft. 5(8), 2000). 255 rectangles
// and a base with the tail, all of equal area, cover a decreasing density on x ≥ 0. A draw takes
// five bytes: 8 bits choose the layer, 1 bit the sign and 31 bits the place in the layer, which is
// finer than the float32 of the result. Layer, sign and place are independent. The tail beyond the
// last layer is exact, not truncated.
const (
	ziggLayers = 256
	drawBytes  = 5
	placeBits  = 31
	placeMask  = 1<<placeBits - 1
)

// ziggurat is the table of one density.
type ziggurat struct {
	x [ziggLayers + 1]float64 // right edges of the layers; x[0] is the base's virtual width, x[256] = 0
	f [ziggLayers + 1]float64 // density at each x
	w [ziggLayers]float64     // x[i]·2^-31
	k [ziggLayers]uint32      // a draw below this place is under the curve
	r float64                 // where the tail starts on the x axis
}

// The start r of each tail is the one at which the layers end exactly at the top, f(0) = 1. A test of the table checks
// it; to compute it takes more time than all else at the start of a program.
var (
	normalTable = newZiggurat(3.6541528853610092,
		func(x float64) float64 { return math.Exp(-0.5 * x * x) },
		func(y float64) float64 { return math.Sqrt(-2 * math.Log(y)) },
		func(r float64) float64 { return math.Sqrt(math.Pi/2) * math.Erfc(r/math.Sqrt2) })
	expTable = newZiggurat(7.69711747013105,
		func(x float64) float64 { return math.Exp(-x) },
		func(y float64) float64 { return -math.Log(y) },
		func(r float64) float64 { return math.Exp(-r) })
)

// newZiggurat computes the table from the start r of the tail, the density, its inverse and the area of its tail.
func newZiggurat(r float64, density, inverse, tail func(float64) float64) *ziggurat {
	z := &ziggurat{r: r}
	v := r*density(r) + tail(r)
	z.x[0] = v / density(r)
	z.x[1] = r
	for i := 2; i < ziggLayers; i++ {
		z.x[i] = inverse(density(z.x[i-1]) + v/z.x[i-1])
	}
	for i := range z.f {
		z.f[i] = density(z.x[i])
	}
	for i := range z.w {
		z.w[i] = z.x[i] / (1 << placeBits)
		z.k[i] = uint32(z.x[i+1] / z.x[i] * (1 << placeBits))
	}
	return z
}

// draw returns the next five bytes of the stream.
func (s *Stream) draw() uint64 {
	if s.pos+drawBytes > s.have {
		s.refill(drawBytes, drawBytes)
	}
	u := binary.LittleEndian.Uint64(s.buf[s.pos:]) // the tag's room makes 8 bytes readable
	s.pos += drawBytes
	return u
}

// Normal returns a standard normal number, drawn in floating point. For whole-numbered noise with an exact
// distribution see [Stream.FloorNormals].
func (s *Stream) Normal() float64 {
	z := normalTable
	for {
		layer, place := signedPlace(s.draw())
		y := float64(place) * z.w[layer]
		if magnitude(place) < z.k[layer] {
			return y
		}
		if y, ok := s.normalSlow(layer, y); ok {
			return y
		}
	}
}

// signedPlace splits a draw into a layer and a place with its sign.
func signedPlace(u uint64) (layer uint8, place int32) {
	return uint8(u), int32(u >> 8)
}

// magnitude returns |place|. For the smallest place, which has no positive counterpart, it is 2^31.
func magnitude(place int32) uint32 {
	sign := place >> 31
	return uint32((place ^ sign) - sign)
}

// normalSlow decides draws outside the safe part of a layer.
func (s *Stream) normalSlow(layer uint8, y float64) (float64, bool) {
	z := normalTable
	if layer == 0 { // the tail, by Marsaglia's method of 1964
		for {
			a := -math.Log(s.Float64()) / z.r
			b := -math.Log(s.Float64())
			if b+b > a*a {
				return math.Copysign(z.r+a, y), true
			}
		}
	}
	return y, s.underCurve(z, layer, math.Exp(-0.5*y*y))
}

// underCurve draws a height in the layer and compares it with the density.
func (s *Stream) underCurve(z *ziggurat, layer uint8, density float64) bool {
	return z.f[layer]+float64(s.Float64()*(z.f[int(layer)+1]-z.f[layer])) < density
}

// Exp returns an exponentially distributed number of mean 1.
func (s *Stream) Exp() float64 {
	z := expTable
	layer, place := signedPlace(s.draw())
	x := float64(place&placeMask) * z.w[layer]
	if uint32(place&placeMask) < z.k[layer] {
		return x
	}
	return s.expSlow(layer, x)
}

// expSlow decides draws outside the safe part of a layer.
func (s *Stream) expSlow(layer uint8, x float64) float64 {
	z := expTable
	for base := 0.0; ; {
		switch {
		case layer == 0: // the tail of an exponential is again an exponential
			base += z.r
		case s.underCurve(z, layer, math.Exp(-x)):
			return base + x
		}
		var place int32
		layer, place = signedPlace(s.draw())
		x = float64(place&placeMask) * z.w[layer]
		if uint32(place&placeMask) < z.k[layer] {
			return base + x
		}
	}
}

// AppendPlaces draws a Poisson sample of the numbers in [0, n), such as the records of a batch, in floating point:
// each number is drawn independently with probability 1 − exp(−1/gap). To draw with probability q, pass gap =
// −1/ln(1−q). n must be at most 2^31. It appends the drawn numbers to dst, in increasing order, and returns dst. It
// is fast if few numbers are drawn, because it skips ⌊gap·E⌋ numbers before each drawn one, where E is an exponential
// random number of mean 1, drawn anew each time. [Stream.AppendTrials] draws with an exact probability.
func (s *Stream) AppendPlaces(dst []int32, gap float64, n int) []int32 {
	z := expTable
	for p := 0; ; p++ {
		layer, place := signedPlace(s.draw())
		x := float64(place&placeMask) * z.w[layer]
		if uint32(place&placeMask) >= z.k[layer] {
			x = s.expSlow(layer, x)
		}
		if x *= gap; !(x < float64(n)) {
			return dst
		}
		if p += int(x); p >= n {
			return dst
		}
		dst = append(dst, int32(p))
	}
}
