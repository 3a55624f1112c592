package experiments

import (
	"io"

	"proactivedp/dp/tradeoff"
)

// DrawTradeoff draws trade-off curves as a PNG: for each what a test gains over
// guessing, 1-α-f(α), against α, as the curves of a private release are too near
// to 1-α to be told apart. Lower curves gain the most; what is proved is solid,
// anything else dashed.
func DrawTradeoff(w io.Writer, curves tradeoff.Curves, caption string) error {
	p := picture{
		title:  "Trade-off curves: what a test gains over guessing",
		xLabel: "type I error α", yLabel: "1 - α - f(α); 0 is perfect privacy",
		caption: caption,
	}
	for _, c := range curves {
		l := line{name: c.Name, emphasise: c.Side == tradeoff.Approximation}
		if c.Side != "" && c.Side != tradeoff.Lower && c.Side != tradeoff.Upper {
			l.name += ", " + string(c.Side)
		}
		for _, point := range c.Points {
			gain := 1 - point.Alpha - point.Beta
			l.add(point.Alpha, gain, gain, gain)
			p.yMax = max(p.yMax, 1.05*gain)
		}
		p.lines = append(p.lines, l)
	}
	if p.yMax == 0 {
		p.yMax = 1
	}
	return p.writePNG(w)
}
