//go:build !linux

package testkit

import "testing"

// RunInMemory runs the tests of a package. Only Linux has a folder for files in memory.
func RunInMemory(m *testing.M) { m.Run() }
