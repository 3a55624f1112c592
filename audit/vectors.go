package audit

import (
	"math"

	"proactivedp/dp"
	"proactivedp/rng"
)

var noClip = math.Inf(1)

func scale[T float32 | float64](u []T, by T) {
	for i := range u {
		u[i] *= by
	}
}

// dot returns the inner product of vectors of equal lengths.
func dot[X, Y float32 | float64](x []X, y []Y) float64 {
	y = y[:len(x)]
	sum := 0.0
	for i, v := range x {
		sum += float64(float64(v) * float64(y[i]))
	}
	return sum
}

func norm(x []float64) float64 { return math.Sqrt(dot(x, x)) }

// addNormals adds a number from N(0, std²) to every coordinate, drawn exactly or not.
func addNormals(x []float64, std float64, s *rng.Stream, exact bool) {
	noise := make([]float32, len(x))
	m := dp.Mechanism{ClipNorm: 1, NoiseMultiplier: std, Exact: exact}
	m.Noise(noise, s)
	for i, v := range noise {
		x[i] += float64(v)
	}
}
