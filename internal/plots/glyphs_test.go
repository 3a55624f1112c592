package plots

import (
	"testing"

	"gonum.org/v1/plot"
)

// Letters that no bundled typeface has are marked, and all others are drawn as they are.
func TestMissingGlyphsAreMarked(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"phishing, ε ≤ 1\nη₀ = 0.1", "phishing, ε ≤ 1\nη₀ = 0.1"},
		{"данные.csv", "данные.csv"},
		{"Größe naïve ŁÓDŹ", "Größe naïve ŁÓDŹ"},
		{"数据.csv", "□□.csv"},
		{"データ 7", "□□□ 7"},
		{"🙂 x", "□ x"},
	} {
		for _, name := range Fonts {
			style := Style{Font: name}.text(10, nil)
			m := marking{plot.DefaultTextHandler}
			if got := m.marked(c.text, style.Font); got != c.want {
				t.Errorf("%s: %q is drawn as %q, want %q", name, c.text, got, c.want)
			}
		}
	}
}
