//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package files

import (
	"errors"
	"os"
	"syscall"
)

func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
}

// TryLock locks f for as long as it is open, and reports whether it could: false if it
// is locked through another open file. An error says that there are no locks here.
func TryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}

// remove removes the file while it is locked: whoever has opened it meanwhile
// finds, once it has the lock, that its path names it no more.
func removeLock(f *os.File, path string) error {
	return errors.Join(os.Remove(path), f.Close())
}

// RemoveUnheld removes the file at path unless somebody holds it by Try.
func RemoveUnheld(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return gone(err)
	}
	defer f.Close()
	if free, err := TryLock(f); !free || err != nil || !IsAt(f, path) {
		return nil
	}
	return gone(os.Remove(path))
}
