package plots

import (
	"strings"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// marking draws text. It draws a mark for each character that the typeface does not have, such as the
// letters of Chinese names. Otherwise some formats would leave them out.
type marking struct{ text.Handler }

// missing is the mark: the first of these that the typeface has.
const missing = "□?"

// Box returns the size of the text as it is drawn.
func (m marking) Box(txt string, f font.Font) (width, height, depth vg.Length) {
	return m.Handler.Box(m.marked(txt, f), f)
}

func (m marking) Draw(c vg.Canvas, txt string, style text.Style, at vg.Point) {
	m.Handler.Draw(c, m.marked(txt, style.Font), style, at)
}

func (m marking) marked(txt string, f font.Font) string {
	face := m.Cache().Lookup(f, f.Size).Face
	var buffer sfnt.Buffer
	has := func(c rune) bool {
		glyph, err := face.GlyphIndex(&buffer, c)
		return err == nil && glyph != 0
	}
	return strings.Map(func(c rune) rune {
		if c == '\n' || has(c) {
			return c
		}
		for _, mark := range missing {
			if has(mark) {
				return mark
			}
		}
		return c
	}, txt)
}
