package papertables

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
)

const figurePoints = 60

// sizeCurve is the ε of runs over s, for one problem at the σ of its comparison.
type sizeCurve struct {
	auditor
	sigma  float64
	sizes  []int
	closed []float64 // ε of Theorem simpleF with the corrected γ, by size; 0 if there is none
	clt    []float64
	bounds [][2]*dp.Bound
}

// curve computes the sizeCurve of the setting, from size 1 to slightly above the largest size that the
// accountant certifies for ε_target.
func (a auditor) curve() (*sizeCurve, error) {
	c := &sizeCurve{auditor: a, sigma: a.Comparison.Sigma.Value()}
	target, err := closedform.Epsilon(c.sigma, a.Delta())
	if err != nil {
		return nil, err
	}
	top, err := a.largestSize(dp.AddOrRemove, c.sigma, target)
	if err != nil {
		return nil, err
	}
	top = min(max(2*figurePoints, top*11/10), a.N)
	for i := range figurePoints {
		s := 1 + i*(top-1)/(figurePoints-1)
		c.sizes = append(c.sizes, s)
		eps, err := a.theoremEpsilon(closedform.Corrected, c.sigma, s)
		if err != nil && !errors.Is(err, dp.ErrNotCovered) {
			return nil, err
		}
		c.closed = append(c.closed, eps)
		clt, err := uniformCLT(a.Case, c.sigma, float64(a.GradComps)/float64(s))
		if err != nil {
			return nil, err
		}
		c.clt = append(c.clt, clt)
		bounds, err := a.bounds(a.run(c.sigma, s))
		if err != nil {
			return nil, err
		}
		c.bounds = append(c.bounds, bounds)
	}
	return c, nil
}

// picture draws the curve. Values above three times ε_target are cut off.
func (c *sizeCurve) picture() (plots.Picture, error) {
	target, err := closedform.Epsilon(c.sigma, c.Delta())
	if err != nil {
		return plots.Picture{}, err
	}
	top := 3 * target
	add := func(l *plots.Line, s int, lower, upper float64) {
		if upper <= top {
			l.Add(float64(s), upper, lower, upper)
		}
	}
	closed := plots.Line{Name: "closed form, corrected γ"}
	clt := plots.Line{Name: "CLT: an approximation"}
	goal := plots.Line{Name: "ε_target", Emphasise: true}
	certified := []plots.Line{{Name: c.accountant.Name() + ", add-or-remove"},
		{Name: c.accountant.Name() + ", replace-one"}}
	for i, s := range c.sizes {
		if c.closed[i] > 0 {
			add(&closed, s, c.closed[i], c.closed[i])
		}
		add(&clt, s, c.clt[i], c.clt[i])
		add(&goal, s, target, target)
		for j, b := range c.bounds[i] {
			if b != nil {
				add(&certified[j], s, b.EpsilonLower, b.EpsilonUpper)
			}
		}
	}
	p := plots.Picture{
		Title:  fmt.Sprintf("What s costs: N = %d, k = %g epochs, σ = %g", c.N, c.Epochs(), c.sigma),
		XLabel: "expected sample size s", YLabel: fmt.Sprintf("ε at δ = 1/%d", c.N),
		Caption: fmt.Sprintf("T = K/s rounds, rounded down, K = %d, Poisson sampling. Closed form: the least ε of "+
			"Theorem simpleF (add-or-remove adjacency), an upper bound. %s: upper ends, with a band down to the "+
			"lower ends. CLT: the formula for uniform sampling that the paper calls ε_f-DP; no guarantee. ε_target = "+
			"2 ln(1/δ)/(σ²-2) = %s.", c.GradComps, c.accountant.Name(), decimal.Up(target, 5)),
		YMin: 0, YMax: top,
	}
	p.Lines = slices.DeleteFunc(append([]plots.Line{goal, closed, clt}, certified...),
		func(l plots.Line) bool { return len(l.X) < 2 })
	return p, nil
}

// curveTable returns the data of the figures in long form.
func curveTable(accountant string, curves []*sizeCurve) [][]string {
	header := []string{"data", "n", "epochs", "sigma", "delta", "sample_size", "rounds", "closed_form_epsilon",
		"clt_uniform_epsilon"}
	for _, adjacency := range adjacencies {
		name := accountantColumn(accountant, adjacency)
		header = append(header, name+"_lower", name+"_upper")
	}
	out := [][]string{header}
	for _, c := range curves {
		for i, s := range c.sizes {
			closed := none
			if c.closed[i] > 0 {
				closed = decimal.Up(c.closed[i], 6)
			}
			row := []string{c.Name, strconv.Itoa(c.N), report.Number(c.Epochs()), string(c.Comparison.Sigma),
				decimal.Up(c.Delta(), 6), strconv.Itoa(s),
				strconv.Itoa(c.GradComps / s), closed, report.Number(c.clt[i])}
			for _, b := range c.bounds[i] {
				a := interval(b)
				row = append(row, a.lower, a.value)
			}
			out = append(out, row)
		}
	}
	return out
}
