package testkit

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// memoryFolder is where Linux keeps files in memory.
const memoryFolder = "/dev/shm"

// enough is how much room memoryFolder needs, in bytes. The tests of one package use less than a tenth of it.
const enough = 4 << 30

// prefix begins the names of the folders for temporary files.
const prefix = "proactivedp-test-"

// removeLeft removes the folders of tests that were killed or ran out of time. They would take memory until the machine
// stops. No test takes as long as a day.
func removeLeft() {
	left, _ := filepath.Glob(filepath.Join(memoryFolder, prefix+"*"))
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(dir) // it may belong to somebody else
		}
	}
}

// RunInMemory runs the tests of a package. They and the processes that they start make their temporary files in memory,
// where flushing a file costs little. Use it for a package whose tests flush many files or write large ones. The files
// are in the usual place if the environment variable TMPDIR is set, or if there is too little room, as in most
// containers, or if programs that tests build there could not be run.
func RunInMemory(m *testing.M) {
	var s syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memoryFolder, &s) == nil && s.Flags&syscall.MS_NOEXEC == 0 &&
		float64(s.Bavail)*float64(s.Bsize) >= enough {
		removeLeft()
		// The folder may be read-only, or belong to somebody else.
		if dir, err := os.MkdirTemp(memoryFolder, prefix); err == nil {
			defer func() { _ = os.RemoveAll(dir) }()
			if err := os.Setenv("TMPDIR", dir); err != nil {
				panic(err)
			}
		}
	}
	m.Run()
}
