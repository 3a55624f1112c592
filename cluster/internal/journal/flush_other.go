//go:build !linux

package journal

// On other systems each write is followed by a flush. On some of them, a flush is more thorough
// than O_DSYNC would be.
const (
	openFlag         = 0
	flushedByWriting = false
)
