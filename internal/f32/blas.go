package f32

// Axpy adds alpha·x to y: y[i] += alpha·x[i].
func Axpy(alpha float32, x, y []float32) { AxpyTo(y, alpha, x, y) }

// AxpyTo sets dst to alpha·x + y. dst may be y; otherwise they must not overlap.
func AxpyTo(dst []float32, alpha float32, x, y []float32) {
	if len(x) != len(y) || len(x) != len(dst) {
		panic("f32: Axpy of unequal lengths")
	}
	kernels.axpyTo(dst, alpha, x, y)
}

// axpyToPortable is the specification of axpyTo.
func axpyToPortable(dst []float32, alpha float32, x, y []float32) {
	dst, y = dst[:len(x)], y[:len(x)]
	for i, v := range x {
		dst[i] = y[i] + float32(alpha*v)
	}
}

// SumSquares returns Σ x[i]². It adds in float64, so that a norm of millions of terms is as accurate as
// float32 allows. The additions have a fixed order, so that the result has the same bits on every machine.
func SumSquares(x []float32) float64 {
	// The order: the sums of LaneSumSquares over whole vectors are added by halves (l and l+8, l+4, l+2,
	// l+1), and then the remaining elements in order.
	whole := len(x) / Lanes * Lanes
	s := kernels.sumSquares(x[:whole])
	for _, v := range x[whole:] {
		s += float64(v) * float64(v)
	}
	return s
}

// sumSquaresPortable specifies sumSquares, for whole vectors.
func sumSquaresPortable(x []float32) float64 {
	sum := squares(x)
	for half := Lanes / 2; half > 0; half /= 2 {
		for l := range half {
			sum[l] += sum[l+half]
		}
	}
	return sum[0]
}
