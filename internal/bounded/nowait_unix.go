//go:build unix

package bounded

import "syscall"

// noWait opens a named pipe without waiting for its writer.
const noWait = syscall.O_NONBLOCK
