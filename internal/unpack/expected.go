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

// Done returns how many bytes of the file f were read, which is the current position in the file. It
// returns 0 if f is nil or not a regular file. It also returns 0 for a zip archive, because that is not
// read from the beginning to the end.
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

// Expected estimates how many elements the file f has, such as rows. read is the number of bytes that were
// read so far (see [Done]), and elements the number of elements in them. Use the estimate as the capacity
// of a slice: a slice that grows is copied, so that its elements are in memory twice. A capacity that is
// too large costs nothing, because memory that is never used takes no space. Expected returns 0 if too
// little was read for an estimate.
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
