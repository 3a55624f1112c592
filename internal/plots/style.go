package plots

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Style has the size and the typeface of a picture, and similar settings. The zero value is the
// style of the program's own pictures.
type Style struct {
	Bare  bool    `json:"bare,omitempty"`             // without title, caption and table, which a paper typesets itself; a warning stays
	Width float64 `json:"width_inches,omitempty"`     // in [MinWidth, MaxWidth]; 0 means UsualWidth
	Font  string  `json:"font,omitempty"`             // one of Fonts; "" means the first
	Size  float64 `json:"font_size_points,omitempty"` // of the axis labels, in [MinSize, MaxSize]; 0 means 10
	DPI   int     `json:"dpi,omitempty"`              // dots per inch of PNG, in [MinDPI, MaxDPI]; 0 means 150
}

// These are the default and the limits of the numbers in a Style.
const (
	UsualWidth         = 19 / 2.54
	MinWidth, MaxWidth = 2, 40
	MinSize, MaxSize   = 4, 40
	MinDPI, MaxDPI     = 20, 1200
)

// Fonts are the typefaces of pictures, and Formats their file formats.
var (
	Fonts   = []string{"sans", "serif", "mono"}
	Formats = []string{"png", "svg", "pdf"}
)

const (
	usualSize = 10
	usualDPI  = 150
)

// CheckFormat returns an error if format is not one of Formats.
func CheckFormat(format string) error {
	if !slices.Contains(Formats, format) {
		return fmt.Errorf("format = %q, must be one of %s", format, strings.Join(Formats, ", "))
	}
	return nil
}

// Validate reports every field outside its range.
func (s Style) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Width != 0 && !(s.Width >= MinWidth && s.Width <= MaxWidth) {
		fail("width = %v inches, must be in [%d, %d]", s.Width, MinWidth, MaxWidth)
	}
	if s.Font != "" && !slices.Contains(Fonts, s.Font) {
		fail("font = %q, must be one of %s", s.Font, strings.Join(Fonts, ", "))
	}
	if s.Size != 0 && !(s.Size >= MinSize && s.Size <= MaxSize) {
		fail("font size = %v points, must be in [%d, %d]", s.Size, MinSize, MaxSize)
	}
	if s.DPI != 0 && (s.DPI < MinDPI || s.DPI > MaxDPI) {
		fail("dpi = %d, must be in [%d, %d]", s.DPI, MinDPI, MaxDPI)
	}
	return errors.Join(errs...)
}

func (s Style) width() vg.Length {
	if s.Width == 0 {
		return UsualWidth * vg.Inch
	}
	return vg.Length(s.Width) * vg.Inch
}

// narrow reports whether the legend is below the plot instead of to its right.
func (s Style) narrow() bool { return s.width() < 5*vg.Inch }

// name returns the line's name of for the legend, on one line if there is room.
func (s Style) name(of string) string {
	if s.narrow() {
		return strings.ReplaceAll(of, "\n", " ")
	}
	return of
}

// stroke returns the factor by which strokes are thinner than in the default style.
func (s Style) stroke() vg.Length {
	return vg.Length(math.Sqrt(min(1, float64(s.width()/(UsualWidth*vg.Inch)))))
}

// points returns the font size that corresponds, at the style's Size, to the size usual if axis
// labels have 10 points.
func (s Style) points(usual vg.Length) vg.Length {
	return usual * vg.Length(cmp.Or(s.Size, usualSize)/usualSize)
}

// of returns the length that corresponds, at the style's width, to the length usual at the default
// width.
func (s Style) of(usual vg.Length) vg.Length { return usual * (s.width() / (UsualWidth * vg.Inch)) }

// text returns a style of text in the picture's typeface, with a default size and a colour.
func (s Style) text(usual vg.Length, c color.Color) text.Style {
	variant := cmp.Or(map[string]font.Variant{"serif": "Serif", "mono": "Mono"}[s.Font], "Sans")
	return text.Style{
		Color: c, Handler: marking{plot.DefaultTextHandler},
		Font: font.Font{Typeface: "Liberation", Variant: variant, Size: s.points(usual)},
	}
}

// styled returns the given style of text in the picture's typeface and a default size.
func (s Style) styled(t text.Style, usual vg.Length) text.Style {
	of := s.text(usual, t.Color)
	t.Font, t.Handler = of.Font, of.Handler
	return t
}

// pdfDates matches the times in a PDF at which it was made. They would make PDFs of equal pictures
// differ.
var pdfDates = regexp.MustCompile(`\(D:\d{14}[^)]*\)`)

// undatedPDF is a PDF with a fixed date in place of these times.
type undatedPDF struct{ *vgpdf.Canvas }

func (c undatedPDF) WriteTo(w io.Writer) (int64, error) {
	var made bytes.Buffer
	if _, err := c.Canvas.WriteTo(&made); err != nil {
		return 0, err
	}
	text := pdfDates.ReplaceAllFunc(made.Bytes(), func(date []byte) []byte {
		return append([]byte("(D:20000101000000"), date[len("(D:20000101000000"):]...)
	})
	return io.Copy(w, bytes.NewReader(text))
}

// Write draws the picture to w in the style s. format is one of Formats. Equal pictures have equal bytes. A PDF
// embeds its typeface; an SVG only names it.
func (p Picture) Write(w io.Writer, format string, s Style) error {
	if err := errors.Join(CheckFormat(format), s.Validate()); err != nil {
		return err
	}
	l, err := p.layout(s)
	if err != nil {
		return err
	}
	width, height := s.width(), l.height()
	var c interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case "svg":
		c = vgsvg.New(width, height)
	case "pdf":
		c = undatedPDF{vgpdf.New(width, height)}
	default:
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(cmp.Or(s.DPI, usualDPI)),
			vgimg.UseBackgroundColor(color.White))}
	}
	l.draw(draw.New(c))
	if _, err := c.WriteTo(w); err != nil {
		return fmt.Errorf("write %s: %w", format, err)
	}
	return nil
}

// WritePNG draws the picture in the default style.
func (p Picture) WritePNG(w io.Writer) error { return p.Write(w, "png", Style{}) }

// ParseInches reads a length such as 3.25in, 8.5cm or 240pt and returns it in inches.
func ParseInches(text string) (float64, error) {
	l, err := vg.ParseLength(text)
	if err != nil || math.IsNaN(float64(l)) || !strings.ContainsAny(text, "ncm") {
		return 0, fmt.Errorf("width = %q, must be a length such as 3.25in, 8.5cm or 85mm", text)
	}
	return l.Points() / vg.Inch.Points(), nil
}
