//go:build !unix

package bounded

// noWait is 0 on systems without named pipes in folders.
const noWait = 0
