package experiments

// guess is how an (ε, σ, s) may have come about: candidates for each, and none
// for the one that it starts from.
type guess struct{ epsilon, sigma, size []candidate }

// fromSize is the calculator that is given s.
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
		eps, sigma, err := calculatorBySize(a.problem, s, c.relation, c.until)
		if err != nil {
			return guess{}, err
		}
		g.epsilon = append(g.epsilon, candidate{c.procedure, c.described, eps})
		g.sigma = append(g.sigma, candidate{c.procedure, c.described, sigma})
	}
	return g, nil
}

// fromNoise is the calculator that is given σ.
func (a auditor) fromNoise(sigma float64) (g guess, err error) {
	for _, relation := range []noise{treq4, withoutEpsilon} {
		described := relation.name == treq4.name
		r, err := calculatorByNoise(a.problem, sigma, relation)
		if err != nil {
			return guess{}, err
		}
		g.epsilon = append(g.epsilon, candidate{"from σ: " + relation.name, described, r.epsilon})
		g.size = append(g.size, candidate{"from σ: signed loop, " + relation.name, described, r.size})
	}
	return g, nil
}

// cells judges an (ε, σ, s) by the guess.
func (g guess) cells(table, row string, b printedBudget) (cells []tableCell, follow int) {
	matches := b.epsilon.isNear
	if b.exact {
		matches = b.epsilon.shows
	}
	for _, q := range []struct {
		name       string
		printed    printed
		matches    func(float64) bool
		candidates []candidate
	}{
		{quantityEpsilon, b.epsilon, matches, g.epsilon},
		{quantitySigma, b.sigma, b.sigma.shows, g.sigma},
		{quantitySize, b.size, b.size.shows, g.size},
	} {
		c := tableCell{table: table, row: row, quantity: q.name, printed: q.printed}.judge(q.matches, q.candidates...)
		if c.verdict != unsupported {
			follow++
		}
		cells = append(cells, c)
	}
	return cells, follow
}

// budgetCells audits one (ε, σ, s) of a table by the guess that more of it
// follows from. Rows with a round ε were found by their s.
func (a auditor) budgetCells(table, row string, b printedBudget) ([]tableCell, error) {
	eps, sigma, size := b.epsilon.value(), b.sigma.value(), int(b.size.value())
	g, err := a.fromSize(b.size.value())
	if err != nil {
		return nil, err
	}
	cells, follow := g.cells(table, row, b)
	if b.exact {
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
func (a auditor) basicCells() ([]tableCell, error) {
	b := a.basic
	cells, err := a.budgetCells(b.label, "", printedBudget{b.epsilon, b.sigma, b.size, true})
	if err != nil {
		return nil, err
	}
	c := tableCell{table: b.label, quantity: quantityDelta, printed: b.delta}
	for i := range c.answers {
		c.answers[i].value = noAnswer
	}
	return append(cells, c.judge(b.delta.shows, candidate{"1/N", true, a.delta()})), nil
}
