package unpack

import (
	"io"
	"os"
)

// The memory for the elements of a file exceeds their estimated number by the part spare. The estimate is made
// when enoughRead bytes were read: some of them are still in buffers.
const (
	spare      = 0.05
	enoughRead = 4 << 20
)

// Expected estimates how many elements the file f has. elements is how many the part had that was read
// so far. A slice with this capacity need not grow, so its elements are never in memory twice. Memory
// that is never used takes no space. The result is 0 if no estimate can be made: if f is nil, if too
// little was read, or if it is not known how much was read, as for a zip archive, which is not read at
// the file's own position.
func Expected(f *os.File, elements int) float64 {
	if f == nil {
		return 0
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	read, err := f.Seek(0, io.SeekCurrent)
	if err != nil || read < enoughRead {
		return 0
	}
	return float64(elements) * float64(info.Size()) / float64(read) * (1 + spare)
}
