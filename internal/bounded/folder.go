package bounded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Another person may have made a folder: it may come from an archive or a shared disk. A link in it
// can lead to a file that only the user may read, opening a named pipe can block forever, and a
// device has no end. So Within reads the files of a folder without following links. A file that the
// user names is the user's choice, so [File] also reads it through a link or from a pipe.

// ErrNotPlain is the error, usually wrapped, for a link, a pipe, a device or a folder where a regular file is needed.
var ErrNotPlain = errors.New("this must be a regular file")

// Within returns the content of the file name in the folder dir, at most most bytes. The file must be a regular file,
// and neither it nor the folders between may be a symbolic link. Within never blocks. Errors name the path.
func Within(dir, name string, most int64) ([]byte, error) {
	f, err := within(dir, name)
	var text []byte
	if err == nil {
		defer f.Close()
		text, err = io.ReadAll(Reader(f, most))
	}
	if err != nil {
		if named, ok := errors.AsType[*fs.PathError](err); ok {
			err = named.Err
		}
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return text, nil
}

// within opens the file for Within, without following symbolic links.
func within(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name = filepath.Clean(name)
	at := ""
	var info fs.FileInfo
	for part := range strings.SplitSeq(name, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		if info, err = root.Lstat(at); err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%q is a symbolic link, which this program does not follow here: %w", at, ErrNotPlain)
		}
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotPlain
	}
	f, err := root.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	// The file may have been replaced between Lstat and the opening.
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(errors.New("the file was replaced while it was opened"), err, f.Close())
	}
	return f, nil
}

// Regular opens the file at path for reading. It follows symbolic links, and returns an error for anything but a
// regular file. It never blocks, whereas os.Open of a named pipe waits for a writer.
func Regular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrNotPlain)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
