package experiments

import (
	"fmt"
	"math"

	"proactivedp/sim"
)

// heading is what the pictures of a contest have in common.
func heading(f *frame, c *contest, what string) picture {
	return picture{
		title:  fmt.Sprintf("%s, %s: %s", f.data.Name, modelTitle(c.all[0].spec.Model), what),
		banner: f.banner(),
	}
}

// delayPicture is accuracy at the end against the permissible delay, a line for
// each contest; all have the same delays.
func delayPicture(f *frame, contests []*contest, yMin float64) picture {
	p := heading(f, contests[0], "accuracy against the permissible delay")
	p.xLabel, p.yLabel = delayLabel, "test accuracy at the end (fraction)"
	p.yMin, p.yMax = yMin, 1
	p.xNames = contests[0].axisNames()
	for _, c := range contests {
		l := line{name: c.noiseText(), points: true, emphasise: c.all[0].spec.NoiseMultiplier == 0}
		for i, runs := range c.runs {
			l.add(float64(i), finals(runs), 0)
		}
		p.lines = append(p.lines, l)
		p.rows = append(p.rows, c.rows()...)
	}
	return p
}

// delayLabel is the label of an axis of permissible delays.
const delayLabel = "permissible delay Υ: rounds behind, at most"

func (c *contest) axisNames() []string {
	var names []string
	for _, m := range c.all {
		names = append(names, axisName(m.spec.Delay))
	}
	return names
}

func (c *contest) noiseText() string {
	if sigma := c.all[0].spec.NoiseMultiplier; sigma > 0 {
		return fmt.Sprintf("σ = %.4g", sigma)
	}
	return "no noise"
}

// timePoints is at how many points of time a curve is drawn.
const timePoints = 300

// timePicture is accuracy against time on the virtual clock.
func timePicture(f *frame, c *contest, yMin float64) picture {
	p := heading(f, c, "accuracy against simulated time")
	p.xLabel, p.yLabel = "time on the virtual clock (s)", "test accuracy (fraction)"
	p.yMin, p.yMax = yMin, 1
	p.rows = c.rows()
	for i, m := range c.all {
		l := line{name: m.name, emphasise: i == 0}
		end := sim.Time(0)
		for _, r := range c.runs[i] {
			end = max(end, r.Clock)
		}
		for j := range timePoints + 1 {
			now := sim.Time(math.Round(float64(end) * float64(j) / timePoints))
			var accuracy []float64
			for _, r := range c.runs[i] {
				accuracy = append(accuracy, r.accuracyAt(now))
			}
			l.add(clockSeconds(now), accuracy, 0)
		}
		p.lines = append(p.lines, l)
	}
	return p
}

// stalenessPicture is a histogram of the lags i − k for each delay, in rows that
// double.
func stalenessPicture(f *frame, c *contest) picture {
	p := heading(f, c, "staleness of rounds against its bound")
	p.xLabel, p.yLabel = delayLabel, "staleness of a round: i − k"
	p.xNames = c.axisNames()
	columns := make(shares, len(c.all))
	height := 1
	for i, s := range c.standings() {
		columns[i] = make([]float64, lagRow(s.MaxLag)+1)
		height = max(height, len(columns[i]))
		rounds := 0.0
		for _, r := range c.runs[i] {
			for lag, n := range r.Staleness {
				columns[i][lagRow(lag)] += float64(n)
				rounds += float64(n)
			}
		}
		for y := range columns[i] {
			columns[i][y] /= max(rounds, 1)
		}
	}
	for y := range height {
		p.yNames = append(p.yNames, lagRowName(y))
	}
	p.marks = append(p.marks, columns)
	p.rows = c.rows()
	return p
}

// lagRow is the row of a lag: 0, 1, 2, 3–4, 5–8, …
func lagRow(lag int) int {
	row := 0
	for top := 0; lag > top; row++ {
		top = max(1, 2*top)
	}
	return row
}

func lagRowName(row int) string {
	switch {
	case row < 2:
		return fmt.Sprint(row)
	case row == 2:
		return "2"
	}
	top := 1 << (row - 1)
	return fmt.Sprintf("%d–%d", top/2+1, top)
}

// idlePicture is how much of its time each client waits, for each delay.
func idlePicture(f *frame, c *contest) picture {
	p := heading(f, c, "idle time of each client")
	p.xLabel, p.yLabel = delayLabel, "waiting, part of the time to its last round"
	p.yMin, p.yMax = 0, 1
	p.xNames = c.axisNames()
	for client := range c.all[0].spec.Clients {
		l := line{name: c.clientName(client), points: true}
		for i, runs := range c.runs {
			var waits []float64
			for _, r := range runs {
				if !r.Diverged {
					waits = append(waits, r.waiting(client))
				}
			}
			if len(waits) > 0 {
				l.add(float64(i), waits, 0)
			}
		}
		if len(l.x) > 0 {
			p.lines = append(p.lines, l)
		}
	}
	p.rows = c.rows()
	return p
}
