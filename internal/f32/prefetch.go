//go:build (amd64 || arm64) && !noasm

package f32

import (
	"unsafe"

	"proactivedp/internal/cpu"
)

// prefetch asks the processor to load rows of x into the cache. Consecutive rows begin row elements apart and
// width elements long. It changes nothing.
func prefetch[T float32 | float64](x []T, row, rows, width int) {
	if class > cpu.Portable {
		bytes := int(unsafe.Sizeof(x[0]))
		_ = x[(rows-1)*row+width-1]
		prefetchRows((*byte)(unsafe.Pointer(&x[0])), bytes*row, rows, bytes*width)
	}
}
