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

// Expected estimates from the part of f that was read, which had so many elements, how many the whole file has. A
// slice of this capacity need not grow, so that its elements are in memory once. Memory that is never used takes
// no space. The estimate is 0 if it cannot be made: if f is nil, too little was read, or the size is not known,
// as for a zip archive, which is not read at the file's own position.
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
