package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Output is a file and what writes it.
type Output struct {
	Path  string
	Write func(io.Writer) error
}

// WriteSet writes files that belong together and the seal, a file that speaks of
// them, such as a manifest. All are written to temporary files before the first
// takes its place, so a failure of a writer or a full disk changes nothing. The
// old seal is removed before and the new one comes last: where there is a seal,
// the files beside it are those that it speaks of.
func WriteSet(files []Output, seal Output) error {
	var made []*File
	defer func() {
		for _, f := range made {
			f.Discard()
		}
	}()
	for _, out := range append(files[:len(files):len(files)], seal) {
		f, err := Create(out.Path)
		if err != nil {
			return err
		}
		made = append(made, f)
		if err := fill(f, out.Path, out.Write); err != nil {
			return err
		}
	}
	last := made[len(made)-1]
	if err := os.Remove(last.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range made {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}
