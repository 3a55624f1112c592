// This file has locks that keep two processes from using the same files. A lock is a file that its
// holder has opened and locked through the operating system. So the lock ends with the process,
// however the process ends. A lock file left by a killed process is treated as if it did not exist.
//
// Linux, macOS and the BSDs lock with flock(2). Windows opens the file so that no other process can
// open it. On other systems, and on file systems without locks, nothing is locked: there, the user
// must not start two processes on the same files.

package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrHeld is the error, usually wrapped, for a file or folder whose lock another process holds.
var ErrHeld = errors.New("in use by another process")

// Lock is a lock held by this process.
type Lock struct {
	file *os.File
	path string
	made string // the folder, if it was created for the lock
}

// maxLockTries is how often take starts again because the file that it locked was removed by the
// previous holder.
const maxLockTries = 100

// take takes the lock file at path. Errors call the protected file or folder by the given name. The
// folder of the lock file must exist. If another process holds the lock, the error is ErrHeld with
// the number of that process.
func take(path, named string) (*Lock, error) {
	for range maxLockTries {
		f, err := openLock(path)
		if errors.Is(err, ErrHeld) {
			return nil, fmt.Errorf("%s: %w", named, err)
		}
		if err != nil {
			return nil, err
		}
		held, err := TryLock(f)
		if err != nil {
			// This system has no locks, see above.
			return &Lock{file: f, path: path}, nil
		}
		if !held {
			err := fmt.Errorf("%s: %w%s", named, ErrHeld, holder(f))
			f.Close()
			return nil, err
		}
		if !IsAt(f, path) { // the file was removed between openLock and TryLock
			f.Close()
			continue
		}
		if err := f.Truncate(0); err == nil {
			_, _ = fmt.Fprintln(f, os.Getpid()) // so that a refused process can say who holds the lock
		}
		return &Lock{file: f, path: path}, nil
	}
	return nil, fmt.Errorf("%s: %w: other processes keep taking and releasing the lock", named, ErrHeld)
}

const folderLock = ".lock"

// LockFolder creates the folder dir, with its parents, and takes its lock. The error wraps ErrHeld if another process
// holds the lock. It is also an error if this process cannot write in the folder.
func LockFolder(dir string) (*Lock, error) {
	made := ""
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		made = dir
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	lock, err := take(filepath.Join(dir, folderLock), dir)
	if err != nil {
		return nil, err
	}
	lock.made = made
	return lock, nil
}

// InFolder calls do while it holds the lock of the folder dir, which it creates if needed. It returns the error of
// LockFolder or of do.
func InFolder(dir string, do func() error) error {
	lock, err := LockFolder(dir)
	if err != nil {
		return err
	}
	err = do()
	return errors.Join(err, lock.Release())
}

// LockFile takes the lock of the file at path. The file need not exist, but its folder must. The error wraps ErrHeld
// if another process holds the lock. For a symbolic link, the link itself is locked.
func LockFile(path string) (*Lock, error) {
	return take(fileLock(path), path)
}

func fileLock(path string) string {
	dir, base := filepath.Split(path)
	return dir + "." + base + ".lock"
}

// SweepLock removes the lock file of the file at path if a killed process has left it and nobody holds the lock. It
// is for processes that do not take the lock themselves.
func SweepLock(path string) error {
	return RemoveUnheld(fileLock(path))
}

// Release releases the lock and removes its lock file. It also removes a folder that was created for the lock, if
// that is empty.
func (l *Lock) Release() error {
	err := removeLock(l.file, l.path)
	if err != nil {
		return err
	}
	if l.made != "" {
		_ = os.Remove(l.made) // this fails if the folder is not empty
	}
	return nil
}

// holder returns the process number in the lock file f as text for an error, such as " (123)", or
// "" if there is none.
func holder(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return ""
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		return fmt.Sprintf(" (%d)", n)
	}
	return ""
}

// IsAt reports whether path names the file that f has open.
func IsAt(f *os.File, path string) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(here, there)
}

// gone returns nil if err says that the file does not exist, and otherwise err.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
