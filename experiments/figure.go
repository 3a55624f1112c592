package experiments

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"proactivedp/data"
	"proactivedp/internal/plots"
)

// Figure is an entry of the registry: something that one command makes.
type Figure struct {
	Name  string // of its folder and on the command line
	Data  string // the data set it needs
	Title string // what it shows, in a line
	Long  bool   // takes long at full size: made only if it is named

	cells  func(f *frame) []cell
	finish func(f *frame, results []json.RawMessage) (*outcome, error)
}

// outcome is a figure's content, ready to be written.
type outcome struct {
	picture plots.Picture
	table   [][]string // long form, the header first
	config  any        // for the manifest
}

// frame is what a figure is made within: its data and how much of the full size
// is run.
type frame struct {
	data  *data.Dataset
	hash  string // of the data's content
	seeds int
	scale float64 // of K, in (0, 1]
}

// gradComps returns the part of K that the figure runs.
func (f *frame) gradComps(full int) int { return scaled(full, f.scale) }

// scaled returns a part of n, rounded.
func scaled(n int, scale float64) int { return int(math.Round(float64(n) * scale)) }

// leastDraws is how many draws of noise a scaled figure makes at least.
const leastDraws = 5

// draws returns the part of the draws of noise that the figure makes.
func (f *frame) draws(full int) int {
	return max(min(full, leastDraws), scaled(full, f.scale))
}

// note is what a caption must say of the data, as the end of a sentence.
func (f *frame) note() string {
	if f.data.Note == "" {
		return ""
	}
	return "; " + f.data.Note
}

// banner says what sets the figure apart from the real thing.
func (f *frame) banner() string {
	var parts []string
	if f.data.Synthetic {
		parts = append(parts, fmt.Sprintf("SYNTHETIC STAND-IN DATA (%s), not %s", f.data.Name, realName(f.data.Name)))
	}
	if f.scale < 1 {
		parts = append(parts, fmt.Sprintf("SCALE %g: that part of the paper's K", f.scale))
	}
	return strings.Join(parts, "; ")
}

// Figures returns the registry, in the order of the index.
func Figures() []Figure {
	var all []Figure
	for _, s := range settings() {
		all = append(all, s.utilityFigure(), s.sampleSizeFigure(), s.epsilonFigure())
	}
	for _, l := range laboratories() {
		all = append(all, l.delayFigures()...)
	}
	return all
}

// Select returns the figures that match any of the patterns (names, or globs
// such as "phishing-*"), in the order of the registry; all that do not take long
// if there are none.
func Select(patterns []string) ([]Figure, error) {
	all := Figures()
	if len(patterns) == 0 {
		return slices.DeleteFunc(all, func(f Figure) bool { return f.Long }), nil
	}
	var chosen []Figure
	used := make([]bool, len(patterns))
	for _, f := range all {
		take := false
		for i, p := range patterns {
			match, err := path.Match(p, f.Name)
			if err != nil {
				return nil, fmt.Errorf("experiments: figure = %q: %w", p, err)
			}
			if match {
				take, used[i] = true, true
			}
		}
		if take {
			chosen = append(chosen, f)
		}
	}
	for i, p := range patterns {
		if !used[i] {
			names := make([]string, len(all))
			for j, f := range all {
				names[j] = f.Name
			}
			return nil, fmt.Errorf("experiments: figure = %q matches none of: %s", p, strings.Join(names, ", "))
		}
	}
	return chosen, nil
}
