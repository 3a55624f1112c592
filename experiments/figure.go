package experiments

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"proactivedp/data"
)

// Figure is an entry of the registry: something that one command makes.
type Figure struct {
	Name  string // of its folder and on the command line
	Data  string // the data set it needs
	Title string // what it shows, in a line

	cells  func(f *frame) []cell
	finish func(f *frame, results []json.RawMessage) (*outcome, error)
}

// outcome is a figure's content, ready to be written.
type outcome struct {
	picture picture
	table   [][]string // long form, the header first
	config  any        // for the manifest
}

// frame is what a figure is made within: its data and how much of the full size
// is run.
type frame struct {
	data  *data.Dataset
	hash  string // of the data's content
	seeds int
	quick bool
}

// quickFraction is the part of K that a quick figure runs.
const quickFraction = 20

// gradComps returns K, or the part of it that a quick figure runs.
func (f *frame) gradComps(full int) int {
	if f.quick {
		return full / quickFraction
	}
	return full
}

// banner says what sets the figure apart from the real thing.
func (f *frame) banner() string {
	var parts []string
	if f.data.Synthetic {
		parts = append(parts, fmt.Sprintf("SYNTHETIC STAND-IN DATA (%s), not %s", f.data.Name, strings.TrimPrefix(f.data.Name, "synth-")))
	}
	if f.quick {
		parts = append(parts, fmt.Sprintf("QUICK: 1/%d of the paper's K", quickFraction))
	}
	return strings.Join(parts, "; ")
}

// Figures returns the registry, in the order of the index.
func Figures() []Figure {
	var all []Figure
	for _, dataset := range []string{"phishing", "mushrooms"} {
		for _, model := range modelNames {
			all = append(all,
				utilityFigure(model, dataset),
				sampleSizeFigure(model, dataset),
				epsilonFigure(model, dataset))
		}
	}
	return all
}

// Select returns the figures that match any of the patterns (names, or globs
// such as "phishing-*"), in the order of the registry; all if there are none.
func Select(patterns []string) ([]Figure, error) {
	all := Figures()
	if len(patterns) == 0 {
		return all, nil
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

// modelTitle is how plots call a model.
func modelTitle(model string) string {
	if model == Ridge {
		return "ridge logistic regression"
	}
	return "plain logistic regression"
}
