package f32

// Axpy adds alpha·x to y: y[i] += alpha·x[i].
func Axpy(alpha float32, x, y []float32) {
	if len(x) != len(y) {
		panic("f32: Axpy of unequal lengths")
	}
	axpy(alpha, x, y)
}

// SumSquares returns Σ x[i]², summed in float64 so that a norm of millions of
// terms keeps float32 accuracy: four sums over i mod 4 of the first 4·⌊n/4⌋,
// added as ((0+1)+(2+3)), and then the rest in order.
func SumSquares(x []float32) float64 {
	whole := len(x) &^ 3
	s := sumSquares4(x[:whole])
	for _, v := range x[whole:] {
		s += float64(float64(v) * float64(v))
	}
	return s
}

// axpyPortable is the specification of axpy.
func axpyPortable(alpha float32, x, y []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += float32(alpha * v)
	}
}

// sumSquares4Portable is the specification of sumSquares4: the length of x is
// a multiple of 4.
func sumSquares4Portable(x []float32) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		s0 += float64(a * a)
		s1 += float64(b * b)
		s2 += float64(c * c)
		s3 += float64(d * d)
	}
	return (s0 + s1) + (s2 + s3)
}
