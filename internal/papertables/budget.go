package papertables

import (
	"proactivedp/internal/paper"
	"proactivedp/internal/report"
)

// guess lists how the paper may have computed a printed row (ε, σ, s): candidates for two of the numbers, given
// the third.
type guess struct{ epsilon, sigma, size []candidate }

// fromSize returns the candidates that the paper's calculator gives for s.
func (a auditor) fromSize(s float64) (g guess, err error) {
	for _, c := range []struct {
		until     loop
		relation  noise
		procedure string
		described bool
	}{
		{oneUpdate, withoutEpsilon, "from s: one update of γ, " + withoutEpsilon.name, false},
		{signedLoop, treq4, "from s: signed loop, " + treq4.name, true},
	} {
		eps, sigma, err := calculatorBySize(a.Case, s, c.relation, c.until)
		if err != nil {
			return guess{}, err
		}
		g.epsilon = append(g.epsilon, candidate{c.procedure, c.described, eps})
		g.sigma = append(g.sigma, candidate{c.procedure, c.described, sigma})
	}
	return g, nil
}

// fromNoise returns the candidates that the paper's calculator gives for σ.
func (a auditor) fromNoise(sigma float64) (g guess, err error) {
	for _, relation := range []noise{treq4, withoutEpsilon} {
		described := relation.name == treq4.name
		r, err := calculatorByNoise(a.Case, sigma, relation)
		if err != nil {
			return guess{}, err
		}
		g.epsilon = append(g.epsilon, candidate{"from σ: " + relation.name, described, r.epsilon})
		g.size = append(g.size, candidate{"from σ: signed loop, " + relation.name, described, r.size})
	}
	return g, nil
}

// cells compares the printed numbers ε, σ and s of the row b with the guess, and returns a cell for each. follow
// is the number of them that are not unsupported.
func (g guess) cells(table, row string, b paper.Budget) (cells []cell, follow int) {
	matches := b.Epsilon.IsNear
	if b.Exact {
		matches = b.Epsilon.Shows
	}
	for _, q := range []struct {
		name       string
		printed    paper.Number
		matches    func(float64) bool
		candidates []candidate
	}{
		{quantityEpsilon, b.Epsilon, matches, g.epsilon},
		{quantitySigma, b.Sigma, b.Sigma.Shows, g.sigma},
		{quantitySize, b.Size, b.Size.Shows, g.size},
	} {
		c := cell{table: table, row: row, quantity: q.name, printed: q.printed}.judge(q.matches, q.candidates...)
		if c.verdict != unsupported {
			follow++
		}
		cells = append(cells, c)
	}
	return cells, follow
}

// budgetCells audits one (ε, σ, s) of a table. It uses the guess that reproduces more of it. Rows with
// a round ε were computed from s.
func (a auditor) budgetCells(table, row string, b paper.Budget) ([]cell, error) {
	eps, sigma, size := b.Epsilon.Value(), b.Sigma.Value(), int(b.Size.Value())
	g, err := a.fromSize(b.Size.Value())
	if err != nil {
		return nil, err
	}
	cells, follow := g.cells(table, row, b)
	if b.Exact {
		g, err := a.fromNoise(sigma)
		if err != nil {
			return nil, err
		}
		if others, n := g.cells(table, row, b); n > follow {
			cells = others
		}
	}
	if cells[0].answers, err = a.epsilons(sigma, size); err != nil {
		return nil, err
	}
	if cells[1].answers, err = a.sigmas(size, eps); err != nil {
		return nil, err
	}
	if cells[2].answers, err = a.sizes(sigma, eps); err != nil {
		return nil, err
	}
	return cells, nil
}

// basicCells audits a table of basic parameters: its budget, then δ = 1/N.
func (a auditor) basicCells() ([]cell, error) {
	b := a.Basic
	cells, err := a.budgetCells(b.Label, "", paper.Budget{Epsilon: b.Epsilon, Sigma: b.Sigma, Size: b.Size,
		Exact: true})
	if err != nil {
		return nil, err
	}
	c := cell{table: b.Label, quantity: quantityDelta, printed: b.Delta}
	for i := range c.answers {
		c.answers[i].value = report.NoAnswer
	}
	return append(cells, c.judge(b.Delta.Shows, candidate{"1/N", true, a.Delta()})), nil
}
