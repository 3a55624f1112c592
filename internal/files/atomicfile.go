// Package files writes whole files: a reader sees either the old file or the new one, never a part.
// Output goes to a temporary file in the same folder, which is flushed to disk and then renamed to
// the target. If anything fails, the temporary file is removed and the target does not change. A
// temporary file is locked while it is written. So files left by killed processes can be recognized,
// and are removed the next time that the same file is written.
//
// The package also has locks that keep two processes from using the same files.
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

// Write replaces the file at path by the output of write. If write fails, Write returns its error and the file does
// not change. Output is buffered. The folder must exist. A new file has mode 0666 less the umask, as with os.Create.
// A replaced file keeps its mode. A device or a pipe, such as /dev/stdout, is written directly.
func Write(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		err = fill(f, path, write)
		return errors.Join(err, f.Close())
	}
	return whole(path, true, true, 0o666, write)
}

// WritePrivate does the same as Write for a regular file, but only the user can read the new file. This also holds if
// it replaces a file that others can read.
func WritePrivate(path string, write func(io.Writer) error) error {
	return whole(path, true, true, private, write)
}

// private is the mode of a file that only its user reads.
const private fs.FileMode = 0o600

// WriteSwept does the same as Write, but does not remove temporary files that killed processes left. Use it in a
// folder with many files that SweepFolder has already cleaned: each removal would read the names of all files.
// Without flush, the file is not flushed to disk. If the machine then fails within about half a minute, the file can
// be old, missing or damaged, so its reader must be able to tell.
func WriteSwept(path string, flush bool, write func(io.Writer) error) error {
	return whole(path, false, flush, 0o666, write)
}

// whole replaces the file at path by the output of write, as a whole or not at all. sweeps says
// whether it removes temporary files that killed processes left, and flush whether it flushes the file to disk.
func whole(path string, sweeps, flush bool, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := create(path, sweeps, mode)
	if err != nil {
		return err
	}
	f.flush = flush
	defer f.Discard()
	if err := fill(f, path, write); err != nil {
		return err
	}
	return f.Commit()
}

// Check returns an error if Write could not write the file at path, for example because the folder does
// not exist or is read-only. It does not create or change the file.
func Check(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // opening a pipe would wait for its reader
	}
	f, err := Create(path)
	if err != nil {
		return err
	}
	f.Discard()
	return nil
}

// fill calls write with a buffer for f, and flushes the buffer.
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

// File is a file that is being written and will replace the file at its path. Use it instead of Write if
// the new content must be read back before it replaces the old. Every File must end with Commit or
// Discard.
type File struct {
	temp  *os.File // nil once committed or discarded
	name  string
	path  string
	flush bool                   // whether Commit flushes the file and its folder
	sync  func(dir string) error // syncFolder
}

// maxTries is how often Create tries another name, because another process swept the temporary file
// away before it was locked.
const maxTries = 100

// Create begins to replace the file at path. Write the new content to the result, and call Commit. If the file
// exists, it must be a regular file. If path is a symbolic link, the link's target is replaced, whether it exists or
// not. The folder must exist. Create removes temporary files that killed processes left while they wrote the same
// file.
func Create(path string) (*File, error) { return create(path, true, 0o666) }

// create does the work of Create. sweeps says whether it removes temporary files that killed
// processes left. mode is that of a new file, or of any file if it is private.
func create(path string, sweeps bool, mode fs.FileMode) (*File, error) {
	path, err := target(path)
	if err != nil {
		return nil, err
	}
	old, err := os.Stat(path)
	switch {
	case err == nil && !old.Mode().IsRegular():
		return nil, fmt.Errorf("%s exists and is not a regular file", path)
	case err == nil && mode != private:
		mode = old.Mode().Perm()
	}
	dir, base := filepath.Split(path)
	if base == "" || base == "." || base == ".." {
		return nil, fmt.Errorf("path = %q, must name a file", path)
	}
	for range maxTries {
		// Not os.CreateTemp: the renamed file would keep its mode 0600.
		name := dir + "." + base + "." + rand.Text() + ".tmp"
		temp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err // leave out the name of the temporary file, which is of no use to the user
		}
		if err != nil {
			if named, ok := errors.AsType[*fs.PathError](err); ok {
				err = named.Err // leave out a name that the user did not choose
			}
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		// On systems without locks there are no sweeps either.
		if held, err := TryLock(temp); err == nil && (!held || !IsAt(temp, name)) {
			temp.Close()
			continue
		}
		f := &File{temp: temp, name: name, path: path, flush: true, sync: syncFolder}
		if old != nil { // the umask has removed bits of the old file's mode
			if err := temp.Chmod(mode); err != nil {
				f.Discard()
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		if sweeps {
			_ = sweep(dir, base) // files of another user may not be removable
		}
		return f, nil
	}
	return nil, fmt.Errorf("%s: every temporary file was swept away before it was locked", path)
}

// Name returns the path of the temporary file. It has all bytes that were written so far.
func (f *File) Name() string { return f.name }

// Write appends p, unbuffered. It fails with os.ErrClosed after Commit or
// Discard.
func (f *File) Write(p []byte) (int, error) {
	if f.temp == nil {
		return 0, os.ErrClosed
	}
	return f.temp.Write(p)
}

// Commit flushes the file to disk and renames it to the target. If that fails, the temporary file is
// removed and the target does not change. A second Commit, or one after Discard, returns
// os.ErrClosed.
func (f *File) Commit() error {
	if f.temp == nil {
		return fmt.Errorf("%s: %w", f.path, os.ErrClosed)
	}
	defer f.Discard()
	if f.flush {
		if err := f.temp.Sync(); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if err := f.place(); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.temp = nil
	if !f.flush {
		return nil
	}
	if err := f.sync(filepath.Dir(f.path)); err != nil {
		return fmt.Errorf("%s is written, but may be lost if the machine fails now: %w", f.path, err)
	}
	return nil
}

// place renames the temporary file and closes it. The lock must last until the file has its name, so
// the file is closed after the rename. On Windows it is closed before, because an open file cannot
// be renamed.
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

// syncFolder flushes a folder to disk, so that a renamed file keeps its name after a power failure.
// It does nothing on systems where folders cannot be flushed, and for folders that cannot be read.
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

// Sweep removes the temporary files that killed processes left while writing the file at path. It
// leaves files that are still being written.
func Sweep(path string) error {
	path, err := target(path)
	if err != nil {
		return err
	}
	dir, base := filepath.Split(path)
	return sweep(dir, base)
}

// SweepFolder does the same as Sweep, for all files in the folder dir.
func SweepFolder(dir string) error {
	return sweep(filepath.Clean(dir)+string(filepath.Separator), "")
}

// sweep removes temporary files that killed processes left for the file base in the folder dir, or
// for any file if base is "". dir is "" or ends in a separator.
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

// temporary returns the name of the file for which a temporary file is written. ok is false if
// Create does not make such names.
func temporary(name string) (base string, ok bool) {
	name, dot := strings.CutPrefix(name, ".")
	name, tmp := strings.CutSuffix(name, ".tmp")
	i := strings.LastIndexByte(name, '.')
	if !dot || !tmp || i < 1 || strings.Trim(name[i+1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return "", false
	}
	return name[:i], len(name[i+1:]) == len(rand.Text())
}

// maxLinks is the largest number of symbolic links that are followed, as in Linux.
const maxLinks = 40

// target returns the path of the file that path names, after following symbolic links. Unlike
// filepath.EvalSymlinks it follows a link to a file that does not exist yet.
func target(path string) (string, error) {
	end := path
	for range maxLinks {
		to, err := os.Readlink(end)
		if err != nil {
			return end, nil // not a link: a file, or nothing yet
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(end), to)
		}
		end = to
	}
	return "", fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
}
