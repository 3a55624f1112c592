//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package files

import (
	"errors"
	"os"
)

func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
}

// TryLock returns an error: this system has no locks.
func TryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func removeLock(f *os.File, path string) error { return errors.Join(f.Close(), os.Remove(path)) }

// RemoveUnheld removes nothing, because this system does not say whether a file is in use.
func RemoveUnheld(string) error { return nil }
