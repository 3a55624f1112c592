//go:build !noasm

package f32

// These use SSE2 alone, which every amd64 processor has, and round as their
// portable twins do: the results are the same bits.

//go:noescape
func axpy(alpha float32, x, y []float32)

//go:noescape
func sumSquares4(x []float32) float64
