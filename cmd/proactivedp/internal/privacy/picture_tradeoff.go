package privacy

import (
	"io"

	"proactivedp/dp/tradeoff"
	"proactivedp/internal/plots"
)

// Tradeoff draws trade-off curves as a PNG. For each curve f it shows by how much a test is better than guessing,
// 1−α−f(α), against α, because the curves of a private release are too close to 1−α to be distinguished. A lower
// curve is higher in the picture. Curves that are proved are solid, and all others are dashed.
func Tradeoff(w io.Writer, curves tradeoff.Curves, caption string) error {
	p := plots.Picture{
		Title:  "Trade-off curves: what a test gains over guessing",
		XLabel: "type I error α", YLabel: "1 - α - f(α); 0 is perfect privacy",
		Caption: caption,
	}
	for _, c := range curves {
		l := plots.Line{Name: c.Name, Emphasise: c.Side == tradeoff.Approximation}
		if c.Side != "" && c.Side != tradeoff.Lower && c.Side != tradeoff.Upper {
			l.Name += ", " + string(c.Side)
		}
		for _, point := range c.Points {
			gain := 1 - point.Alpha - point.Beta
			l.Add(point.Alpha, gain, gain, gain)
			p.YMax = max(p.YMax, 1.05*gain)
		}
		p.Lines = append(p.Lines, l)
	}
	if p.YMax == 0 {
		p.YMax = 1
	}
	return p.WritePNG(w)
}
