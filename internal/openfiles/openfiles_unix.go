//go:build unix

// Package openfiles ends the program when it starts, with an error, if the limit of open files is too low.
// Without this check, Go's runtime would crash when it cannot open a file.
//
// The package must be initialized before packages that open files. Go initializes packages that are ready
// in the order of their paths, so this package imports only packages that are initialized before those.
package openfiles

import (
	"strconv"
	"syscall"
)

// minOpenFiles is the number of files that the program may need to have open at the same time: the
// three standard files, those of Go's runtime, data, outputs and their locks.
const minOpenFiles = 32

func init() {
	var limit syscall.Rlimit
	// Package os raises the limit to the most that it may be.
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max >= minOpenFiles {
		return
	}
	text := "proactivedp: the limit of open files is " + strconv.FormatUint(uint64(limit.Max), 10) +
		", must be at least " + strconv.Itoa(minOpenFiles) + ": see ulimit -n\n"
	_, _ = syscall.Write(syscall.Stderr, []byte(text)) // there is nobody else to tell
	syscall.Exit(1)
}
