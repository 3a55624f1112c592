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

// TryLock locks f until it is closed. It returns false if the file is already locked through another open file. An
// error means that locks are not supported here.
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

// removeLock removes the lock file while it is locked. Another process may have opened it in the
// meantime. When that process gets the lock, IsAt tells it that the path no longer names its file.
func removeLock(f *os.File, path string) error {
	return errors.Join(os.Remove(path), f.Close())
}

// RemoveUnheld removes the lock file at path unless another process holds the lock.
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
