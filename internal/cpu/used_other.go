//go:build !unix && !windows

package cpu

import "time"

var start = time.Now()

// Used returns the time since the start of the program, because the processor time is not known here.
func Used() time.Duration { return time.Since(start) }
