package testkit

import (
	"os"
	"syscall"
	"testing"
)

// memoryFolder is where Linux keeps files in memory.
const memoryFolder = "/dev/shm"

// enough is how much room memoryFolder needs, in bytes. The tests of one package use less than a tenth of it.
const enough = 4 << 30

// RunInMemory runs the tests of a package. They and the processes that they start make their temporary files in memory,
// where flushing a file costs little. Use it for a package whose tests flush many files or write large ones. The files
// are in the usual place if the environment variable TMPDIR is set, or if there is too little room, as in most
// containers.
func RunInMemory(m *testing.M) {
	var s syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memoryFolder, &s) == nil && float64(s.Bavail)*float64(s.Bsize) >= enough {
		// The folder may be read-only, or belong to somebody else.
		if dir, err := os.MkdirTemp(memoryFolder, "proactivedp-test-"); err == nil {
			defer func() { _ = os.RemoveAll(dir) }()
			if err := os.Setenv("TMPDIR", dir); err != nil {
				panic(err)
			}
		}
	}
	m.Run()
}
