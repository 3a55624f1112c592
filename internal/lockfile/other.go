//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package lockfile

import (
	"errors"
	"os"
)

func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
}

// Try reports that there are no locks here.
func Try(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func remove(f *os.File, path string) error { return errors.Join(f.Close(), os.Remove(path)) }

// RemoveUnheld removes nothing: who holds a file cannot be told here.
func RemoveUnheld(string) error { return nil }
