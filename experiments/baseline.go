package experiments

import (
	"image/color"
	"slices"

	"proactivedp/internal/plots"
	"proactivedp/train"
)

// nearChance is the largest distance from the majority-class baseline at which a line counts as near
// it.
const nearChance = 0.1

var chanceColour = color.RGBA{150, 150, 150, 255}

// addChance draws the majority-class baseline if a line ends near or below it.
func addChance(p *plots.Picture, f *figureConfig, spec train.Spec) error {
	ready, err := f.source.Prepare(spec)
	if err != nil {
		return err
	}
	share := ready.Baseline(ready.Test)
	if !slices.ContainsFunc(p.Lines, func(l plots.Line) bool { return l.Y[len(l.Y)-1] < share+nearChance }) {
		return nil
	}
	chance := plots.Line{Name: "guessing the\nmajority class", Emphasise: true, Colour: chanceColour}
	x := p.Lines[0].X
	chance.AddLevel(x[0], x[len(x)-1], share)
	p.Lines = append(p.Lines, chance)
	return nil
}
