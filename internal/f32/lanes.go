package f32

import "math"

// The kernels in this file process vectors of Lanes floats, element by element. Slices must be
// whole vectors and have the stated lengths; shorter ones cause a panic.

// vectors returns the number of vectors in x.
func vectors(x []float32) int {
	if len(x)%Lanes != 0 {
		panic("f32: not a whole number of vectors")
	}
	return len(x) / Lanes
}

// Relu sets x to max(x, 0). NaN stays NaN and −0 stays −0.
func Relu(x []float32) {
	vectors(x)
	kernels.relu(x)
}

func reluPortable(x []float32) {
	for i, v := range x {
		if v < 0 {
			x[i] = 0
		}
	}
}

// ReluBack is the backward pass of Relu. y is the output of Relu, and d has the derivatives of the loss by y.
// ReluBack turns them into the derivatives by the input of Relu: it sets d to 0 where y ≤ 0.
func ReluBack(d, y []float32) {
	if len(d) != len(y) {
		panic("f32: ReluBack of unequal lengths")
	}
	vectors(d)
	kernels.reluBack(d, y)
}

func reluBackPortable(d, y []float32) {
	for i, v := range y {
		if v <= 0 {
			d[i] = 0
		}
	}
}

// Tanh sets x to tanh x, with an absolute and relative error of at most 3e-7.
func Tanh(x []float32) {
	vectors(x)
	kernels.tanh(x)
}

// tanhBound is the x from which tanh is ±1 in float32.
const tanhBound = 9.02

func tanhPortable(x []float32) {
	for i, v := range x {
		v = clamp(v, expTable[0], expTable[1])
		r, k := expm1(v + v)
		s := powerOf2(k)
		e := float32(s*r) + (s - 1) // e^2x − 1
		x[i] = e / (e + 2)          // never above 1
	}
}

// clamp returns the number in [lo, hi] that is nearest to v. For NaN it returns NaN.
func clamp(v, lo, hi float32) float32 {
	if v > hi {
		return hi
	}
	if v < lo {
		return lo
	}
	return v
}

// TanhBack is the backward pass of Tanh. y is the output of Tanh, and d has the derivatives of the loss by y.
// TanhBack turns them into the derivatives by the input of Tanh: d ← d·(1 − y²).
func TanhBack(d, y []float32) {
	if len(d) != len(y) {
		panic("f32: TanhBack of unequal lengths")
	}
	vectors(d)
	kernels.tanhBack(d, y)
}

func tanhBackPortable(d, y []float32) {
	for i, v := range y {
		d[i] *= 1 - float32(v*v)
	}
}

// Exp sets x to e^x, with a relative error of at most 3e-7. For x below −87 it may return 0.
func Exp(x []float32) {
	vectors(x)
	kernels.exp(x)
}

// expTable has the constants of tanh and exp, in the order of their use: the bounds of the argument
// of tanh; the bounds for exp, beyond which the result is 0 or Inf; log2 e; 1.5·2²³, which rounds a
// number to an integer when it is added; ln 2 in two parts, where integer multiples of the first
// are exact; the polynomial P; 1 and 2. With P, r + r²·P(r) has the least error relative to e^r − 1
// on |r| ≤ ½ ln 2, about 1.4e-8, found by Remez's exchange.
var expTable = [15]float32{
	-tanhBound, tanhBound,
	-104, 89,
	math.Log2E, 1.5 * (1 << 23), 0.693359375, math.Ln2 - 0.693359375,
	0.4999999832, 0.1666654486, 0.04166715835, 0.008366401452, 0.001388489141,
	1, 2,
}

// expm1 returns r and k with e^v = 2^k·(1+r) and |r| ≤ ½. Here and above, conversions to float32
// prevent the compiler from fusing a product with a sum, so that the bits are the same everywhere.
func expm1(v float32) (r float32, k int32) {
	n := float32(v*expTable[4]) + expTable[5]
	whole := n - expTable[5]
	v -= float32(whole * expTable[6])
	v -= float32(whole * expTable[7])
	p := expTable[12]
	for i := 11; i >= 8; i-- {
		p = float32(p*v) + expTable[i]
	}
	return float32(p*float32(v*v)) + v, int32(math.Float32bits(n) - math.Float32bits(expTable[5]))
}

func expPortable(x []float32) {
	for i, v := range x {
		r, k := expm1(clamp(v, expTable[2], expTable[3]))
		// 2^k is the product of two factors, because it may be out of range itself.
		half := k >> 1
		x[i] = float32((r+1)*powerOf2(half)) * powerOf2(k-half)
	}
}

// powerOf2 returns 2^k for k in [-126, 127].
func powerOf2(k int32) float32 { return math.Float32frombits(uint32(k+127) << 23) }

// Plane is the memory layout of a feature map: H rows of W vectors, each of Lanes floats. Rows begin Row ≥ W·Lanes
// floats apart, so a map may have a border around it.
type Plane struct{ H, W, Row int }

func (p Plane) check(x []float32) {
	if p.H < 1 || p.W < 1 || p.Row < p.W*Lanes {
		panic("f32: a plane out of range")
	}
	_ = x[(p.H-1)*p.Row+p.W*Lanes-1]
}

// MaxPool sets dst to the maximum of each 2×2 window of src, without overlap. p is the layout of dst. src has twice
// its height and width, and rows srcRow floats apart. MaxPool sets which to the position of each maximum in its
// window: 0, 1, 2 or 3, row by row, the first one if several are equal. which has H·W·Lanes numbers, without a
// border. A window with a NaN gives NaN.
func MaxPool(dst []float32, p Plane, src []float32, srcRow int, which []int32) {
	p.check(dst)
	Plane{2 * p.H, 2 * p.W, srcRow}.check(src)
	_ = which[p.H*p.W*Lanes-1]
	kernels.maxPool(dst, p, src, srcRow, which)
}

func maxPoolPortable(dst []float32, p Plane, src []float32, srcRow int, which []int32) {
	for y := range p.H {
		for x := range p.W {
			at, out, w := 2*y*srcRow+2*x*Lanes, dst[y*p.Row+x*Lanes:], which[(y*p.W+x)*Lanes:]
			for l := range Lanes {
				window := [...]float32{src[at+l], src[at+Lanes+l], src[at+srcRow+l], src[at+srcRow+Lanes+l]}
				best, arg, nan := window[0], 0, false
				for k, v := range window {
					if v > best {
						best, arg = v, k
					}
					nan = nan || v != v
				}
				if nan {
					best = float32(math.NaN())
				}
				out[l], w[l] = best, int32(arg)
			}
		}
	}
}

// MaxPoolBack is the backward pass of MaxPool. p is the layout of d. dst has twice its height and width. MaxPoolBack
// sets dst to the numbers of d at the positions that which names, and to 0 elsewhere.
func MaxPoolBack(dst []float32, dstRow int, d []float32, p Plane, which []int32) {
	p.check(d)
	Plane{2 * p.H, 2 * p.W, dstRow}.check(dst)
	_ = which[p.H*p.W*Lanes-1]
	kernels.maxPoolBack(dst, dstRow, d, p, which)
}

func maxPoolBackPortable(dst []float32, dstRow int, d []float32, p Plane, which []int32) {
	for y := range p.H {
		for x := range p.W {
			at, in, w := 2*y*dstRow+2*x*Lanes, d[y*p.Row+x*Lanes:], which[(y*p.W+x)*Lanes:]
			for l := range Lanes {
				for k, place := range [...]int{0, Lanes, dstRow, dstRow + Lanes} {
					v := float32(0)
					if w[l] == int32(k) {
						v = in[l]
					}
					dst[at+place+l] = v
				}
			}
		}
	}
}

// MaxPoolHalves is the backward pass of MaxPool in half the memory of MaxPoolBack. Of two adjacent
// positions in a row of MaxPoolBack's result, at most one is not 0. MaxPoolHalves stores only that one.
// dst is a plane of p's width and twice its height, without a border. odd has an integer for each vector
// of dst: bit l is 1 if the number in lane l is from the right one of the two positions.
func MaxPoolHalves(dst []float32, odd []int32, d []float32, p Plane, which []int32) {
	p.check(d)
	n := p.H * p.W
	_, _, _ = dst[2*n*Lanes-1], odd[2*n-1], which[n*Lanes-1]
	kernels.maxPoolHalves(dst, odd, d, p, which)
}

func maxPoolHalvesPortable(dst []float32, odd []int32, d []float32, p Plane, which []int32) {
	for y := range p.H {
		for x := range p.W {
			in, w, right := d[y*p.Row+x*Lanes:], which[(y*p.W+x)*Lanes:], int32(0)
			upper, lower := 2*y*p.W+x, (2*y+1)*p.W+x
			for l := range Lanes {
				dst[upper*Lanes+l], dst[lower*Lanes+l] = 0, 0
				if w[l]&2 == 0 {
					dst[upper*Lanes+l] = in[l]
				} else {
					dst[lower*Lanes+l] = in[l]
				}
				right |= w[l] & 1 << l
			}
			odd[upper], odd[lower] = right, right
		}
	}
}

// AvgPool sets dst to the mean of each 2×2 window of src, without overlap. p is the layout of dst. src has twice its
// height and width.
func AvgPool(dst []float32, p Plane, src []float32, srcRow int) {
	p.check(dst)
	Plane{2 * p.H, 2 * p.W, srcRow}.check(src)
	kernels.avgPool(dst, p, src, srcRow)
}

func avgPoolPortable(dst []float32, p Plane, src []float32, srcRow int) {
	for y := range p.H {
		for x := range p.W {
			at, out := 2*y*srcRow+2*x*Lanes, dst[y*p.Row+x*Lanes:]
			for l := range Lanes {
				out[l] = 0.25 * ((src[at+l] + src[at+Lanes+l]) + (src[at+srcRow+l] + src[at+srcRow+Lanes+l]))
			}
		}
	}
}

// AvgPoolBack is the backward pass of AvgPool. p is the layout of d. dst has twice its height and width, and each of
// its 2×2 windows becomes a quarter of the number of d for that window.
func AvgPoolBack(dst []float32, dstRow int, d []float32, p Plane) {
	p.check(d)
	Plane{2 * p.H, 2 * p.W, dstRow}.check(dst)
	kernels.avgPoolBack(dst, dstRow, d, p)
}

func avgPoolBackPortable(dst []float32, dstRow int, d []float32, p Plane) {
	for y := range p.H {
		for x := range p.W {
			at, in := 2*y*dstRow+2*x*Lanes, d[y*p.Row+x*Lanes:]
			for l := range Lanes {
				v := 0.25 * in[l]
				dst[at+l], dst[at+Lanes+l], dst[at+dstRow+l], dst[at+dstRow+Lanes+l] = v, v, v, v
			}
		}
	}
}

// LaneSumSquares adds to acc[l], for each lane l, the squares of that lane in all vectors of x. It computes in
// float64: the sum over the vectors with even numbers, plus the sum over those with odd numbers.
func LaneSumSquares(acc *[Lanes]float64, x []float32) {
	vectors(x)
	kernels.laneSumSquares(acc, x)
}

func laneSumSquaresPortable(acc *[Lanes]float64, x []float32) {
	sum := squares(x)
	for l := range acc {
		acc[l] += sum[l]
	}
}

// squares returns the sums of LaneSumSquares. The square of a float32 is exact in float64, so
// fusing it with the sum changes nothing.
func squares(x []float32) [Lanes]float64 {
	var sum [2][Lanes]float64
	for i, v := range x {
		sum[i/Lanes%2][i%Lanes] += float64(v) * float64(v)
	}
	for l := range sum[0] {
		sum[0][l] += sum[1][l]
	}
	return sum[0]
}

// LaneSums is the length of an unfinished sum of vectors, as LaneSum computes it. To keep the order of
// additions fixed, LaneSum has four separate sums: vector number i is added to sum i mod 4.
const LaneSums = 4 * Lanes

// LaneSum adds the vectors of x to the unfinished sum acc. x may be added in several calls, part by part. The result has
// the same bits as with one call, if the number of vectors in each part except the last is a multiple of four.
func LaneSum(acc *[LaneSums]float32, x []float32) {
	vectors(x)
	kernels.laneSum(acc, x)
}

func laneSumPortable(acc *[LaneSums]float32, x []float32) {
	for i, v := range x {
		acc[i%LaneSums] += v
	}
}

// LaneTotal finishes a sum of LaneSum. It adds the four separate sums in acc in the order (0+1)+(2+3), and
// sets total to the result.
func LaneTotal(total *[Lanes]float32, acc *[LaneSums]float32) {
	for l := range total {
		total[l] = (acc[l] + acc[Lanes+l]) + (acc[2*Lanes+l] + acc[3*Lanes+l])
	}
}

// LaneScale sets dst to the vectors of x with lane l multiplied by f[l]. The vectors of dst are dstRow ≥ Lanes floats
// apart. dst may be x if dstRow is Lanes.
func LaneScale(dst []float32, dstRow int, f *[Lanes]float32, x []float32) {
	n := vectors(x)
	if dstRow < Lanes {
		panic("f32: rows overlap")
	}
	if n > 0 {
		_ = dst[(n-1)*dstRow+Lanes-1]
		kernels.laneScale(dst, dstRow, f, x)
	}
}

func laneScalePortable(dst []float32, dstRow int, f *[Lanes]float32, x []float32) {
	for i := 0; i < len(x); i += Lanes {
		at := i / Lanes * dstRow
		for l := range f {
			dst[at+l] = f[l] * x[i+l]
		}
	}
}

// Spread copies the vectors of a plane to dst and leaves gaps between them. In dst, the vectors of a row begin
// dstColumn ≥ Lanes floats apart, and rows dstRow ≥ W·dstColumn floats apart. p is the layout of src.
func Spread(dst []float32, dstRow, dstColumn int, src []float32, p Plane) {
	p.check(src)
	if dstColumn < Lanes || dstRow < p.W*dstColumn {
		panic("f32: vectors overlap")
	}
	_ = dst[(p.H-1)*dstRow+(p.W-1)*dstColumn+Lanes-1]
	kernels.spread(dst, dstRow, dstColumn, src, p)
}

func spreadPortable(dst []float32, dstRow, dstColumn int, src []float32, p Plane) {
	for y := range p.H {
		for x := range p.W {
			copy(dst[y*dstRow+x*dstColumn:][:Lanes], src[y*p.Row+x*Lanes:])
		}
	}
}

// FromBytes sets dst[i] to scale·src[i] + shift. dst and src must have equal lengths.
func FromBytes(dst []float32, src []byte, scale, shift float32) {
	if len(dst) != len(src) {
		panic("f32: FromBytes of unequal lengths")
	}
	whole := len(dst) / Lanes * Lanes
	kernels.fromBytes(dst[:whole], src[:whole], scale, shift)
	fromBytesPortable(dst[whole:], src[whole:], scale, shift)
}

func fromBytesPortable(dst []float32, src []byte, scale, shift float32) {
	for i, b := range src {
		dst[i] = float32(scale*float32(b)) + shift
	}
}
