package experiments

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"proactivedp/internal/plots"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

func heading(f *figureConfig, c *comparison, what string) plots.Picture {
	return plots.Picture{
		Title:  fmt.Sprintf("%s, %s: %s", f.data().Name, train.ModelTitle(c.all[0].spec.Model), what),
		Banner: f.banner(),
	}
}

// delayContent draws the final accuracy against the permissible delay, with a line for each comparison.
// All comparisons must have the same delays.
func delayContent(ctx context.Context, f *figureConfig, comparisons []*comparison) (*content, error) {
	p := heading(f, comparisons[0], "accuracy against the permissible delay")
	p.XLabel, p.YLabel = delayLabel, accuracyLabel(comparisons[0].all[0].spec)+" at the end (fraction)"
	p.XNames = comparisons[0].axisNames()
	var table [][]string
	var config []comparisonConfig
	for _, c := range comparisons {
		l := plots.Line{Name: c.noiseText(), Points: true, Emphasise: c.all[0].spec.NoiseMultiplier == 0}
		for i, runs := range c.runs {
			addMean(&l, float64(i), finals(runs), 0)
		}
		p.Lines = append(p.Lines, l)
		if len(p.Rows) > 0 {
			p.Rows = append(p.Rows, make([]string, len(p.Rows[0])))
		}
		p.Rows = append(p.Rows, c.rows()...)
		table = append(table, c.table(f)[min(1, len(table)):]...)
		config = append(config, c.config())
	}
	accuracyAxis(&p)
	var err error
	p.Caption, err = comparisons[0].targetCaption(ctx, f)
	for _, c := range comparisons[1:] {
		p.Caption += fmt.Sprintf(" With %s less %.4f.%s", c.noiseText(), c.tolerance, c.goalNotes())
	}
	first, last := comparisons[0].all[0].spec, comparisons[len(comparisons)-1].all[0].spec
	if first.StepText() != last.StepText() {
		p.Caption += fmt.Sprintf(" Without noise: step size %s.", last.StepText())
	}
	return &content{picture: p, table: table, config: config}, err
}

// accuracyAxis lets the axis of accuracies begin at the next tenth below the lowest accuracy.
func accuracyAxis(p *plots.Picture) {
	p.YMin, p.YMax = 1, 1
	for _, l := range p.Lines {
		p.YMin = min(p.YMin, math.Floor(10*slices.Min(l.Lo))/10)
	}
	p.YMin = max(p.YMin, 0)
}

// startPart is the part of the time axis whose points [skipStart] may leave out.
const startPart = 0.05

// skipStart lets the axis of accuracies begin at the values after the start of the runs, if the lines are then
// within half of the axis. It leaves out the points before, and the label says where the axis begins.
func skipStart(p *plots.Picture) {
	low, high, end := 1.0, 0.0, 0.0
	for _, l := range p.Lines {
		end = max(end, slices.Max(l.X))
	}
	for _, l := range p.Lines {
		for i, x := range l.X {
			if high = max(high, l.Hi[i]); x >= startPart*end {
				low = min(low, l.Lo[i])
			}
		}
	}
	low, high = max(math.Floor(10*low)/10, 0), min(math.Ceil(10*high)/10, 1)
	if high-low > (p.YMax-p.YMin)/2 {
		return
	}
	for i, l := range p.Lines {
		first := len(l.X)
		for first > 0 && l.Y[first-1] >= low {
			first--
		}
		part := l
		part.X, part.Y, part.Lo, part.Hi = nil, nil, nil, nil
		for j := first; j < len(l.X); j++ {
			part.Add(l.X[j], l.Y[j], max(l.Lo[j], low), min(l.Hi[j], high))
		}
		p.Lines[i] = part
	}
	p.YMin, p.YMax = low, high
	p.YLabel += fmt.Sprintf(", axis from %.1f", low)
}

const delayLabel = "permissible delay: rounds behind, at most"

func accuracyLabel(s train.Spec) string {
	if s.Holdout > 0 {
		return "held-out " + s.MetricName()
	}
	return "test " + s.MetricName()
}

func (c *comparison) axisNames() []string {
	var names []string
	for _, m := range c.all {
		names = append(names, axisName(m.spec.Delay))
	}
	return names
}

// timePoints is the number of points of a curve over time.
const timePoints = 300

// timeContent draws accuracy against time on the clock.
func timeContent(ctx context.Context, f *figureConfig, c *comparison) (*content, error) {
	timed := "simulated time"
	if c.all[0].spec.Runner == train.HogwildRunner {
		timed = clockLabel(c.all[0].spec)
	}
	p := heading(f, c, "accuracy against "+timed+", "+c.noiseText())
	p.XLabel, p.YLabel = clockLabel(c.all[0].spec)+" (s)", accuracyLabel(c.all[0].spec)+" (fraction)"
	for i, m := range c.all {
		l := plots.Line{Name: m.name, Emphasise: i == 0}
		end := sim.Time(0)
		for _, r := range c.runs[i] {
			end = max(end, r.Clock)
		}
		for j := range timePoints + 1 {
			now := sim.Time(math.Round(float64(end) * float64(j) / timePoints))
			var accuracy []float64
			for _, r := range c.runs[i] {
				accuracy = append(accuracy, r.AccuracyAt(now))
			}
			addMean(&l, clockSeconds(now), accuracy, 0)
		}
		p.Lines = append(p.Lines, l)
	}
	accuracyAxis(&p)
	skipStart(&p)
	return c.content(ctx, f, p, c.curves(f))
}

// content returns the content of a figure of one comparison: its picture, below which are its summaries and the caption,
// and its data.
func (c *comparison) content(ctx context.Context, f *figureConfig, p plots.Picture, table [][]string) (*content, error) {
	p.Rows = c.rows()
	var err error
	p.Caption, err = c.targetCaption(ctx, f)
	return &content{picture: p, table: table, config: c.config()}, err
}

// stalenessContent draws a histogram of the lags i − k for each delay. Each row covers twice as many
// lags as the one before.
func stalenessContent(ctx context.Context, f *figureConfig, c *comparison) (*content, error) {
	p := heading(f, c, "staleness of rounds against its bound")
	p.XLabel, p.YLabel = delayLabel, "staleness of a round: i − k"
	p.XNames = c.axisNames()
	columns := make(plots.Shares, len(c.all))
	height := 1
	for i, s := range c.summaries() {
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
		p.YNames = append(p.YNames, lagRowName(y))
	}
	p.Marks = append(p.Marks, columns)
	return c.content(ctx, f, p, c.stalenessTable(f))
}

// lagRow returns the row of a lag. The rows are 0, 1, 2, 3–4, 5–8, …
func lagRow(lag int) int {
	row := 0
	for top := 0; lag > top; row++ {
		top = max(1, 2*top)
	}
	return row
}

func lagRowName(row int) string {
	if row > 2 {
		return fmt.Sprintf("%d–%d", 1<<(row-2)+1, 1<<(row-1))
	}
	return strconv.Itoa(row)
}

// idleContent draws the fraction of its time that each client waits, for each delay.
func idleContent(ctx context.Context, f *figureConfig, c *comparison) (*content, error) {
	p := heading(f, c, "idle time of each client")
	p.XLabel, p.YLabel = delayLabel, "waiting, part of the time to its last round"
	p.YMin, p.YMax = 0, 1
	p.XNames = c.axisNames()
	for _, who := range c.idlers() {
		l := plots.Line{Name: who.name, Points: true}
		for i, runs := range c.runs {
			var waits []float64
			for _, r := range runs {
				if !r.Diverged {
					waits = append(waits, who.of(&r))
				}
			}
			if len(waits) > 0 {
				addMean(&l, float64(i), waits, 0)
				last := len(l.X) - 1
				l.Lo[last], l.Hi[last] = max(l.Lo[last], 0), min(l.Hi[last], 1) // a fraction is in [0, 1]
			}
		}
		if len(l.X) > 0 {
			p.Lines = append(p.Lines, l)
		}
	}
	return c.content(ctx, f, p, c.idleTable(f))
}

// idler is a line of idle time: one client, or the mean of all.
type idler struct {
	name string
	of   func(r *pool.Timed) float64
}

// idlers returns all clients. If they are too many, it returns the mean of all, the client that waits
// most and the one that waits least.
func (c *comparison) idlers() []idler {
	var out []idler
	clients := c.all[0].spec.Clients
	if clients > len(plots.Palette) {
		edge := func(pick func([]float64) float64) func(r *pool.Timed) float64 {
			return func(r *pool.Timed) float64 {
				at := r.Waiting(0)
				for client := range r.Busy {
					at = pick([]float64{at, r.Waiting(client)})
				}
				return at
			}
		}
		return []idler{{"the idlest client", edge(slices.Max)}, {"mean of clients", (*pool.Timed).Idle},
			{"the busiest client", edge(slices.Min)}}
	}
	for client := range clients {
		out = append(out, idler{c.clientName(client), func(r *pool.Timed) float64 { return r.Waiting(client) }})
	}
	return out
}
