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

// What a folder has that somebody else made: an archive that was unpacked, a shared disk. A link in
// it can lead to a file that only the user may read, a named pipe never ends to be opened, and a
// device has no end. So the files of a folder are read by Within, which follows no link. A file that
// the user names is the user's choice: [File] reads it, be it behind a link or a pipe.

// ErrNotPlain reports that what is read is a link, a pipe, a device or a folder.
var ErrNotPlain = errors.New("this is no regular file, must be one")

// Within returns the content of a file in the folder dir, by its name within it, which may have most
// bytes. The file and the folders between must be no symbolic links, and the file must be a regular
// one. It waits for nobody. Errors name the path.
func Within(dir, name string, most int64) ([]byte, error) {
	f, err := within(dir, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), bare(err))
	}
	defer f.Close()
	text, err := io.ReadAll(Reader(f, most))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), bare(err))
	}
	return text, nil
}

// within opens a file of a folder.
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
			return nil, fmt.Errorf("%q is a symbolic link, which is not followed here: %w", at, ErrNotPlain)
		}
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotPlain
	}
	f, err := root.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	// Between the look and the opening another file may have come into its place.
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(errors.New("was replaced while it was opened"), err, f.Close())
	}
	return f, nil
}

// Regular opens the file at path for reading, behind symbolic links as well, and refuses what is no
// regular file. It waits for nobody, where os.Open of a named pipe waits for its writer.
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

// bare is an error without the path that it names.
func bare(err error) error {
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		return named.Err
	}
	return err
}
