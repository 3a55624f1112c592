package experiments

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"proactivedp/experiments/folder"
	"proactivedp/experiments/manifest"
	"proactivedp/internal/plots"
)

// Drawing says how pictures are drawn. The zero value is the program's own style, as PNG.
type Drawing struct {
	Formats []string `json:"formats,omitempty"` // png, svg, pdf: each is written; none: png
	// Bare leaves title, caption and table out, for papers that set their own.
	Bare  bool    `json:"bare,omitempty"`
	Width float64 `json:"width_inches,omitempty"`     // in [2, 40]; 0: 19 cm
	Font  string  `json:"font,omitempty"`             // sans, serif or mono; "": sans
	Size  float64 `json:"font_size_points,omitempty"` // of the axes' labels, in [4, 40]; 0: 10
	DPI   int     `json:"dpi,omitempty"`              // of PNG, in [20, 1200]; 0: 150
}

// style returns the drawing as package plots has it.
func (d Drawing) style() plots.Style {
	return plots.Style{Bare: d.Bare, Width: d.Width, Font: d.Font, Size: d.Size, DPI: d.DPI}
}

// Validate reports every field outside its range.
func (d Drawing) Validate() error {
	errs := []error{d.style().Validate()}
	for i, format := range d.Formats {
		errs = append(errs, plots.CheckFormat(format))
		if slices.Contains(d.Formats[:i], format) {
			errs = append(errs, fmt.Errorf("experiments: format = %q is listed twice", format))
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

// files returns the names of a figure's files, the first picture first.
func (d Drawing) files() []string {
	var names []string
	for _, format := range d.formats() {
		names = append(names, pictureName(format))
	}
	return append(names, manifest.TableFile, manifest.File)
}

// write writes a figure to a folder: pictures, table and manifest, all or nothing.
func (d Drawing) write(dir string, picture plots.Picture, table [][]string, m any) error {
	pictures := map[string]func(io.Writer) error{}
	for _, format := range d.formats() {
		pictures[pictureName(format)] = func(w io.Writer) error { return picture.Write(w, format, d.style()) }
	}
	return folder.WriteFiles(dir, pictures, table, m)
}
