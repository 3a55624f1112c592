// This file draws frontiers and trade-off curves.

package privacy

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/plan"
)

// Frontier draws a frontier as a PNG: the smallest noise multiplier for each sample size, by the closed form and by
// the tight accountant. Both axes are logarithmic, because the interesting sizes are far below N.
func Frontier(w io.Writer, f *plan.Frontier) error {
	if f == nil {
		return errors.New("no Frontier")
	}
	p := plots.Picture{
		Title: fmt.Sprintf("Least noise within ε = %s, δ = %s, by sample size", decimal.Up(f.Epsilon, 6),
			decimal.Up(f.Delta, 6)),
		XLabel: "sample size s", YLabel: "noise multiplier σ",
		Logarithmic: true, YMin: 1, YMax: 10,
		Caption: fmt.Sprintf("N = %d, k = %.6g epochs in T = K/s rounds, θ = %g; %s; ε %s. "+
			"Every σ is within the budget by an upper bound of its accountant.", f.N, f.Epochs, f.Theta, sampled(f), f.For()),
	}
	for _, column := range []struct {
		name  string
		sigma func(plan.Row) *float64
	}{
		{"closed form, add-or-remove", func(r plan.Row) *float64 { return r.ClosedForm }},
		{f.Accountant + ", add-or-remove", func(r plan.Row) *float64 { return r.AddOrRemove }},
		{f.Accountant + ", replace-one", func(r plan.Row) *float64 { return r.ReplaceOne }},
	} {
		l := plots.Line{Name: column.name}
		for _, r := range f.Rows {
			if sigma := column.sigma(r); sigma != nil {
				l.Add(float64(r.SampleSize), *sigma, *sigma, *sigma)
			}
		}
		if len(l.X) == 0 {
			continue
		}
		p.YMin = min(p.YMin, plots.Decade(math.Floor, slices.Min(l.Y)))
		p.YMax = max(p.YMax, plots.Decade(math.Ceil, slices.Max(l.Y)))
		p.Lines = append(p.Lines, l)
	}
	if len(p.Lines) == 0 {
		return fmt.Errorf("frontier of N = %d: no sample size has a σ, there is nothing to draw", f.N)
	}
	return p.WritePNG(w)
}

// sampled names how the records of a frontier are drawn.
func sampled(f *plan.Frontier) string {
	if f.Sampling == dp.Allocation {
		return fmt.Sprintf("random allocation, redraw = %s", f.Redraw)
	}
	return "Poisson sampling"
}
