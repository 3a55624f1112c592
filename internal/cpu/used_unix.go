//go:build unix

package cpu

import (
	"syscall"
	"time"
)

// Used returns the processor time that the process has used. Other programs hardly change how it grows.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("getrusage: " + err.Error()) // It fails only for wrong arguments.
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
