package f32

// Axpy adds alpha·x to y: y[i] += alpha·x[i].
func Axpy(alpha float32, x, y []float32) {
	if len(x) != len(y) {
		panic("f32: Axpy of unequal lengths")
	}
	for len(x) >= 4 && len(y) >= 4 {
		y[0] += float32(alpha * x[0])
		y[1] += float32(alpha * x[1])
		y[2] += float32(alpha * x[2])
		y[3] += float32(alpha * x[3])
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		y[i] += float32(alpha * v)
	}
}

// SumSquares returns Σ x[i]², summed in float64 so that a norm of millions of
// terms keeps float32 accuracy, as four sums over i mod 4 (of the first
// 4·⌊n/4⌋), added as ((0+1)+(2+3)), and then the rest in order.
func SumSquares(x []float32) float64 {
	var s0, s1, s2, s3 float64
	for len(x) >= 4 {
		a, b, c, d := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		s0 += float64(a * a)
		s1 += float64(b * b)
		s2 += float64(c * c)
		s3 += float64(d * d)
		x = x[4:]
	}
	s := (s0 + s1) + (s2 + s3)
	for _, v := range x {
		s += float64(float64(v) * float64(v))
	}
	return s
}
