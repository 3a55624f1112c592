package experiments

import (
	"context"
	"fmt"
	"slices"

	"proactivedp/internal/decimal"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// adaptMost is the largest factor of adapted sizes. It is larger than the clients' differences in
// speed.
const adaptMost = 8

// adaptiveDelays are the permissible delays under which sizes adapt.
var adaptiveDelays = []string{"0", "1", "16"}

// adaptiveFigure compares adaptive sample sizes with constant ones.
func (l delayExperiment) adaptiveFigure() Figure {
	fig := l.comparisonFigure("-adaptive", "Sample sizes that adapt to clients of unequal speed",
		func(f *figureConfig) []series {
			spec := l.with
			spec.Speeds = unequalSpeeds
			all := l.delays(f, spec, adaptiveDelays)
			spec.Adapt = adaptMost
			return append(all, l.delays(f, spec, adaptiveDelays)...)
		},
		adaptiveContent)
	fig.Fixed = true // only the virtual clock has adaptive sizes
	return fig
}

func adaptiveContent(ctx context.Context, f *figureConfig, c *comparison) (*content, error) {
	for i := range c.all {
		if c.all[i].spec.Adapt != 0 {
			c.all[i].name += ", adaptive"
		}
	}
	out, err := timeContent(ctx, f, c)
	if err != nil {
		return nil, err
	}
	fixed, err := c.fixedSizes(ctx, f)
	if err != nil {
		return nil, err
	}
	p := &out.picture
	p.Title = fmt.Sprintf("%s, %s: constant and adaptive sample sizes", f.data().Name,
		train.ModelTitle(c.all[0].spec.Model))
	p.Rows = [][]string{{c.noiseText(), "accuracy at the end", "to target", "speed-up", "K by client", "largest s", "θ",
		"ε per client", "per record"}}
	for i, s := range c.summaries() {
		row := s.row(len(c.goal))
		row = []string{row[0], row[1], row[3], row[4]}
		worst := c.paid(i, 0, fixed)
		for seed := range c.runs[i] {
			if at := c.paid(i, seed, fixed); worst != nil && (at == nil || at.Worse(worst)) {
				worst = at
			}
		}
		p.Rows = append(p.Rows, append(row, paidRow(worst)...))
	}
	r := fixed.Privacy
	p.Caption += fmt.Sprintf("\nAdaptive: a client takes s times its measured speed, at most %g times more or less; T "+
		"and the step sizes stay. The last columns are of the seed that pays most per record, "+
		"for the sizes really run: θ the largest of a client, ε per client of the client that pays most, certified by "+
		"%s for N = %d, δ = %s, %s adjacency, %s sampling; numbered seeds: a simulation, no release.",
		float64(adaptMost), r.Certified.PerClient.Accountant, r.PerClient.DatasetSize, decimal.Up(r.Delta, 4),
		r.Adjacency, r.Sampling)
	columns := slices.Concat(lookColumns, paidColumns)
	out.table = c.records(f, columns, func(i, seed int, r *pool.Timed) (rows [][]string) {
		paid := paidRecord(c.paid(i, seed, fixed))
		for j := range r.At {
			rows = append(rows, append(c.look(seed, r, j), paid...))
		}
		return rows
	})
	return out, nil
}

// paid returns the cost of a run. fixed is the cost with constant sizes. paid returns nil for a run
// with adaptive sizes that diverged, because it is unknown how much it computed.
func (c *comparison) paid(i, seed int, fixed *pool.Paid) *pool.Paid {
	if c.all[i].spec.Adapt == 0 {
		return fixed
	}
	return c.runs[i][seed].Paid
}

// fixedSizes returns the cost of a run of the first series, which has constant sizes.
func (c *comparison) fixedSizes(ctx context.Context, f *figureConfig) (*pool.Paid, error) {
	p, err := f.source.Prepare(c.all[0].spec)
	if err != nil {
		return nil, err
	}
	privacy, err := p.PlannedPrivacy(ctx)
	if err != nil {
		return nil, err
	}
	out := pool.Paid{Privacy: privacy}
	for range p.Config.Clients() {
		out.Runs = append(out.Runs, p.Config.Run())
	}
	return &out, nil
}
