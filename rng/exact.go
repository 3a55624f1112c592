package rng

import (
	"math/bits"
	"slices"
)

// Normal numbers without rounding, after C. F. F. Karney, "Sampling Exactly from the Normal
// Distribution", ACM TOMS 42(1), 2016. A number is ±(k + x) with a whole number k and a fraction x.
// Digits of x are drawn only when they are needed. Every decision compares integers, so nothing is
// approximated.

// MaxExactScale is the largest scale (standard deviation) that [Stream.FloorNormals] accepts.
const MaxExactScale = 1 << 48

// FloorNormals draws Gaussian noise in whole numbers, for releases whose low bits must not reveal anything: it sets
// every element of dst to scale·X, rounded down, with independent standard normal X. Adding such a number to a whole
// number k gives ⌊k + scale·X⌋, which is a normal number of mean k and standard deviation scale, rounded down. The
// distribution is exact if the stream's bits are uniform. The running time depends on the drawn numbers, so whoever can
// measure it learns about them. FloorNormals panics if scale is outside [1, MaxExactScale].
func (s *Stream) FloorNormals(dst []int64, scale uint64) {
	if scale < 1 || scale > MaxExactScale {
		panic("rng: FloorNormals needs a scale in [1, 2^48]")
	}
	exactly := exact{stream: s, width: 64}
	for i := range dst {
		dst[i] = exactly.floorNormal(scale)
	}
}

// AppendTrials draws a Poisson sample of the numbers in [0, n), such as the records of a batch: each number is drawn
// independently with probability exactly size/n. It appends the drawn numbers to dst, in increasing order, and
// returns dst. 0 ≤ size ≤ n and 0 < n ≤ 2^31 must hold. [Stream.AppendPlaces] is faster, but not exact.
//
// For each number, it compares 16 random bits with the first 16 binary digits of size/n. In one of 65,536 cases they
// are equal; then further bits are compared with the rest of size/n.
func (s *Stream) AppendTrials(dst []int32, size, n int) []int32 {
	taken, rest := size<<16/n, size<<16%n
	var word uint64
	for p := range n {
		if p%4 == 0 {
			word = s.Uint64()
		}
		if u := int(word & 0xffff); u < taken || u == taken && s.IntN(n) < rest {
			dst = append(dst, int32(p))
		}
		word >>= 16
	}
	return dst
}

// exact draws exactly distributed numbers, digit by digit in base 2^width, only as many digits as a
// decision needs. width is 64, except in tests.
type exact struct {
	stream *Stream
	width  int
	halves uint64   // events of probability exp(-1/2), one bit each
	left   int      // how many of them are left
	digits []uint64 // the digits of x that were drawn so far, the highest first
}

// floorNormal returns ⌊scale·X⌋ for a standard normal X = ±(k + x). It draws k with weight
// exp(-k²/2) and accepts k and x with probability exp(-kx - x²/2). So their density is proportional
// to exp(-(k + x)²/2).
func (e *exact) floorNormal(scale uint64) int64 {
	for {
		k, ok := e.normalWhole()
		e.digits = e.digits[:0]
		for i := 0; ok && i < k; i++ {
			ok = e.expX()
		}
		if !ok || !e.expHalfSquareX() {
			continue
		}
		floor := int64(uint64(k)*scale + e.floorX(scale))
		if e.digit()&1 == 0 {
			return floor
		}
		return -1 - floor // ⌊-y⌋, because y is whole with probability 0
	}
}

// normalWhole returns k ≥ 0 with probability proportional to exp(-k/2), and ok with probability
// exp(-k(k-1)/2). So k with ok has probability proportional to exp(-k²/2).
func (e *exact) normalWhole() (k int, ok bool) {
	for e.left == 0 || ^e.halves&(1<<e.left-1) == 0 { // all remaining events happen
		k += e.left
		e.fill()
	}
	n := bits.TrailingZeros64(^e.halves)
	k += n
	e.take(n + 1)
	for n := k * (k - 1); n > 0; {
		if e.left == 0 {
			e.fill()
		}
		some := min(n, e.left)
		if all := uint64(1)<<some - 1; e.halves&all != all {
			e.take(some)
			return 0, false
		}
		e.take(some)
		n -= some
	}
	return k, true
}

// take removes n of the remaining events in halves.
func (e *exact) take(n int) {
	e.halves >>= n
	e.left -= n
}

// An event of probability exp(-γ), 0 ≤ γ ≤ 1, can be drawn as a row of events whose n-th event has
// probability γ/n (J. von Neumann, 1951). The first n events all happen with probability γⁿ/n!. So
// with probability exp(-γ), the first event that does not happen has an odd number. For γ = 1/2,
// one uniform integer below rows decides the first six events at once: the first n happen if it is
// below rows/(2·4·…·2n).
const (
	rows  = 2 * rows1
	rows1 = 4 * rows2
	rows2 = 6 * rows3
	rows3 = 8 * rows4
	rows4 = 10 * 12
)

// fill draws at least 57 events of probability exp(-1/2). Few of its branches depend on drawn
// numbers, because processors mispredict such branches.
func (e *exact) fill() {
	e.halves, e.left = 0, 0
	for e.left <= 60 {
		word := e.stream.Uint64()
		for range 4 {
			u := uint32(word & 0xffff)
			word >>= 16
			happens := 1&^less(u, rows1) | less(u, rows2)&^less(u, rows3)
			if u < rows4 {
				happens = e.longRow(u)
			}
			drawn := less(u, rows)
			e.halves |= uint64(happens&drawn) << e.left
			e.left += int(drawn)
		}
	}
}

// less returns 1 if a < b, otherwise 0. Both must be below 2^31.
func less(a, b uint32) uint32 { return (a - b) >> 31 }

// longRow decides a row of events whose first four all happen, because u is below rows4. It returns
// 1 if the first event that does not happen has an odd number, and otherwise 0.
func (e *exact) longRow(u uint32) uint32 {
	n := 5
	for below := uint32(rows4 / 10); n <= 6 && u < below; n++ {
		below /= 12
	}
	for n > 6 && e.oneIn(2*n) {
		n++
	}
	return uint32(n % 2)
}

func (e *exact) expX() bool {
	n := 1
	for e.oneIn(n) && e.belowX() {
		n++
	}
	return n%2 == 1
}

func (e *exact) expHalfSquareX() bool {
	n := 1
	for e.oneIn(2*n) && e.belowX() && e.belowX() {
		n++
	}
	return n%2 == 1
}

// oneIn reports whether an event of probability 1/n happens.
func (e *exact) oneIn(n int) bool { return n == 1 || e.stream.IntN(n) == 0 }

func (e *exact) digit() uint64 { return e.stream.Uint64() >> (64 - e.width) }

// x returns digit i of the fraction x. All digits before it must have been drawn.
func (e *exact) x(i int) uint64 {
	if i == len(e.digits) {
		e.digits = append(e.digits, e.digit())
	}
	return e.digits[i]
}

// belowX reports whether a new uniform fraction is below x, which has probability x. If digits are
// equal, the next digits decide.
func (e *exact) belowX() bool {
	for i := 0; ; i++ {
		if x, other := e.x(i), e.digit(); x != other {
			return other < x
		}
	}
}

// floorX returns ⌊scale·x⌋. It draws digits until they determine the result: after n digits,
// a/2^(n·width) ≤ x < (a+1)/2^(n·width).
func (e *exact) floorX(scale uint64) uint64 {
	for {
		least, most := uint64(0), scale-1
		for _, d := range slices.Backward(e.digits) {
			least, most = e.carry(scale, d, least), e.carry(scale, d, most)
		}
		if least == most {
			return least
		}
		e.x(len(e.digits))
	}
}

// carry returns ⌊(scale·digit + low)/2^width⌋.
func (e *exact) carry(scale, digit, low uint64) uint64 {
	hi, lo := bits.Mul64(scale, digit)
	lo, over := bits.Add64(lo, low, 0)
	return (hi+over)<<(64-e.width) | lo>>e.width
}
