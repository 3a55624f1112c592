package experiments

import (
	"fmt"
	"io"
	"math"
	"slices"

	"proactivedp/plan"
)

// DrawFrontier draws a frontier as a PNG: the least noise multiplier against the
// sample size, by the closed form and by the tight accountant. Both axes are
// logarithmic, as the sizes of interest are far below N.
func DrawFrontier(w io.Writer, f *plan.Frontier) error {
	p := picture{
		title:  fmt.Sprintf("Least noise within ε = %.6g, δ = %.6g, by sample size", f.Epsilon, f.Delta),
		xLabel: "sample size s", yLabel: "noise multiplier σ",
		logarithmic: true, yMin: 1, yMax: 10,
		caption: fmt.Sprintf("N = %d, k = %.6g epochs in T = K/s rounds, θ = %g; Poisson sampling; ε per record. "+
			"Every σ is within the budget by an upper bound of its accountant.", f.N, f.Epochs, f.Theta),
	}
	for _, column := range []struct {
		name  string
		sigma func(plan.Row) *float64
	}{
		{"closed form, add-or-remove", func(r plan.Row) *float64 { return r.ClosedForm }},
		{f.Accountant + ", add-or-remove", func(r plan.Row) *float64 { return r.AddOrRemove }},
		{f.Accountant + ", replace-one", func(r plan.Row) *float64 { return r.ReplaceOne }},
	} {
		l := line{name: column.name}
		for _, r := range f.Rows {
			if sigma := column.sigma(r); sigma != nil {
				l.add(float64(r.SampleSize), *sigma, *sigma, *sigma)
			}
		}
		if len(l.x) == 0 {
			continue
		}
		p.yMin, p.yMax = min(p.yMin, decade(math.Floor, slices.Min(l.y))), max(p.yMax, decade(math.Ceil, slices.Max(l.y)))
		p.lines = append(p.lines, l)
	}
	if len(p.lines) == 0 {
		return fmt.Errorf("experiments: frontier of N = %d: no sample size has a σ, there is nothing to draw", f.N)
	}
	return p.writePNG(w)
}
