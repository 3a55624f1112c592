package plots

import (
	"cmp"
	"slices"
)

// Lines are hard to distinguish if their ends are close together: all of them within closeUp, or
// each within neighbours of the next, as a part of the y axis.
const (
	closeUp    = 0.2
	neighbours = 0.02
)

// fewLines is the least number of lines for which a close-up is worth its space.
const fewLines = 3

// AddCloseUp adds a second plot below p that enlarges the second half of the x axis: its y axis fits the
// lines there. It adds the plot only if at least three lines end close to each other, compared with p's y
// axis. The enlarged plot leaves out bands, and lines that end far from the largest group of lines; both
// are in the plot above.
func (p *Picture) AddCloseUp() {
	crowd := p.crowd()
	below := Picture{YLabel: p.YLabel + ", close-up", YMin: p.YMax, YMax: p.YMin, OwnX: true}
	for _, i := range crowd {
		l := p.Lines[i]
		for _, y := range l.Y[len(l.Y)/2:] {
			below.YMin, below.YMax = min(below.YMin, y), max(below.YMax, y)
		}
	}
	if len(crowd) < fewLines || below.YMax <= below.YMin {
		return
	}
	room := 0.1 * (below.YMax - below.YMin)
	below.YMin, below.YMax = max(below.YMin-room, p.YMin), min(below.YMax+room, p.YMax)
	for n, l := range p.Lines {
		part := Line{Emphasise: l.Emphasise, Points: l.Points, Colour: l.Colour, Like: l.Like} // or by the number
		for i := len(l.X) / 2; i < len(l.X) && slices.Contains(crowd, n); i++ {
			part.Add(l.X[i], l.Y[i], l.Y[i], l.Y[i]) // without bands, which would hide the lines
		}
		below.Lines = append(below.Lines, part)
	}
	p.Below = append(p.Below, below)
}

// crowd returns the indexes of the lines that are hard to distinguish at their ends: the largest
// group of neighbours, or all lines if they end within a small part of the y axis.
func (p *Picture) crowd() []int {
	end := func(i int) float64 { return p.Lines[i].Y[len(p.Lines[i].Y)-1] }
	var byEnd []int
	for i, l := range p.Lines {
		if len(l.Y) > 0 {
			byEnd = append(byEnd, i)
		}
	}
	if len(byEnd) < fewLines {
		return nil
	}
	slices.SortStableFunc(byEnd, func(a, b int) int { return cmp.Compare(end(a), end(b)) })
	height := p.YMax - p.YMin
	var largest []int
	for from, to := 0, 1; to <= len(byEnd); to++ {
		if to == len(byEnd) || end(byEnd[to])-end(byEnd[to-1]) > neighbours*height {
			if to-from > len(largest) {
				largest = byEnd[from:to]
			}
			from = to
		}
	}
	if len(largest) >= fewLines {
		return largest
	}
	if end(byEnd[len(byEnd)-1])-end(byEnd[0]) < closeUp*height {
		return byEnd
	}
	return nil
}
