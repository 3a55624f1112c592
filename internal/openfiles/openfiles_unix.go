//go:build unix

// Package openfiles ends a program that may not open as many files as it must be able to
// hold open, as it begins: Go's runtime does not survive without. Packages that open files
// as they are initialized must come after it. So it rests on what is initialized before all
// that knows files; of packages that are ready, Go takes the first by path.
package openfiles

import (
	"strconv"
	"syscall"
)

// minOpenFiles is how many files the program may need open at once: the three
// standard ones, those of Go's runtime, which does not survive without, data,
// outputs and their locks.
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
