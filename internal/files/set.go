package files

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
)

// Output is a file for WriteSet: its path, and the function that writes its content.
type Output struct {
	Path  string
	Write func(io.Writer) error
}

// Text returns a function, for Output.Write, that writes the text.
func Text[T string | []byte](text T) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write([]byte(text))
		return err
	}
}

// JSON returns a function, for Output.Write, that writes v as indented JSON. Characters of HTML, such as <, are not
// escaped.
func JSON(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	}
}

// WriteSet writes files that belong together, and the seal: a file that describes them, such as a manifest. It first
// writes all of them to temporary files, so an error or a full disk changes nothing. Then it removes the old seal,
// renames the files, and renames the new seal last. So if there is a seal, it describes the files next to it.
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
