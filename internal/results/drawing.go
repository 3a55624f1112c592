package results

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"proactivedp/internal/files"
	"proactivedp/internal/plots"
)

// Drawing says in which file formats and in which style a picture is drawn. The zero value means PNG in this
// program's own style.
type Drawing struct {
	Formats []string `json:"formats,omitempty"` // png, svg, pdf; each is written; if empty, png
	plots.Style
}

// Picture is a function that draws a picture to w in the given format and style.
type Picture func(w io.Writer, format string, s plots.Style) error

// Validate reports every field that is outside its range.
func (d Drawing) Validate() error {
	errs := []error{d.Style.Validate()}
	for i, format := range d.Formats {
		errs = append(errs, plots.CheckFormat(format))
		if slices.Contains(d.Formats[:i], format) {
			errs = append(errs, fmt.Errorf("format = %q is listed twice", format))
		}
	}
	return errors.Join(errs...)
}

func (d Drawing) formats() []string {
	if len(d.Formats) == 0 {
		return []string{"png"}
	}
	return d.Formats
}

func pictureName(format string) string { return "figure." + format }

// Files returns the names of a figure's files: the pictures, then the data and the manifest.
func (d Drawing) Files() []string {
	var names []string
	for _, format := range d.formats() {
		names = append(names, pictureName(format))
	}
	return append(names, TableFile, ManifestFile)
}

// Write writes the files of a figure to a folder: the pictures, the table and the manifest m. It writes all or none.
func (d Drawing) Write(dir string, picture Picture, table [][]string, m any) error {
	pictures := map[string]func(io.Writer) error{}
	for _, format := range d.formats() {
		pictures[pictureName(format)] = func(w io.Writer) error { return picture(w, format, d.Style) }
	}
	return WriteFiles(dir, pictures, table, m)
}

// Redraw replaces the pictures of a figure and, unless m is nil, its manifest. It replaces all or none.
func (d Drawing) Redraw(dir string, picture Picture, m any) error {
	var pictures []files.Output
	for _, format := range d.formats() {
		pictures = append(pictures, files.Output{Path: filepath.Join(dir, pictureName(format)),
			Write: func(w io.Writer) error { return picture(w, format, d.Style) }})
	}
	if m == nil {
		return files.WriteSet(pictures[1:], pictures[0])
	}
	return files.WriteSet(pictures, files.Output{Path: filepath.Join(dir, ManifestFile),
		Write: func(w io.Writer) error { return WriteManifest(w, m) }})
}
