//go:build !amd64 || noasm

package f32

func axpy(alpha float32, x, y []float32) { axpyPortable(alpha, x, y) }

func sumSquares4(x []float32) float64 { return sumSquares4Portable(x) }
