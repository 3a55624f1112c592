package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
)

// calculator finds the missing one of σ, s and T, or the cost of the run if none is missing.
type calculator struct {
	p      *Plan
	price  pricing // cost of all rounds that use one record
	target float64 // largest ε allowed
	limit  func() limit
}

// newCalculator returns a calculator, which computes its limit only once.
func newCalculator(p *Plan, price pricing, target float64) calculator {
	return calculator{p, price, target, sync.OnceValue(func() limit { return limitOf(target, p.Delta, p.Adjacency) })}
}

// calculator returns the calculator of the plan's method for a target ε.
func (p *Plan) calculator(ctx context.Context, target float64) (calculator, error) {
	price, err := p.pricing(ctx, p.copies())
	return newCalculator(p, price, target), err
}

// calculate finds the plan for every combination of fields that solveJointly does not handle.
func (p *Plan) calculate(ctx context.Context, r Request) error {
	c, err := p.calculator(ctx, p.Epsilon)
	if err != nil {
		return err
	}
	k := epochsCount(r.Epochs, p.N)
	if r.Epochs != 0 && isTooLittle(r.Epochs, p.N) {
		p.Reason = tooLittle(r.Epochs * float64(p.N))
		return nil
	}
	a, err := c.find(ctx, r, k)
	if err != nil {
		return err
	}
	if known := r.sized().SampleSize != 0 && r.Rounds != 0; k == 0 && (a.met || known) {
		k = a.s * a.rounds
		p.Epochs = float64(k) / float64(p.N)
		if p.Sampling == dp.Allocation {
			p.Epochs = float64(a.rounds) / float64(p.batchesOf(a.s))
			k = epochsCount(p.Epochs, p.N)
		}
	}
	if !a.met {
		return c.refuse(ctx, r, a)
	}
	p.Sigma = a.sigma
	return c.accept(ctx, a, k)
}

// answer is the setting that was found, or the safest one if none meets the target. what describes the
// setting, and unknown is the JSON key of the quantity that was solved for.
type answer struct {
	stop
	sigma         float64
	s, rounds     int
	what, unknown string
}

// find solves for the quantity that is missing. k is the number K of gradient computations, or 0 if it
// is not given.
func (c calculator) find(ctx context.Context, r Request, k int) (a answer, err error) {
	a = answer{sigma: c.p.Sigma, s: r.sized().SampleSize, rounds: r.Rounds}
	switch {
	case k != 0 && a.s != 0:
		a.rounds = c.p.roundsOf(k, a.s)
	case k != 0 && a.rounds != 0 && c.p.Sampling == dp.Allocation:
		a.s = sizeIn(c.p.N, c.p.batches)
	case k != 0 && a.rounds != 0:
		a.s = k / a.rounds
	}
	switch {
	case a.s != 0 && a.rounds != 0 && a.sigma != 0:
		a.bound, a.err = c.price(a.sigma, a.s, a.rounds)
		a.met = a.err == nil && !math.IsInf(a.bound.EpsilonUpper, 1)
		a.what, a.unknown = fmt.Sprintf("the run of %s of s = %d with σ = %g", rounds(a.rounds), a.s, a.sigma),
			"epsilon"
	case a.s != 0 && a.rounds != 0:
		a.stop, err = c.noise(ctx, a.s, a.rounds)
		a.sigma = a.value
		a.what, a.unknown = fmt.Sprintf("even σ = %g", a.sigma), "sigma"
	case a.s != 0:
		a.stop, err = c.rounds(ctx, a.sigma, a.s)
		a.rounds = int(a.value)
		a.what, a.unknown = fmt.Sprintf("even one round of s = %d", a.s), "rounds"
		if c.p.Sampling == dp.Allocation { // an epoch that was begun costs as much as a whole one
			a.what = fmt.Sprintf("even one epoch of t = %d batches", c.p.batchesOf(a.s))
		}
	case a.rounds != 0:
		a.stop, err = c.size(ctx, a.sigma, a.rounds, c.largestMean())
		a.s = int(a.value)
		a.what, a.unknown = fmt.Sprintf("even s = 1 in %s", rounds(a.rounds)), "sample_size"
	case a.sigma == 0:
		var b Batch
		b, a.stop, err = c.recommend(ctx, k)
		if b.Sigma != nil {
			c.p.Recommended = &b
		}
		a.s, a.rounds, a.sigma = b.SampleSize, b.Rounds, a.value
		a.what, a.unknown = fmt.Sprintf("even σ = %g", a.sigma), "sigma"
	default:
		a.stop, err = c.sizeFor(ctx, a.sigma, k)
		a.s = max(int(a.value), 1)
		a.rounds = c.p.roundsOf(k, a.s)
		a.what, a.unknown = fmt.Sprintf("even s = 1 in %s, for k = %.6g epochs,", rounds(a.rounds),
			r.Epochs), "sample_size"
	}
	return a, err
}

// pricing returns the function by which the plan's method computes costs.
func (p *Plan) pricing(ctx context.Context, copies int) (pricing, error) {
	if p.Method.isClosedForm() {
		return p.priceByForm(p.Method.form(), copies), nil
	}
	acc, err := p.Method.Accountant()
	return p.priceBy(ctx, p.searching(acc), copies), err
}

// interval returns the bound b of a search with its lower end, which is b itself unless the search left it out.
func (p *Plan) interval(ctx context.Context, b dp.Bound, sigma float64, s, rounds, copies int) (dp.Bound, error) {
	if p.Method != PLD || b.Kind != dp.Upper {
		return b, nil
	}
	acc, err := p.Method.Accountant()
	if err != nil {
		return b, err
	}
	return p.priceBy(ctx, acc, copies)(sigma, s, rounds)
}

// accept sets the plan's run to the answer a, and all numbers that follow from the run.
func (c calculator) accept(ctx context.Context, a answer, k int) error {
	p, s, rounds := c.p, a.s, a.rounds
	b, err := p.interval(ctx, a.bound, p.Sigma, s, rounds, p.copies())
	if err != nil {
		return err
	}
	client := b
	if p.copies() > 1 {
		price, err := p.pricing(ctx, 1)
		if err != nil {
			return err
		}
		if client, err = price(p.Sigma, s, rounds); err == nil {
			client, err = p.interval(ctx, client, p.Sigma, s, rounds, 1)
		}
		if err != nil {
			return fmt.Errorf("the rounds of one client: %w", err)
		}
	}
	p.Feasible, p.Epsilon = true, b.EpsilonUpper
	p.runs(s, rounds, k)
	record := p.Method.guaranteed(b)
	client = p.Method.guaranteed(client)
	p.PerRecord, p.PerClient = &record, &client
	if !p.Method.isClosedForm() {
		p.TMin, p.SMax, p.Binding = rounds, s, "epsilon"
		p.Kind = record.Kind
		return nil
	}
	// Because of rounding, the limits may exclude this run by a little.
	l, err := p.limits(float64(p.copies()) * float64(s*rounds) / float64(p.N))
	if err != nil {
		return err
	}
	p.setLimits(l, s*rounds)
	p.TMin, p.SMax = min(p.TMin, rounds), max(p.SMax, s)
	setting := p.setting(p.Sigma, s, rounds, p.copies())
	setting.Epsilon = p.Epsilon
	p.Conditions, err = closedform.Conditions(p.Method.form(), setting)
	return err
}

// refuse sets the plan's reason why there is no run: the cost of a, the safest setting, and changes
// to the request that would meet the budget.
func (c calculator) refuse(ctx context.Context, r Request, a answer) error {
	if a.err != nil && !errors.Is(a.err, dp.ErrNotCovered) {
		return a.err
	}
	e := Infeasible{SolvedFor: a.unknown, Cost: a.cost(a.what, c.target)}
	if failing := c.failing(a); len(failing) > 0 {
		e.Cost += ", by (" + strings.Join(failing, "), (") + ")"
	}
	if a.s <= c.largestMean() { // otherwise θ is too large, and no other change helps
		if a.unknown != "epsilon" {
			e.Remedies = c.remedies(ctx, r, a)
		}
		e.Remedies = append(e.Remedies, c.sharper(ctx, a)...)
	}
	c.p.Reason, c.p.Remedies, c.p.Epsilon = e.Reason(), e.Remedies, c.target
	return nil
}

// failing returns the names of the conditions of Theorem simpleF that a does not meet at the target. It
// returns nil for other methods and for settings that the theorem does not cover.
func (c calculator) failing(a answer) (names []string) {
	if a.err != nil || !c.p.Method.isClosedForm() {
		return nil
	}
	setting := c.p.setting(a.sigma, a.s, a.rounds, c.p.copies())
	setting.Epsilon = c.target
	cs, err := closedform.Conditions(c.p.Method.form(), setting)
	if err != nil {
		return nil
	}
	for _, condition := range cs {
		if condition.Theorem == closedform.SimpleF && !condition.Met {
			names = append(names, condition.Name)
		}
	}
	return names
}

// sharper suggests the methods RDP and PLD, if the closed form gives no answer within the target and
// RDP does.
func (c calculator) sharper(ctx context.Context, a answer) Remedies {
	if !c.p.Method.isClosedForm() {
		return nil
	}
	b, err := c.p.priceBy(ctx, rdp.Accountant{}, c.p.copies())(a.sigma, a.s, a.rounds)
	if err != nil || math.IsInf(b.EpsilonUpper, 1) || a.unknown != "epsilon" && b.EpsilonUpper > c.target {
		return nil
	}
	text := fmt.Sprintf("use method %q, by which this costs ε = %s", RDP, up(b.EpsilonUpper, 5))
	if a.unknown == "sigma" { // the ε is that of the largest σ: it is near 0 and of no interest
		text = fmt.Sprintf("use method %q, which has a σ for this", RDP)
	}
	e := c.p.event(a.sigma, a.s, c.p.copies()*a.rounds)
	if c.p.Delta >= pld.MinDelta && e.SampleRate() >= pld.MinRate && float64(e.Count) <= pld.MaxRounds {
		text += fmt.Sprintf(", or %q", PLD)
	}
	return Remedies{{Change: "method", Method: RDP, Text: text}}
}

// remedies returns changes of a single number that bring a within the target. If another number of the
// request must follow, the text mentions both, and the remedy changes the one that was given.
func (c calculator) remedies(ctx context.Context, r Request, a answer) Remedies {
	var tell Remedies
	m := c.p.Method
	if a.unknown != "sigma" {
		if s, err := c.noise(ctx, a.s, a.rounds); err == nil && s.met {
			sigma := up(s.value, digits)
			tell.add(message.When(r.Sigma != 0 && !r.isJoint(), "sigma"), number(sigma), m, "raise σ to "+sigma)
		}
	}
	epochs := func(s, rounds float64) string { return shortEpochs(c.p.N, s, rounds) }
	if a.rounds > 1 {
		if s, err := c.rounds(ctx, a.sigma, a.s); err == nil && s.met {
			k := epochs(float64(a.s), s.value)
			change, to := "rounds", s.value
			if r.Epochs != 0 {
				change, to = message.When(r.Rounds == 0 && r.SampleSize != 0, "epochs"), number(k)
			}
			tell.add(change, to, m, fmt.Sprintf("lower T to %.0f, that is k to %s", s.value, k))
		}
	}
	if a.s > 1 {
		if s, err := c.size(ctx, a.sigma, a.rounds, a.s); err == nil && s.met {
			change, to := "sample_size", s.value
			if r.SampleSize == 0 {
				change, to = message.When(r.Epochs != 0, "epochs"), number(epochs(s.value, float64(a.rounds)))
			} else if r.Epochs != 0 {
				change = "" // a smaller s would increase the number of rounds
			}
			tell.add(change, to, m, fmt.Sprintf("lower s to %.0f", s.value))
		}
	}
	return tell
}

// shortEpochs returns the epochs of the given rounds of size s over the given records, rounded down to
// six digits. It uses more digits if six would lose a whole round or a size of 1.
func shortEpochs(records int, s, rounds float64) string {
	n := float64(records)
	for digits := 6; digits < 17; digits++ {
		text := down(rounds*s/n, digits)
		if k := number(text); !isTooLittle(k, records) && float64(epochsCount(k, records)) >= max(s, rounds) {
			return text
		}
	}
	return decimal.Exactly(rounds * s / n)
}

// tooLittle returns the reason why epochs that amount to less than one gradient computation are
// refused.
func tooLittle(kn float64) string {
	return fmt.Sprintf("k·N = %s is less than one gradient computation", down(kn, 3))
}
