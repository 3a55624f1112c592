package experiments

import (
	"errors"
	"fmt"
	"slices"

	"proactivedp/internal/results"
)

// Kept names series (lines) of a figure that were not computed by the last call of [Make], but kept from an earlier
// one, see [MakeOptions].Add. Version is the version of the program that computed them, and Made the date.
type Kept struct {
	Series  []string `json:"series"` // names of the lines
	Version string   `json:"version"`
	Made    string   `json:"made"`
}

// keptFigure is what MakeOptions.Add keeps of a figure.
type keptFigure struct {
	all  []priced // with accuracies
	from []Kept   // every series of the folder
	used []string // series that the figure still has
}

// keep returns what the folder of a figure has of its series, or nil if there is no such folder. It returns an
// error if the figure has no series that can be kept, or if other data, seeds or settings made them.
func (f *figureConfig) keep(fig Figure, o MakeOptions) (*keptFigure, error) {
	if !fig.series {
		return nil, errors.New("add = true, must be for one of the figures *-equal-epsilon, *-budget and *-sample-size-equal")
	}
	if len(Made([]Figure{fig}, o.Out)) == 0 {
		return nil, nil
	}
	k, err := readStored(o.Out, fig.Name)
	if err != nil {
		return nil, err
	}
	if f.source.Hash() != k.Data.SHA256 || k.Seeds != f.seeds || k.Scale != f.scale || k.Runner != f.runner {
		return nil, fmt.Errorf("its %s has other data, seeds, scale or runner, so its series cannot be kept", results.ManifestFile)
	}
	if fig.Sizes && !slices.Equal(k.Sizes, f.sizes) || fig.Equal && k.Epsilon != f.epsilon {
		return nil, fmt.Errorf("its %s has other sample sizes or another target epsilon, so its series cannot be kept", results.ManifestFile)
	}
	all, err := storedPriced(k)
	if err != nil {
		return nil, err
	}
	kept := &keptFigure{all: all, from: k.Kept}
	own := Kept{Version: k.Version, Made: k.Made}
	for i, p := range all {
		before := func(o Kept) bool { return slices.Contains(o.Series, p.Series) }
		if (i == 0 || all[i-1].Series != p.Series) && !slices.ContainsFunc(k.Kept, before) {
			own.Series = append(own.Series, p.Series)
		}
	}
	kept.from = append(kept.from, own)
	return kept, nil
}

// series returns the trainings of a series, or nil if they are not kept.
func (k *keptFigure) series(name string) []priced {
	if k == nil {
		return nil
	}
	all := slices.DeleteFunc(slices.Clone(k.all), func(p priced) bool { return p.Series != name })
	if len(all) > 0 && !slices.Contains(k.used, name) {
		k.used = append(k.used, name)
	}
	return all
}

// origin says which series the figure has kept, and what made them.
func (k *keptFigure) origin() []Kept {
	if k == nil {
		return nil
	}
	var all []Kept
	for _, o := range k.from {
		o.Series = slices.DeleteFunc(slices.Clone(o.Series), func(s string) bool { return !slices.Contains(k.used, s) })
		if len(o.Series) > 0 {
			all = append(all, o)
		}
	}
	return all
}
