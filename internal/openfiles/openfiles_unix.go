//go:build unix

// Package openfiles knows how many files a process must be able to hold open.
package openfiles

import (
	"fmt"
	"syscall"
)

// minOpenFiles is how many files the program may need open at once: the three
// standard ones, those of Go's runtime, which does not survive without, data,
// outputs and their locks.
const minOpenFiles = 32

// Check reports that the process may open too few files to work.
func Check() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Cur < minOpenFiles {
		return fmt.Errorf("the limit of open files is %d, must be at least %d: see ulimit -n", limit.Cur, minOpenFiles)
	}
	return nil
}
