package plan

import (
	"context"
	"fmt"
	"math"
	"sort"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/root"
)

// solveJointly finds σ, s and T for k epochs and one of σ and ε, by Theorem simpleF. (treq4) with
// equality determines σ from ε or ε from σ. T is the least that the other conditions allow.
func (p *Plan) solveJointly(_ context.Context, r Request) error {
	var err error
	switch {
	case r.Sigma == 0:
		p.Sigma, err = closedform.Sigma(p.Epsilon, p.Delta)
	default:
		p.Epsilon, err = closedform.Epsilon(p.Sigma, p.Delta)
	}
	if err != nil {
		return err
	}
	l, err := p.limits(p.recordEpochs())
	if err != nil {
		return err
	}
	computations := epochsCount(p.Epochs, p.N)
	if isTooLittle(p.Epochs, p.N) {
		computations = 0
	}
	p.setLimits(l, computations)

	setting := closedform.Setting{
		N: p.N, Computed: p.recordEpochs() * float64(p.N), MaxSize: p.Theta * l.SMax,
		Sigma: p.Sigma, Epsilon: p.Epsilon, Delta: p.Delta,
	}
	setting.Rounds = setting.Computed / l.SMax
	switch {
	case computations < 1:
		p.Reason = tooLittle(p.Epochs * float64(p.N))
	case p.SMax < 1:
		p.tooFine(r)
	default:
		size := p.SMax
		if p.Method != Paper {
			size = p.whole(size, computations)
		}
		p.runs(size, roundsOf(computations, size), computations)
		setting = p.setting(p.Sigma, p.Run.SampleSize, p.Run.Rounds, p.copies())
		setting.Epsilon = p.Epsilon
	}
	if p.Conditions, err = closedform.Conditions(p.Method.form(), setting); err != nil {
		return err
	}
	// The γ that the paper used does not solve its equation, so the paper's own conditions may fail.
	p.Feasible = p.Run != nil && (p.Method == Paper || closedform.Holds(p.Conditions, closedform.SimpleF))
	if !p.Feasible {
		if p.Run != nil {
			p.Reason = fmt.Sprintf("%s of s = 1, for k = %.6g, do not meet Theorem simpleF", rounds(p.Run.Rounds), p.Epochs)
			p.Run, p.SMax = nil, 0
		}
		return nil
	}
	// For this σ, (treq4) allows no smaller ε, whatever the run is.
	record := p.Method.guaranteed(p.upper(p.Epsilon))
	client := record
	p.PerRecord, p.PerClient = &record, &client
	return nil
}

// whole returns the largest size, up to most, for which Theorem simpleF holds in whole rounds, which may
// compute a little more than K. It returns 1 if there is none.
func (p *Plan) whole(most, k int) int {
	c := newCalculator(p, nil, p.Epsilon)
	for last := most; last > 1; {
		rounds := roundsOf(k, last)
		first := roundsOf(k, rounds) // the least size with this number of rounds
		fails := func(i int) bool { return !c.holds(p.Sigma, first+i, rounds) }
		if n := sort.Search(last-first+1, fails); n > 0 {
			return first + n - 1
		}
		last = first - 1
	}
	return 1
}

// recordEpochs returns the epochs k of all rounds that use one record.
func (p *Plan) recordEpochs() float64 { return float64(p.copies()) * p.Epochs }

// limits returns the limits of the theorem for k epochs at ε, with the γ of the plan's method.
func (p *Plan) limits(k float64) (closedform.Limits, error) {
	l, err := closedform.Limit(p.Method.form(), p.N, k, p.Theta, p.Epsilon, p.Delta)
	if err == nil && p.Method == Paper {
		err = p.asRun(&l, k)
	}
	if err != nil {
		return l, err
	}
	printed, err := closedform.Gamma(closedform.Printed, p.Epsilon, p.Delta, k)
	if err != nil {
		return l, err
	}
	p.GammaPrinted = &printed
	return l, nil
}

// asRun replaces the theorem's T_min with the paper's. The paper iterates γ ← rhs(σ, ε/(γk)) from γ = 2
// and stops when γ grows by no more than a relative 1e-4. Because rhs decreases with γ, the first
// iterate lies above the root and the second below it. The iteration therefore stops after one step,
// and (treq1) is not considered.
func (p *Plan) asRun(l *closedform.Limits, k float64) error {
	const start, stop = 2, 1e-4
	gamma, err := closedform.RHS(closedform.Printed, p.Sigma, p.Epsilon/(start*k))
	if err != nil {
		return fmt.Errorf("the paper's iteration fails: %w: %w", err, dp.ErrNotCovered)
	}
	if gamma-start <= stop*start {
		gamma = start
	}
	l.Gamma = gamma
	l.TTreq3 = gamma * (p.Theta * k) * (p.Theta * k) / p.Epsilon
	l.TMin, l.Binding = l.TTreq3, "treq3"
	l.SMax = k * float64(p.N) / l.TMin
	return nil
}

// setLimits sets TMin, SMax and the other limits that the theorem has for one client.
func (p *Plan) setLimits(l closedform.Limits, computations int) {
	rounds := func(t float64) int { return int(min(math.Ceil(t), maxCount)) }
	size := func(s float64) int { return int(min(s, float64(computations))) }
	copies := float64(p.copies())
	least, asymRounds, asymSize := l.TMin/copies, rounds(l.TMinAsym/copies), size(l.SMaxAsym)
	p.Gamma, p.TMinReal, p.SMaxReal, p.Binding = &l.Gamma, &least, &l.SMax, l.Binding
	p.TMin, p.SMax = rounds(least), size(l.SMax)
	p.TMinAsym, p.SMaxAsym = &asymRounds, &asymSize
}

// tooFine sets the plan's reason: even samples of one record are not allowed. Except for the method
// Paper, it adds the least ε and the most epochs that would allow them.
func (p *Plan) tooFine(r Request) {
	e := Infeasible{
		Cost: fmt.Sprintf("the largest sample size is %s, less than one record (%s)", down(*p.SMaxReal, 3), p.Binding),
	}
	if p.Method != Paper { // the γ of Paper is not a root, so s need not grow with ε
		e.Remedies = p.coarser(r)
	}
	p.Reason, p.Remedies = e.Reason(), e.Remedies
}

// coarser returns the least ε and the most epochs with which samples of one record are allowed.
func (p *Plan) coarser(r Request) Remedies {
	form, n := p.Method.form(), float64(p.copies())
	atLeastOne := func(lo, hi float64, limit func(x float64) (closedform.Limits, error)) (float64, bool) {
		log := func(t float64) float64 {
			l, err := limit(math.Exp(t))
			if err != nil {
				return math.NaN()
			}
			return math.Log(l.SMax)
		}
		t, err := root.Find(log, math.Log(lo), math.Log(hi), 1e-10)
		return math.Exp(t), err == nil
	}
	var remedies Remedies
	eps, ok := atLeastOne(p.Epsilon, maxEpsilon, func(eps float64) (closedform.Limits, error) {
		return closedform.Limit(form, p.N, p.recordEpochs(), p.Theta, eps, p.Delta)
	})
	eps = roundUp(eps)
	if sigma, err := closedform.Sigma(eps, p.Delta); ok && err == nil {
		change, to, shown := "epsilon", eps, up(sigma, digits)
		if r.Sigma != 0 { // rounded down, so that the ε of this σ is not smaller
			change, to, shown = "sigma", roundDown(sigma), down(sigma, digits)
		}
		remedies.add(change, to, p.Method, fmt.Sprintf("allow ε = %g, that is σ = %s", eps, shown))
	}
	k, ok := atLeastOne(minEpochs, p.Epochs, func(k float64) (closedform.Limits, error) {
		return closedform.Limit(form, p.N, n*k, p.Theta, p.Epsilon, p.Delta)
	})
	if k = float64(int(k*float64(p.N))) / float64(p.N); ok && k > 0 { // whole computations, which whole rounds make
		k = roundDown(k)
		remedies.add("epochs", k, p.Method, fmt.Sprintf("lower k to %g", k))
	}
	return remedies
}
