package papertables

import (
	"strconv"

	"proactivedp/dp"
	"proactivedp/internal/paper"
	"proactivedp/internal/report"
)

// comparisonCells audits a table that compares ε_target with ε_f-DP. The column for T_min comes first,
// then the one for T_min_asym.
func (a auditor) comparisonCells() ([]cell, error) {
	c := a.Comparison
	sigma := c.Sigma.Value()
	r, err := calculatorByNoise(a.Case, sigma, treq4)
	if err != nil {
		return nil, err
	}
	sizes, err := a.sizes(sigma, r.epsilon)
	if err != nil {
		return nil, err
	}
	const (
		loopName    = "signed loop, T = γk²/ε"
		asymName    = "T = k²/(2ε)"
		quarterName = "T = k²/(4ε)"
		clt         = "CLT at real s and T, "
	)
	var cells []cell
	for _, column := range []struct {
		name    string
		printed paper.Column
		size    candidate
		fdp     []candidate
	}{
		{"T_min", c.Formula, candidate{loopName, true, r.size}, []candidate{{clt + loopName, true, r.fdp}}},
		{"T_min_asym", c.Asym, candidate{asymName, true, r.sizeAsym},
			[]candidate{{clt + asymName, true, r.fdpAsym}, {clt + quarterName, false, r.fdpQuarter}}},
	} {
		epsilons, err := a.epsilons(sigma, int(column.printed.Size.Value()))
		if err != nil {
			return nil, err
		}
		factors, err := a.factors(r.epsilon, sigma, int(column.printed.Size.Value()))
		if err != nil {
			return nil, err
		}
		factor := make([]candidate, len(column.fdp))
		for i, f := range column.fdp {
			factor[i] = candidate{f.procedure, f.described, r.epsilon / f.value}
		}
		cell := func(quantity string, p paper.Number, answers answers, candidates ...candidate) {
			c := cell{table: c.Label, row: column.name, quantity: quantity, printed: p, answers: answers}
			cells = append(cells, c.judge(p.Shows, candidates...))
		}
		cell(quantitySize, column.printed.Size, sizes, column.size)
		cell(quantityTarget, c.Epsilon, epsilons, candidate{treq4.name, true, r.epsilon})
		cell(quantityFDP, column.printed.FDP, epsilons, column.fdp...)
		cell(quantityFactor, column.printed.Factor, factors, factor...)
	}
	return cells, nil
}

// factors returns, for each column, a lower bound on the ratio of ε_target and the ε of the run, to
// four decimals.
func (a auditor) factors(target, sigma float64, s int) (out answers, err error) {
	for i := range forms {
		out[i].value = report.NoAnswer
	}
	bounds, err := a.bounds(a.run(sigma, s))
	for i, b := range bounds {
		out[len(forms)+i].value = factor(target, b)
	}
	return out, err
}

// factor returns ε divided by the upper end of a bound.
func factor(eps float64, b *dp.Bound) string {
	if b == nil {
		return report.NotCovered
	}
	return strconv.FormatFloat(eps/b.EpsilonUpper, 'f', 4, 64)
}
