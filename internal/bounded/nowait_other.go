//go:build !unix

package bounded

// noWait is 0 where a folder has no named pipes.
const noWait = 0
