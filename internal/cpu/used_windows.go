package cpu

import (
	"syscall"
	"time"
)

// Used returns the processor time that the process has used. Other programs hardly change how it grows.
func Used() time.Duration {
	var created, exited, kernel, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err == nil {
		err = syscall.GetProcessTimes(self, &created, &exited, &kernel, &user)
	}
	if err != nil {
		panic("GetProcessTimes: " + err.Error()) // It fails only for wrong arguments.
	}
	const unit = 100 * time.Nanosecond
	return unit * time.Duration(ticks(kernel)+ticks(user))
}

// ticks returns a duration in units of 100 ns.
func ticks(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 + int64(t.LowDateTime) }
