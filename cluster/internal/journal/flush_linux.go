package journal

import "syscall"

// What is written to a file opened so is on disk when the write returns, with all that is
// needed to read it again: one call of the system instead of two.
const (
	openFlag         = syscall.O_DSYNC
	flushedByWriting = true
)
