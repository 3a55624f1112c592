package plots

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// sevenLines is a picture with a line for each colour, and one more below.
func sevenLines() Picture {
	p := Picture{Title: "Seven", XLabel: "rounds", YLabel: "accuracy", YMax: 1, Banner: "SCALE 0.5",
		Caption: "a caption", Rows: [][]string{{"a row"}}, Below: []Picture{{YLabel: "closer", YMax: 1, OwnX: true}}}
	for i := range 7 {
		p.Lines = append(p.Lines, rising(string(rune('a'+i))+"\nof two lines", 0.1*float64(i+1)))
	}
	p.Below[0].Lines = []Line{{X: []float64{20, 30}, Y: []float64{0, 1}, Lo: []float64{0, 1}, Hi: []float64{0, 1}}}
	return p
}

// Every format is well-formed, the same each time, and as wide as it was asked for; a bare
// one has no title, and every one has the warning.
func TestFormats(t *testing.T) {
	for _, s := range []Style{{}, {Bare: true, Width: 3.25, Font: "serif", Size: 8, DPI: 300}} {
		for _, format := range Formats {
			var first, second bytes.Buffer
			if err := errors.Join(sevenLines().Write(&first, format, s), sevenLines().Write(&second, format,
				s)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("%s: two of one picture differ", format)
			}
			text := first.String()
			switch format {
			case "png":
				c, err := png.DecodeConfig(&first)
				want := int(math.Round(UsualWidth * usualDPI))
				if s.DPI != 0 {
					want = int(3.25 * 300)
				}
				if err != nil || c.Width < want-1 || c.Width > want+1 {
					t.Errorf("%d pixels wide, must be %d; error %v", c.Width, want, err)
				}
			case "svg":
				d := xml.NewDecoder(&first)
				var err error
				for err == nil {
					_, err = d.Token()
				}
				if !errors.Is(err, io.EOF) || strings.Contains(text, "Seven") == s.Bare ||
					!strings.Contains(text, "SCALE 0.5") {
					t.Errorf("bare = %v: error %v, title %v", s.Bare, err, strings.Contains(text, "Seven"))
				}
			case "pdf":
				if !strings.HasPrefix(text, "%PDF-") || !strings.Contains(text, "%%EOF") ||
					!strings.Contains(text, "/FontFile2") {
					t.Errorf("no PDF with its typeface: %.20q", text)
				}
			}
		}
	}
	var out bytes.Buffer
	if err := sevenLines().Write(&out, "gif", Style{}); err == nil || out.Len() > 0 {
		t.Errorf("gif is written: %v", err)
	}
}

// Lines are told apart in grey: no two of seven have the dashes, or the mark, of another.
func TestLinesAreToldApartInGrey(t *testing.T) {
	for i := range Palette {
		for j := range i {
			if slices.Equal(dashes[i], dashes[j]) || glyphs[i] == glyphs[j] {
				t.Errorf("lines %d and %d look alike", j, i)
			}
		}
	}
	// Marks of lines that coincide stand at other places.
	line := rising("", 0)
	for x := 11; x < 300; x++ {
		line.Add(float64(x), 0, 0, 0)
	}
	seen := map[float64]int{}
	for i := range Palette {
		d, err := line.draw(i, 1)
		if err != nil || len(d.curve) != 2 {
			t.Fatalf("%d pieces, error %v", len(d.curve), err)
		}
		_, curve, err := line.plotters(Palette[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range line.marked(curve.XYs, i) {
			if j, taken := seen[at.X]; taken {
				t.Errorf("lines %d and %d both have a mark at %v", j, i, at.X)
			}
			seen[at.X] = i
		}
	}
}

func TestStylesAreChecked(t *testing.T) {
	err := Style{Width: 1, Font: "comic", Size: math.NaN(), DPI: 5}.Validate()
	for _, want := range []string{"width = 1 inches, must be in [2, 40]", `font = "comic"`, "font size = NaN",
		"dpi = 5"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	for text, want := range map[string]float64{"3.25in": 3.25, "8.5cm": 8.5 / 2.54, "85mm": 8.5 / 2.54} {
		if got, err := ParseInches(text); err != nil || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v inches, error %v, want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "3.25", "in", "wide", "NaNin"} {
		if got, err := ParseInches(bad); err == nil {
			t.Errorf("%q: %v inches", bad, got)
		}
	}
}
