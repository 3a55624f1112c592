//go:build !noasm

package cpu

import (
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// hasTiles reports whether the machine has matrix tiles and the system lets this process use them.
// Linux gives the permission to all threads of the process, including future ones, when one of them
// asks for it. Without permission, the first use of a tile kills the process. hasTiles is false in
// case of doubt: on an older system, in a sandbox that refuses the call, or if a thread's signal
// stack is too small for the tiles.
var hasTiles = sync.OnceValue(func() bool {
	const (
		state           = 1<<17 | 1<<18 // bits of XCR0: the shape of the tiles and their data
		permit, granted = 0x1023, 0x1022
		data            = 18
	)
	if x := &cpu.X86; !x.HasOSXSAVE || !x.HasAMXTile || !x.HasAMXBF16 || enabledState()&state != state {
		return false
	}
	if _, _, failed := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, permit, data, 0); failed != 0 {
		return false
	}
	var may uint64
	_, _, failed := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, granted, uintptr(unsafe.Pointer(&may)), 0)
	return failed == 0 && may>>data&1 != 0
})
