// Package files writes whole files: a reader sees the old file or the new
// one, never a part. The bytes go to a temporary file in the same folder, which
// is flushed to disk and then renamed over the target; on any failure it is
// removed and the target is left as it was. A temporary file is locked while it
// is written, so one that a killed process left is known, and is removed when the
// same file is written again.
package files

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Write replaces the file at path by what write produces, or leaves it alone
// and returns the error. Output is buffered. The folder must exist. A new file
// has mode 0666 less the umask, as one made by os.Create; one that replaces a file
// has that file's mode. A device or a pipe, such as /dev/stdout, is written to:
// there is nothing to keep whole.
func Write(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		err = fill(f, path, write)
		return errors.Join(err, f.Close())
	}
	return whole(path, true, write)
}

// WriteSwept does what Write does, but does not look for what killed writers left. It is for a
// folder of many files that SweepFolder has cleared: each look would read the names of all of them.
func WriteSwept(path string, write func(io.Writer) error) error {
	return whole(path, false, write)
}

// whole replaces the file at path by what write produces.
func whole(path string, sweeps bool, write func(io.Writer) error) error {
	f, err := create(path, sweeps)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := fill(f, path, write); err != nil {
		return err
	}
	return f.Commit()
}

// Check reports why Write cannot write the file at path, before there is anything
// to write. What is at path stays as it is.
func Check(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // to open a pipe is to wait for its reader
	}
	f, err := Create(path)
	if err != nil {
		return err
	}
	f.Discard()
	return nil
}

// fill writes to f through a buffer.
func fill(f io.Writer, path string, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// File is a file being written, for callers who must look at the whole of it
// before it takes its place. Every File must end in Commit or Discard.
type File struct {
	temp *os.File // nil once committed or discarded
	name string
	path string
	sync func(dir string) error // syncFolder
}

// maxTries is how often Create takes another name because a sweep had the first
// one before it was locked.
const maxTries = 100

// Create starts a replacement of the file at path, which must be a regular one
// if it exists; behind a symbolic link it is the link's target, be that there or
// not. The folder must exist. What killed writers of the file left there is
// removed.
func Create(path string) (*File, error) { return create(path, true) }

// create is Create, which sweeps, or does not.
func create(path string, sweeps bool) (*File, error) {
	path, err := target(path)
	if err != nil {
		return nil, err
	}
	mode := fs.FileMode(0o666)
	old, err := os.Stat(path)
	switch {
	case err == nil && !old.Mode().IsRegular():
		return nil, fmt.Errorf("%s is there and no regular file", path)
	case err == nil:
		mode = old.Mode().Perm()
	}
	dir, base := filepath.Split(path)
	if base == "" || base == "." || base == ".." {
		return nil, fmt.Errorf("path = %q, must name a file", path)
	}
	for range maxTries {
		// Not os.CreateTemp: its mode 0600 would stay with the renamed file.
		name := dir + "." + base + "." + rand.Text() + ".tmp"
		temp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err // the name of the temporary file says nothing
		}
		if err != nil {
			if named, ok := errors.AsType[*fs.PathError](err); ok {
				err = named.Err // a name that nobody has given
			}
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		// Where there are no locks there are no sweeps, either.
		if held, err := TryLock(temp); err == nil && (!held || !IsAt(temp, name)) {
			temp.Close()
			continue
		}
		f := &File{temp: temp, name: name, path: path, sync: syncFolder}
		if old != nil { // the umask has taken bits that it had
			if err := temp.Chmod(mode); err != nil {
				f.Discard()
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		if sweeps {
			_ = sweep(dir, base) // another user's may not be ours to remove
		}
		return f, nil
	}
	return nil, fmt.Errorf("%s: every temporary file was swept away before it was locked", path)
}

// Name returns the path of the temporary file, which holds all bytes written
// so far.
func (f *File) Name() string { return f.name }

// Write appends p, unbuffered. It fails with os.ErrClosed after Commit or
// Discard.
func (f *File) Write(p []byte) (int, error) {
	if f.temp == nil {
		return 0, os.ErrClosed
	}
	return f.temp.Write(p)
}

// Commit flushes the bytes to disk and puts the file in its place. If it fails
// the temporary file is removed and the target is as before. A second Commit,
// or one after Discard, fails with os.ErrClosed.
func (f *File) Commit() error {
	if f.temp == nil {
		return fmt.Errorf("%s: %w", f.path, os.ErrClosed)
	}
	defer f.Discard()
	if err := f.temp.Sync(); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if err := f.place(); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.temp = nil
	if err := f.sync(filepath.Dir(f.path)); err != nil {
		return fmt.Errorf("%s is written, but may be lost if the machine fails now: %w", f.path, err)
	}
	return nil
}

// place renames the temporary file and closes it. The lock must last until the
// file has its name, so it is closed second, but on Windows, where a file that is
// open cannot be renamed.
func (f *File) place() error {
	if runtime.GOOS == "windows" {
		if err := f.temp.Close(); err != nil {
			return err
		}
		return os.Rename(f.name, f.path)
	}
	if err := os.Rename(f.name, f.path); err != nil {
		return err
	}
	return f.temp.Close()
}

// syncFolder flushes a folder to disk, so that a file renamed in it has its name
// after a power failure, too. Where folders cannot be flushed or only not be read
// there is nothing to do.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// Discard removes the temporary file. After Commit or Discard it does nothing,
// so it can be deferred.
func (f *File) Discard() {
	if f.temp == nil {
		return
	}
	f.temp.Close()
	os.Remove(f.name)
	f.temp = nil
}

// Sweep removes the temporary files that writers of the file at path left when
// they were killed, and leaves those that are being written.
func Sweep(path string) error {
	path, err := target(path)
	if err != nil {
		return err
	}
	dir, base := filepath.Split(path)
	return sweep(dir, base)
}

// SweepFolder does the same for all files of a folder.
func SweepFolder(dir string) error {
	return sweep(filepath.Clean(dir)+string(filepath.Separator), "")
}

// sweep removes what killed writers left of the file base in the folder dir, or
// of any file there if base is "". dir is "" or ends in a separator.
func sweep(dir, base string) error {
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if of, ok := temporary(e.Name()); ok && (base == "" || of == base) && e.Type().IsRegular() {
			errs = append(errs, RemoveUnheld(dir+e.Name()))
		}
	}
	return errors.Join(errs...)
}

// temporary returns the name of the file that a temporary file is for, and
// whether the name is one that Create gives to temporary files.
func temporary(name string) (base string, ok bool) {
	name, dot := strings.CutPrefix(name, ".")
	name, tmp := strings.CutSuffix(name, ".tmp")
	i := strings.LastIndexByte(name, '.')
	if !dot || !tmp || i < 1 || strings.Trim(name[i+1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return "", false
	}
	return name[:i], len(name[i+1:]) == len(rand.Text())
}

// maxLinks is how many symbolic links are followed, as in Linux.
const maxLinks = 40

// target returns the path of the file that path names, behind symbolic links if
// there are any. Unlike filepath.EvalSymlinks it follows a link to a file that is
// not there yet.
func target(path string) (string, error) {
	end := path
	for range maxLinks {
		to, err := os.Readlink(end)
		if err != nil {
			return end, nil // no link: a file, or nothing yet
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(end), to)
		}
		end = to
	}
	return "", fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
}
