package f32

import "proactivedp/rng"

// Narrow sets dst to x, of the same length, rounded to float32. Sums of clipped
// gradients are float64 until the noise has been added: what rounding does then is
// done to what is private already.
func Narrow(dst []float32, x []float64) {
	clear(dst)
	AddNarrow(dst, x)
}

// Widen sets dst to x, of the same length.
func Widen(dst []float64, x []float32) {
	if len(dst) != len(x) {
		panic("f32: Widen of unequal lengths")
	}
	for i, v := range x {
		dst[i] = float64(v)
	}
}

// AddNarrow adds x, of the same length, to dst: in float64, and rounded to float32 then.
func AddNarrow(dst []float32, x []float64) {
	if len(dst) != len(x) {
		panic("f32: AddNarrow of unequal lengths")
	}
	kernels.addNarrow(dst, x)
}

func addNarrowPortable(dst []float32, x []float64) {
	x = x[:len(dst)]
	for i, v := range dst {
		dst[i] = float32(x[i] + float64(v))
	}
}

// Normal sets x to the numbers of AddNormal.
func Normal(x []float32, sigma float64, s *rng.Stream) {
	for len(x) > 0 {
		n := min(len(x), normalsAtOnce)
		clear(x[:n])
		AddNormal(x[:n], sigma, s)
		x = x[n:]
	}
}

// normalsAtOnce is a multiple of groupNormals, so that the stream is used as by one
// AddNormal, and leaves what is worked on in the first-level cache: the kernels ask for as
// much that comes next.
const normalsAtOnce = 64 * groupNormals

// AxpyWide adds alpha·x to y, of the same length, in float64.
func AxpyWide(alpha float64, x []float32, y []float64) {
	if len(x) != len(y) {
		panic("f32: AxpyWide of unequal lengths")
	}
	kernels.axpyWide(alpha, x, y)
}

func axpyWidePortable(alpha float64, x []float32, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += float64(alpha * float64(v))
	}
}

// LaneAxpyWide adds to y, [vector][8], the lanes l and l+8 of every vector of x,
// [vector][Lanes], each times f[l] and rounded to float32: y[i·8+l] += f[l]·x[i·16+l]
// + f[l+8]·x[i·16+l+8], added in float64.
func LaneAxpyWide(f *[Lanes]float32, x []float32, y []float64) {
	if vectors(x)*WideLanes != len(y) {
		panic("f32: LaneAxpyWide needs 8 numbers for every vector")
	}
	kernels.laneAxpyWide(f, x, y)
}

// WideLanes is how many float64 sums there are of a vector's lanes.
const WideLanes = Lanes / 2

func laneAxpyWidePortable(f *[Lanes]float32, x []float32, y []float64) {
	for ; len(x) > 0; x, y = x[Lanes:], y[WideLanes:] {
		for l := range WideLanes {
			a, b := float32(f[l]*x[l]), float32(f[l+WideLanes]*x[l+WideLanes])
			y[l] += float64(a) + float64(b)
		}
	}
}

// SumWideLanes sets dst[i] to the sum of the 8 numbers i of x, halves first.
func SumWideLanes(dst, x []float64) {
	if len(x) != WideLanes*len(dst) {
		panic("f32: SumWideLanes needs 8 numbers for every sum")
	}
	for i := range dst {
		v := (*[WideLanes]float64)(x[i*WideLanes:])
		dst[i] = ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
	}
}

// addWidePortable adds to rows of dst, dstRow apart, those of x, tileFloats apart:
// of each so many whole vectors.
func addWidePortable(dst []float64, dstRow int, x []float32, rows, vectors int) {
	for r := range rows {
		to := dst[r*dstRow:][:vectors*Lanes]
		for i, v := range x[r*tileFloats:][:len(to)] {
			to[i] += float64(v)
		}
	}
}

// narrowTilePortable is AddNarrow for rows of dst, dstRow apart, and of a tile x,
// tileFloats apart: of each so many whole vectors.
func narrowTilePortable(dst []float32, dstRow int, x []float64, rows, vectors int) {
	for r := range rows {
		addNarrowPortable(dst[r*dstRow:][:vectors*Lanes], x[r*tileFloats:][:vectors*Lanes])
	}
}
