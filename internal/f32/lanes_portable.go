//go:build (!amd64 && !arm64) || noasm

package f32

func addNormals(x []float32, bits []byte, scale float32) int {
	return addNormalsPortable(x, bits, scale)
}
