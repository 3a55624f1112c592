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
	constant := l.with
	constant.Speeds = unequalSpeeds
	adaptive := constant
	adaptive.Adapt = adaptMost
	both := l.under(adaptiveDelays, constant, adaptive)
	fig := l.comparisonFigure("-adaptive", "Sample sizes that adapt to clients of unequal speed",
		func(f *figureConfig) [][]series { return [][]series{slices.Concat(both(f)...)} }, nil, single(adaptiveContent))
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
		var all [][]string
		for seed := range c.runs[i] {
			all = append(all, c.paid(i, seed, fixed))
		}
		paid, err := paidRow(slices.MaxFunc(all, worsePaid))
		if err != nil {
			return nil, err
		}
		p.Rows = append(p.Rows, append(row, paid...))
	}
	r := fixed.Privacy
	p.Caption += fmt.Sprintf("\nAdaptive: a client takes s times its measured speed, at most %g times more or less; T "+
		"and the step sizes stay. The last columns are of the seed that pays most per record, "+
		"for the sizes really run: θ the largest of a client, ε per client of the client that pays most, certified by "+
		"%s for N = %d, δ = %s, %s adjacency, %s sampling; numbered seeds: a simulation, no release.",
		float64(adaptMost), r.Certified.PerClient.Accountant, r.PerClient.DatasetSize, decimal.Up(r.Delta, 4),
		r.Adjacency, r.Sampling)
	columns := slices.Concat(lookColumns, paidColumns)
	if c.stored != nil {
		out.table = append(c.records(f, columns, func(int, int, *pool.Timed) [][]string { return nil }), c.kept...)
		return out, nil
	}
	out.table = c.records(f, columns, func(i, seed int, r *pool.Timed) (rows [][]string) {
		paid := c.paid(i, seed, fixed)
		for j := range r.At {
			rows = append(rows, append(c.look(seed, r, j), paid...))
		}
		return rows
	})
	return out, nil
}

// paid returns the cost of a run, as cells of paidColumns. fixed is the cost with constant sizes. The cells are empty
// for a run with adaptive sizes that diverged, because it is unknown how much it computed.
func (c *comparison) paid(i, seed int, fixed *pool.Paid) []string {
	switch {
	case c.stored != nil:
		row := c.kept[(i*len(c.runs[i])+seed)*len(c.runs[0][0].At)] // every run has equally many rows
		return row[len(row)-len(paidColumns):]
	case c.all[i].spec.Adapt == 0:
		return paidRecord(fixed)
	}
	return paidRecord(c.runs[i][seed].Paid)
}

// fixedSizes returns the cost of a run of the first series, which has constant sizes.
func (c *comparison) fixedSizes(ctx context.Context, f *figureConfig) (*pool.Paid, error) {
	p, err := f.source.Costliest(ctx, c.all[0].spec, f.seeds)
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
