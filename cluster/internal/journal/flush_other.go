//go:build !linux

package journal

// Elsewhere each write is followed by a flush, which on some systems asks more of a disk than
// a flag of the file does.
const (
	openFlag         = 0
	flushedByWriting = false
)
