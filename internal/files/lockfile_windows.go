package files

import (
	"errors"
	"os"
	"syscall"
)

const (
	errorSharingViolation = syscall.Errno(32)
	fileFlagDeleteOnClose = 0x04000000
)

// openLock opens the file so that no other process can open it. The system removes it when this
// process ends.
func openLock(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL|fileFlagDeleteOnClose, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, ErrHeld
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}

// TryLock returns true without taking a lock. The lock would only keep other processes from
// removing the file, and on Windows they cannot remove a file that is open.
func TryLock(*os.File) (bool, error) { return true, nil }

func removeLock(f *os.File, _ string) error { return f.Close() }

// RemoveUnheld removes the file at path unless it is open.
func RemoveUnheld(path string) error {
	err := os.Remove(path)
	if errors.Is(err, errorSharingViolation) {
		return nil
	}
	return gone(err)
}
