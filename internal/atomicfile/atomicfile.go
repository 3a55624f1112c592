// Package atomicfile writes whole files: a reader sees the old file or the new
// one, never a part. The bytes go to a temporary file in the same folder, which
// is flushed to disk and then renamed over the target; on any failure it is
// removed and the target is left as it was.
package atomicfile

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Write replaces the file at path by what write produces, or leaves it alone
// and returns the error. Output is buffered. The folder must exist. A new file
// has mode 0666 less the umask, as one made by os.Create. A device or a pipe,
// such as /dev/stdout, is written to: there is nothing to keep whole.
func Write(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("atomicfile: %w", err)
		}
		err = fill(f, path, write)
		return errors.Join(err, f.Close())
	}
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := fill(f, path, write); err != nil {
		return err
	}
	return f.Commit()
}

// fill writes to f through a buffer.
func fill(f io.Writer, path string, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return fmt.Errorf("atomicfile: %s: %w", path, err)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("atomicfile: %s: %w", path, err)
	}
	return nil
}

// File is a file being written, for callers who must look at the whole of it
// before it takes its place. Every File must end in Commit or Discard.
type File struct {
	temp *os.File // nil once committed or discarded
	name string
	path string
}

// Create starts a replacement of the file at path, which must be a regular one
// if it exists; behind a symbolic link it is the link's target. The folder must
// exist.
func Create(path string) (*File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("atomicfile: %s is there and no regular file", path)
	}
	path = target(path)
	dir, base := filepath.Split(path)
	if base == "" || base == "." || base == ".." {
		return nil, fmt.Errorf("atomicfile: path = %q, must name a file", path)
	}
	// Not os.CreateTemp: its mode 0600 would stay with the renamed file.
	name := dir + "." + base + "." + rand.Text() + ".tmp"
	temp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, fmt.Errorf("atomicfile: %s: %w", path, err)
	}
	return &File{temp: temp, name: name, path: path}, nil
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
		return fmt.Errorf("atomicfile: %s: %w", f.path, os.ErrClosed)
	}
	defer f.Discard()
	if err := f.temp.Sync(); err != nil {
		return fmt.Errorf("atomicfile: %s: %w", f.path, err)
	}
	if err := f.temp.Close(); err != nil {
		return fmt.Errorf("atomicfile: %s: %w", f.path, err)
	}
	if err := os.Rename(f.name, f.path); err != nil {
		return fmt.Errorf("atomicfile: %s: %w", f.path, err)
	}
	f.temp = nil
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
// they were killed. No other may be writing it.
func Sweep(path string) error {
	path = target(path)
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return fmt.Errorf("atomicfile: %w", err)
	}
	var errs []error
	for _, e := range entries {
		random, ours := strings.CutPrefix(e.Name(), "."+base+".")
		random, temporary := strings.CutSuffix(random, ".tmp")
		if ours && temporary && len(random) == len(rand.Text()) && !strings.Contains(random, ".") && e.Type().IsRegular() {
			errs = append(errs, os.Remove(dir+e.Name()))
		}
	}
	return errors.Join(errs...)
}

// target is what path names, behind symbolic links if there are.
func target(path string) string {
	if end, err := filepath.EvalSymlinks(path); err == nil {
		return end
	}
	return path
}
