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

// Done returns the position of the file f, which is how many bytes were read, except from a zip archive. It returns 0
// if f is nil or not a regular file.
func Done(f *os.File) int64 {
	if f == nil {
		return 0
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	read, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0
	}
	return read
}

// Expected estimates how many elements the file f has. elements is how many the first read bytes had, see [Done]. A
// slice with this capacity need not grow, so its elements are never in memory twice. Memory that is never used takes
// no space. The result is 0 if no estimate can be made because too little was read.
func Expected(f *os.File, read int64, elements int) float64 {
	if read < enoughRead {
		return 0
	}
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return float64(elements) * float64(info.Size()) / float64(read) * (1 + spare)
}
