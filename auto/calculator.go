package auto

import (
	"context"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/rdp"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
	"proactivedp/train"
)

// tightRounds is the number of rounds of a stage of strategy Tight. With enough rounds to converge, the
// accuracy depends only on the signal s√T/σ.
const tightRounds = 1000

// enoughSignal is the part of the largest signal that a stage of strategy Tight must have. Its sample
// size is about the least with that signal: larger samples take more time for nearly the same accuracy.
const enoughSignal = 0.98

// startSigma is the noise multiplier with which the search of a filter's order begins.
const startSigma = 2

// The common practice that strategy Default uses.
const (
	defaultSize   = 256
	defaultEpochs = 15
)

// growth is the ratio of the shares of the budget that consecutive stages use.
const (
	growth     = 2
	leastShare = 0.01 // a smaller share of a budget is not worth a stage
)

// parts is the number of parts of K that a stage of the paper's strategies can have. In the paper, a client chooses the
// K_j of each stage.
const parts = 16

// calculator is the flow chart's "DP Calculator" of a task. It uses the ledgers and the utility graph,
// but never the data.
type calculator struct {
	task    Task
	outlook Outlook
	size    int // s and T of every stage; 0 for the strategies of the paper
	rounds  int
}

// sizes fixes s and T for all clients of the accounts before the first release. If fixed is false it
// also fixes the orders of the filters. It returns the least noise with which some account admits one
// stage.
func sizes(ctx context.Context, t Task, accounts []Account, fixed bool) (size, rounds int, least float64, err error) {
	if t.Strategy.ByTheorem() {
		return 0, 0, 0, nil
	}
	size = math.MaxInt
	for i := range accounts {
		a := &accounts[i]
		s, r := min(defaultSize, a.Records), 0
		if t.Strategy == Default {
			r = max(1, defaultEpochs*a.Records/s)
		} else {
			r = tightRounds
			if s, err = a.tightSize(ctx); err != nil {
				return 0, 0, 0, err
			}
		}
		size = min(size, s)
		if i == 0 || r < rounds {
			rounds = r
		}
	}
	for i := range accounts {
		a := &accounts[i]
		if !fixed && !a.Once {
			if _, _, err := a.fixOrder(ctx, size, rounds); err != nil {
				return 0, 0, 0, err
			}
		}
		l, err := newLedger(*a)
		if err != nil {
			return 0, 0, 0, err
		}
		sigma, ok, err := l.noiseFor(ctx, 1, size, rounds, len(a.Clients))
		if err != nil {
			return 0, 0, 0, err
		}
		if ok && (least == 0 || sigma < least) {
			least = sigma
		}
	}
	return size, rounds, least, nil
}

// tightSize returns a sample size for which a stage that uses the whole budget, with a filter of the
// best order if there are no persons, has nearly the largest signal s√T/σ. It tries N and its halves. At small ε the filter
// punishes noise multipliers around 2, because its single order must then be large; so no noise
// multiplier is best for every budget.
func (a Account) tightSize(ctx context.Context) (int, error) {
	best, chosen := 0.0, 0
	for size := a.Records; size >= 1; size /= 2 {
		sigma, ok, err := a.leastNoise(ctx, size, tightRounds)
		if err != nil {
			return 0, err
		}
		signal := 0.0
		if ok {
			signal = float64(size) / sigma
		}
		if best = max(best, signal); signal < enoughSignal*best {
			break // a smaller sample has less signal
		}
		chosen = size
	}
	return max(chosen, 1), nil
}

// leastNoise returns the least noise of a stage that uses the whole budget. For persons it is that of a
// single stage, otherwise that of fixOrder. ok is false if no noise is enough.
func (a Account) leastNoise(ctx context.Context, size, rounds int) (sigma float64, ok bool, err error) {
	if a.Group == 0 {
		return a.fixOrder(ctx, size, rounds)
	}
	l, err := newLedger(a)
	if err != nil {
		return 0, false, err
	}
	return l.noiseFor(ctx, 1, size, rounds, len(a.Clients))
}

// fixOrder sets the order of the account's filter: the order at which a stage that uses the whole
// budget needs the least noise. It returns that noise. ok is false if no noise is enough.
func (a *Account) fixOrder(ctx context.Context, size, rounds int) (sigma float64, ok bool, err error) {
	sigma = startSigma
	for range 4 { // the best order depends on the noise, and the noise depends only a little on the order
		order, err := rdp.PlannedOrder(ctx, a.Epsilon, a.Delta,
			[]dp.Event{a.event(sigma, size, rounds, len(a.Clients))})
		if err != nil {
			return 0, false, err
		}
		a.Orders = []float64{order}
		l, err := newLedger(*a)
		if err != nil {
			return 0, false, err
		}
		next, ok, err := l.noiseFor(ctx, 1, size, rounds, len(a.Clients))
		if err != nil || !ok {
			return 0, false, err
		}
		if sigma == next {
			break
		}
		sigma = next
	}
	return sigma, true, nil
}

// stagePlan is the calculator's plan of the next stage for the clients of one account. It has the noise
// multiplier and the sample size, or the reason why there is no next stage.
type stagePlan struct {
	sigma float64
	size  int // s; there are comps/s rounds
	comps int // K_j, the gradients of each client; only for the strategies of the paper
	why   string
}

// next plans the next stage for the unsatisfied clients of the account. clients is their number and
// target the strictest of their targets. past are the earlier stages of the task.
func (c *calculator) next(ctx context.Context, l *ledger, past []Stage, clients int, target, margin float64) (
	p stagePlan, err error,
) {
	switch c.task.Strategy {
	case Paper, PaperTarget:
		return c.paper(ctx, l, past, clients, target)
	case Default:
		return c.whole(ctx, l, clients)
	}
	return c.tight(ctx, l, past, clients, target, margin)
}

// reach returns the largest noise multiplier at which the accuracy can still be reached. For a clipping
// norm C_i, the paper's range R_i ends at the largest noise multiplier up to which all points reach the
// accuracy; reach returns the end of the longest R_i. The result is 0 if no point reaches the accuracy.
func (o Outlook) reach(accuracy float64) float64 {
	beyond := map[float64]float64{} // for each C, the least σ that is too large
	for _, p := range o.Points {
		if first, seen := beyond[p.Clip]; p.Accuracy < accuracy && (!seen || p.Sigma < first) {
			beyond[p.Clip] = p.Sigma
		}
	}
	sigma := 0.0
	for _, p := range o.Points {
		if first, ends := beyond[p.Clip]; p.Accuracy >= accuracy && (!ends || p.Sigma < first) {
			sigma = max(sigma, p.Sigma)
		}
	}
	return sigma
}

// pick returns the point to use for noise multiplier sigma:
//
//  1. For each clipping norm, the candidate is the point of the least σ that is at least sigma.
//  2. With largest, it is the candidate of the largest C that reaches the accuracy.
//  3. Otherwise, or if no candidate reaches it, it is the most accurate candidate.
//  4. If there are no candidates, it is the point of the most noise.
func (o Outlook) pick(sigma, accuracy float64, largest bool) Point {
	at := map[float64]Point{}
	var most, best Point
	for _, p := range o.Points {
		if p.Sigma > most.Sigma || p.Sigma == most.Sigma && p.Accuracy > most.Accuracy {
			most = p
		}
		if q, seen := at[p.Clip]; p.Sigma >= sigma && (!seen || p.Sigma < q.Sigma) {
			at[p.Clip] = p
		}
	}
	better := func(p, q Point) bool {
		if p.Accuracy == q.Accuracy {
			return p.Clip > q.Clip
		}
		return p.Accuracy > q.Accuracy
	}
	for _, p := range at {
		reaches, bestReaches := p.Accuracy >= accuracy, best.Accuracy >= accuracy
		switch {
		case best.Sigma == 0, largest && reaches && !bestReaches:
			best = p
		case largest && reaches && bestReaches:
			if p.Clip > best.Clip {
				best = p
			}
		case largest && bestReaches:
		case better(p, best):
			best = p
		}
	}
	if best.Sigma == 0 {
		return most
	}
	return best
}

// tight uses the whole filter in one stage, because earlier stages that are too noisy would be paid for
// nothing. It only uses less if the utility graph of the task's own data says that the target needs less,
// or if the task asks for more stages. Each further stage uses twice as much as the one before, and the
// last one everything that is left.
func (c *calculator) tight(ctx context.Context, l *ledger, past []Stage, clients int, target, margin float64) (
	stagePlan, error,
) {
	if l.Once {
		return c.whole(ctx, l, clients)
	}
	used, err := l.used(ctx)
	if err != nil {
		return stagePlan{}, err
	}
	left, sigmaBefore := 1-used, math.Inf(1)
	share := left
	if mine := stagesOf(past, l.Account); len(mine) > 0 {
		last := mine[len(mine)-1]
		events := last.events(l.Account, c.task.Spec.Seed)
		spent, err := l.limits().Used(ctx, events)
		if err != nil {
			return stagePlan{}, err
		}
		share = growth * spent
		sigmaBefore = events[0].NoiseMultiplier
	} else if n := c.task.Stages; n > 0 { // what is left for the last stage is more than its share
		share = left * math.Pow(growth, -float64(n))
	} else if c.outlook.Same {
		sigma := c.outlook.reach(min(1, target+margin))
		if sigma == 0 {
			share = left // no point reaches the target, so use everything
		} else {
			e := l.event(sigma, c.size, c.rounds, clients)
			with, err := l.usedWith(ctx, []dp.Event{e})
			if err != nil {
				return stagePlan{}, err
			}
			share = with - used
		}
	}
	if share > left || left-share < growth*share {
		share = left
	}
	if left < leastShare {
		return stagePlan{why: "its budget is spent"}, nil
	}
	sigma, ok, err := l.noiseFor(ctx, used+share, c.size, c.rounds, clients)
	switch {
	case err != nil:
		return stagePlan{}, err
	case !ok:
		return stagePlan{why: "its budget admits no stage, whatever the noise"}, nil
	case sigma >= sigmaBefore:
		return stagePlan{why: fmt.Sprintf("what is left of its budget needs σ = %s, no less than before: %s",
			decimal.Up(sigma, 6), decimal.Down(100*left, 4)+" %")}, nil
	}
	return stagePlan{sigma: sigma, size: c.size}, nil
}

// whole uses everything that is left of the budget in one stage.
func (c *calculator) whole(ctx context.Context, l *ledger, clients int) (stagePlan, error) {
	if used, err := l.used(ctx); err != nil || 1-used < leastShare {
		return stagePlan{why: "its budget is spent"}, err
	}
	sigma, ok, err := l.noiseFor(ctx, 1, c.size, c.rounds, clients)
	if err != nil || !ok {
		return stagePlan{why: "its budget admits no stage, whatever the noise"}, err
	}
	return stagePlan{sigma: sigma, size: c.size}, nil
}

// paper follows the paper's appendix "DP Calculator". σ_0 is the largest noise at which the target may
// be reached. Each later σ_j is the noise of twice the ε, at most the target's, and is below σ_{j−1}. s is the largest sample size that Theorem
// simpleF allows for K more gradients after all earlier rounds, which are counted as if they had run at
// σ_j. If no noise allows K more, K_j is the largest part of K that the least noise allows. Otherwise a client
// would stop with more of its budget left.
func (c *calculator) paper(ctx context.Context, l *ledger, past []Stage, clients int, target float64) (
	stagePlan, error,
) {
	least, err := closedform.Sigma(l.Epsilon, l.Delta)
	if err != nil {
		return stagePlan{}, err
	}
	eps, lower := l.Epsilon, math.Inf(1) // σ_j must be below lower, which is σ_{j−1}
	mine := stagesOf(past, l.Account)
	if len(mine) > 0 {
		last := mine[len(mine)-1].events(l.Account, c.task.Spec.Seed)[0].NoiseMultiplier
		before, err := closedform.Epsilon(last, l.Delta)
		if err != nil {
			return stagePlan{}, err
		}
		eps, lower = min(growth*before, l.Epsilon), last
	} else if sigma := c.outlook.reach(target); sigma == 0 && c.outlook.Same {
		return stagePlan{why: "no point of the utility graph reaches its target"}, nil
	} else if sigma != 0 && sigma < least {
		need, err := closedform.Epsilon(sigma, l.Delta)
		if err != nil {
			return stagePlan{}, err
		}
		return stagePlan{why: fmt.Sprintf("its target allows σ ≤ %s, but ε = %v needs σ ≥ %s: ε = %s would be "+
			"enough",
			decimal.Down(sigma, 6), l.Epsilon, decimal.Up(least, 6), decimal.Up(need, 4))}, nil
	} else if sigma != 0 {
		if eps, err = closedform.Epsilon(sigma, l.Delta); err != nil {
			return stagePlan{}, err
		}
	}
	for ; ; eps = min(growth*eps, l.Epsilon) {
		sigma, err := closedform.Sigma(eps, l.Delta)
		if err != nil {
			return stagePlan{}, err
		}
		// Rounding up makes the ε of σ a little less than eps, so the next eps may still ask for the same σ.
		if sigma = rounded(max(sigma, least)); sigma >= lower {
			if eps >= l.Epsilon {
				return stagePlan{why: fmt.Sprintf("σ = %s is already the least that ε = %v allows", decimal.Up(lower, 6),
					l.Epsilon)}, nil
			}
			continue
		}
		size, reason, err := c.largest(ctx, l, sigma, c.outlook.GradComps, clients)
		if err != nil {
			return stagePlan{}, err
		}
		if size > 0 {
			return stagePlan{sigma: sigma, size: size, comps: c.outlook.GradComps}, nil
		}
		if eps < l.Epsilon {
			continue
		}
		for part := parts - 1; part > 0; part-- {
			comps := c.outlook.GradComps * part / parts
			size, _, err := c.largest(ctx, l, sigma, comps, clients)
			if err != nil {
				return stagePlan{}, err
			}
			if size > 0 {
				return stagePlan{sigma: sigma, size: size, comps: comps}, nil
			}
		}
		return stagePlan{why: fmt.Sprintf("%s; a stage has at least a sixteenth of K = %d gradients", reason,
			c.outlook.GradComps)}, nil
	}
}

// largest returns the largest sample size of the next comps gradients at noise sigma. If no size is
// allowed, it returns 0 and the reason.
func (c *calculator) largest(ctx context.Context, l *ledger, sigma float64, comps, clients int) (int, string, error) {
	if comps < 1 {
		return 0, "there is no gradient to compute", nil
	}
	eps, err := closedform.Epsilon(sigma, l.Delta)
	least := sigma // the noise that the sizes need; more noise is allowed
	if c.task.Strategy == PaperTarget {
		eps = l.Epsilon
		if least, err = closedform.Sigma(eps, l.Delta); err == nil {
			least = min(rounded(least), sigma)
		}
	}
	if err != nil {
		return 0, "", err
	}
	k := float64(comps) / float64(l.Records)
	var run *plan.Run
	var reason string
	if len(l.events) == 0 {
		p, err := plan.Solve(ctx, plan.Request{
			N: l.Records, Epochs: k, Sigma: least, Delta: l.Delta, Clients: clients, Shared: clients > 1,
			Method: plan.ClosedForm,
		})
		if err != nil {
			return 0, "", err
		}
		run, reason = p.Run, p.Reason
	} else {
		p, err := plan.Replan(ctx, plan.NextRequest{
			Past: l.events, N: l.Records, Epochs: k, Sigma: least, Epsilon: min(eps, l.Epsilon), Delta: l.Delta,
			FixedBeforehand: true, Clients: clients, Shared: clients > 1,
		}, closedform.Accountant{})
		if err != nil {
			return 0, "", err
		}
		run, reason = p.Run, p.Reason
	}
	if run == nil {
		return 0, reason, nil
	}
	ok, err := l.lets(ctx, l.event(sigma, run.SampleSize, run.Rounds, clients))
	if err != nil {
		return 0, "", err
	}
	if !ok {
		return 0, fmt.Sprintf("its budget of ε = %v does not admit %d rounds of s = %d", l.Epsilon,
			run.Rounds*clients, run.SampleSize), nil
	}
	return run.SampleSize, "", nil
}

// stagesOf returns the stages in which clients of the account take part.
func stagesOf(stages []Stage, a Account) []Stage {
	return slices.DeleteFunc(slices.Clone(stages), func(s Stage) bool {
		return !slices.ContainsFunc(s.Participants, func(p train.Participant) bool { return a.has(p.Client) })
	})
}
