//go:build !linux

package journal

// On other systems each write is followed by a flush. Some of them flush more thoroughly than the
// flag does.
const (
	openFlag         = 0
	flushedByWriting = false
)
