package testkit

import (
	"os"
	"runtime/debug"
	"testing"
)

// Main runs the tests of a package with little garbage collection. Use it for a package whose tests have
// small heaps and spend much of their time on garbage collection. If the environment variable GOGC is set,
// its value is used instead.
func Main(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}
