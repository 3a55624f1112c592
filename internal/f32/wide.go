package f32

import "proactivedp/rng"

// Narrow sets dst to x rounded to float32. The lengths must be equal. Sums of clipped gradients are float64 until
// noise has been added, so that rounding affects only numbers that are already private.
func Narrow(dst []float32, x []float64) {
	clear(dst)
	AddNarrow(dst, x)
}

// Widen sets dst to x. The lengths must be equal.
func Widen(dst []float64, x []float32) {
	if len(dst) != len(x) {
		panic("f32: Widen of unequal lengths")
	}
	for i, v := range x {
		dst[i] = float64(v)
	}
}

// AddNarrow sets each dst[i] to dst[i] + x[i], computed in float64 and then rounded to float32. The lengths must be
// equal.
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

// Normal sets x to independent normal numbers with mean 0 and standard deviation sigma: the same numbers that
// AddNormal would add.
func Normal(x []float32, sigma float64, s *rng.Stream) {
	for len(x) > 0 {
		n := min(len(x), normalsAtOnce)
		clear(x[:n])
		AddNormal(x[:n], sigma, s)
		x = x[n:]
	}
}

// normalsAtOnce is a multiple of groupNormals, so that Normal takes the same numbers from the
// stream as a single call of AddNormal. The memory in use stays in the first-level cache, and the
// kernels load the same amount ahead.
const normalsAtOnce = 64 * groupNormals

// AxpyWide adds alpha·x to y in float64. The lengths must be equal.
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

// LaneAxpyWide multiplies each lane of the vectors in x by the lane's factor in f, and adds the results in
// float64 to y, where two lanes share a sum: y[i·8+l] += f[l]·x[i·16+l] + f[l+8]·x[i·16+l+8]. x is
// [vector][Lanes], and y is [vector][8]. Each product is rounded to float32.
func LaneAxpyWide(f *[Lanes]float32, x []float32, y []float64) {
	if vectors(x)*WideLanes != len(y) {
		panic("f32: LaneAxpyWide needs 8 numbers for every vector")
	}
	kernels.laneAxpyWide(f, x, y)
}

// WideLanes is the number of float64 sums in which the lanes of a vector are kept: half of Lanes.
const WideLanes = Lanes / 2

func laneAxpyWidePortable(f *[Lanes]float32, x []float32, y []float64) {
	for ; len(x) > 0; x, y = x[Lanes:], y[WideLanes:] {
		for l := range WideLanes {
			a, b := float32(f[l]*x[l]), float32(f[l+WideLanes]*x[l+WideLanes])
			y[l] += float64(a) + float64(b)
		}
	}
}

// SumWideLanes sets dst[i] to the sum of the 8 numbers of x from index 8i on, added by halves.
func SumWideLanes(dst, x []float64) {
	if len(x) != WideLanes*len(dst) {
		panic("f32: SumWideLanes needs 8 numbers for every sum")
	}
	for i := range dst {
		v := (*[WideLanes]float64)(x[i*WideLanes:])
		dst[i] = ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
	}
}

// addWidePortable adds to rows of dst, dstRow apart, the given number of whole vectors of the rows
// of x, tileFloats apart.
func addWidePortable(dst []float64, dstRow int, x []float32, rows, vectors int) {
	for r := range rows {
		to := dst[r*dstRow:][:vectors*Lanes]
		for i, v := range x[r*tileFloats:][:len(to)] {
			to[i] += float64(v)
		}
	}
}

// narrowTilePortable adds as AddNarrow does, to rows of dst, dstRow apart, the rows of a tile x,
// tileFloats apart. It processes the given number of whole vectors of each row.
func narrowTilePortable(dst []float32, dstRow int, x []float64, rows, vectors int) {
	for r := range rows {
		addNarrowPortable(dst[r*dstRow:][:vectors*Lanes], x[r*tileFloats:][:vectors*Lanes])
	}
}
