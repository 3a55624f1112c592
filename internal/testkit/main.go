package testkit

import (
	"os"
	"runtime/debug"
	"testing"
)

// Main runs the tests of a package with little garbage collection, for a package whose tests have small heaps
// and spend a fifth of their time on collecting them. GOGC overrides it.
func Main(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}
