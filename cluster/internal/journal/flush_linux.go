package journal

import "syscall"

// A write to a file that was opened with openFlag returns when the data and the metadata that is
// needed to read it are on disk. This takes one system call instead of a write and a sync.
const (
	openFlag         = syscall.O_DSYNC
	flushedByWriting = true
)
