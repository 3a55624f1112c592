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

// Drawing says what a picture is written as, and how it is drawn. The zero value is the
// program's own style, as PNG.
type Drawing struct {
	Formats []string `json:"formats,omitempty"` // png, svg, pdf: each is written; none: png
	Style
}

// Style is how a picture is drawn. The zero value is the program's own.
type Style struct {
	// Bare leaves title, caption and table out, for papers that set their own.
	Bare  bool    `json:"bare,omitempty"`
	Width float64 `json:"width_inches,omitempty"`     // in [2, 40]; 0: 19 cm
	Font  string  `json:"font,omitempty"`             // sans, serif or mono; "": sans
	Size  float64 `json:"font_size_points,omitempty"` // of the axes' labels, in [4, 40]; 0: 10
	DPI   int     `json:"dpi,omitempty"`              // of PNG, in [20, 1200]; 0: 150
}

// Picture draws itself to w, in one of the formats of a [Drawing] and in its style.
type Picture func(w io.Writer, format string, s Style) error

// Validate reports every field outside its range.
func (d Drawing) Validate() error {
	errs := []error{plots.Style(d.Style).Validate()}
	for i, format := range d.Formats {
		errs = append(errs, plots.CheckFormat(format))
		if slices.Contains(d.Formats[:i], format) {
			errs = append(errs, fmt.Errorf("format = %q is listed twice", format))
		}
	}
	return errors.Join(errs...)
}

// formats returns what a picture is written as.
func (d Drawing) formats() []string {
	if len(d.Formats) == 0 {
		return []string{"png"}
	}
	return d.Formats
}

// pictureName is the file of a picture in a format.
func pictureName(format string) string { return "figure." + format }

// Files returns the names of a figure's files, the first picture first.
func (d Drawing) Files() []string {
	var names []string
	for _, format := range d.formats() {
		names = append(names, pictureName(format))
	}
	return append(names, TableFile, ManifestFile)
}

// Write writes a figure to a folder: pictures, table and manifest, all or nothing.
func (d Drawing) Write(dir string, picture Picture, table [][]string, m any) error {
	pictures := map[string]func(io.Writer) error{}
	for _, format := range d.formats() {
		pictures[pictureName(format)] = func(w io.Writer) error { return picture(w, format, d.Style) }
	}
	return WriteFiles(dir, pictures, table, m)
}

// Redraw writes a figure's pictures to its folder anew, and the manifest, unless that is nil:
// all or nothing.
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
