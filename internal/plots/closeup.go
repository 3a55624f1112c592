package plots

// closeUp is the part of an axis of y within which lines that end there cannot be told
// apart.
const closeUp = 0.2

// AddCloseUp adds a plot of the second half of the axis of x, whose axis of y is that of the
// lines there, if three lines or more end within a small part of the picture's.
func (p *Picture) AddCloseUp() {
	lo, hi := p.YMax, p.YMin // of the ends
	below := Picture{YLabel: "the same, closer", YMin: p.YMax, YMax: p.YMin, OwnX: true}
	for _, l := range p.Lines {
		n := len(l.Y)
		lo, hi = min(lo, l.Y[n-1]), max(hi, l.Y[n-1])
		for _, y := range l.Y[n/2:] {
			below.YMin, below.YMax = min(below.YMin, y), max(below.YMax, y)
		}
	}
	if len(p.Lines) < 3 || hi-lo >= closeUp*(p.YMax-p.YMin) || below.YMax <= below.YMin {
		return
	}
	room := 0.1 * (below.YMax - below.YMin)
	below.YMin, below.YMax = max(below.YMin-room, p.YMin), min(below.YMax+room, p.YMax)
	for _, l := range p.Lines {
		part := Line{Emphasise: l.Emphasise, Points: l.Points, Colour: l.Colour}
		for i := len(l.X) / 2; i < len(l.X); i++ {
			part.Add(l.X[i], l.Y[i], max(l.Lo[i], below.YMin), min(l.Hi[i], below.YMax))
		}
		below.Lines = append(below.Lines, part)
	}
	p.Below = append(p.Below, below)
}
