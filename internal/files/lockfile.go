// This file keeps two processes from the same files. A lock is a file that
// its holder has open and locked by the operating system, so it ends with the
// process, however that ends; a lock file that was left by a killed process is
// taken as if it were not there.
//
// Linux, macOS and the BSDs lock by flock(2), Windows by opening the file for
// nobody else. Elsewhere, and on file systems that know no locks, nothing is
// locked: there it is for the user not to start two processes on the same files.

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

// ErrHeld reports that another process holds the lock.
var ErrHeld = errors.New("in use by another process")

// Lock is a lock that is held.
type Lock struct {
	file *os.File
	path string
	made string // the folder, if it was made for the lock
}

// maxLockTries is how often take begins anew because the file that it has locked was
// removed by the one who held it before.
const maxLockTries = 100

// take takes the lock whose file is at path, of what is named so; the folder must
// exist. If another process holds it, the error is ErrHeld and says which.
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
			// There are no locks here, as the package comment says.
			return &Lock{file: f, path: path}, nil
		}
		if !held {
			err := fmt.Errorf("%s: %w%s", named, ErrHeld, holder(f))
			f.Close()
			return nil, err
		}
		if !IsAt(f, path) { // the file was removed between open and Try
			f.Close()
			continue
		}
		if err := f.Truncate(0); err == nil {
			_, _ = fmt.Fprintln(f, os.Getpid()) // the number tells whoever is refused which process holds the lock
		}
		return &Lock{file: f, path: path}, nil
	}
	return nil, fmt.Errorf("%s: %w: it is taken and released all the time", named, ErrHeld)
}

// folderLock is the name of the lock file of a folder.
const folderLock = ".lock"

// LockFolder makes the folder, with those above it, and takes its lock. It fails if
// nothing can be written there.
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

// InFolder calls do while it holds the lock of the folder, which it makes.
func InFolder(dir string, do func() error) error {
	lock, err := LockFolder(dir)
	if err != nil {
		return err
	}
	err = do()
	return errors.Join(err, lock.Release())
}

// LockFile takes the lock of the file at path, be it there or not. Its folder must
// exist; of a symbolic link it is the link's own.
func LockFile(path string) (*Lock, error) {
	return take(fileLock(path), path)
}

// fileLock is the lock file of the file at path.
func fileLock(path string) string {
	dir, base := filepath.Split(path)
	return dir + "." + base + ".lock"
}

// SweepLock removes the lock file that a killed holder of the file at path left, for who does
// not take the lock.
func SweepLock(path string) error {
	return RemoveUnheld(fileLock(path))
}

// Release gives the lock up and removes its file, and the folder if it was made for
// the lock and nothing else has come into it.
func (l *Lock) Release() error {
	err := removeLock(l.file, l.path)
	if err != nil {
		return err
	}
	if l.made != "" {
		_ = os.Remove(l.made) // which fails where there is something
	}
	return nil
}

// holder says which process wrote its number into the file, or nothing.
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

// gone returns err, or nil if it says that the file is not there, which was wanted.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
