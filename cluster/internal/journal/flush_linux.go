package journal

import "syscall"

// A write to a file that is opened with this flag returns when the data is on disk, with everything
// that is needed to read it. This needs one system call instead of two.
const (
	openFlag         = syscall.O_DSYNC
	flushedByWriting = true
)
