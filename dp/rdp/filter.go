package rdp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/rng"
)

// Limits are what a [Filter] is fixed by. They are chosen before the first
// release, from what is public then, and recorded: validity rests on it.
type Limits struct {
	Epsilon float64 `json:"epsilon"` // ε ≥ 0 of everything, however much of it is spent
	Delta   float64 `json:"delta"`   // δ in (0, 1) of everything

	// Orders are the orders α in (1, 1e10] that are looked at, from 1 to MaxOrders
	// of them, none twice. Each has δ/m, m of them, and must let something through
	// for that; see [PlannedOrder] for the one that serves a plan best.
	Orders []float64 `json:"orders"`
}

// MaxOrders is how many orders a filter may have.
const MaxOrders = 64

// Validate reports every field of l that is outside its range.
func (l Limits) Validate() error {
	errs := []error{dp.CheckNotNegative("epsilon", l.Epsilon), dp.CheckDelta(l.Delta, 0)}
	if n := len(l.Orders); n < 1 || n > MaxOrders {
		errs = append(errs, fmt.Errorf("%d orders, must be from 1 to %d", n, MaxOrders))
		return errors.Join(errs...)
	}
	good := errors.Join(errs...) == nil
	for i, alpha := range l.Orders {
		wrong := CheckOrder(alpha)
		if slices.Contains(l.Orders[:i], alpha) {
			wrong = errors.Join(wrong, fmt.Errorf("order = %v stands twice, each has its share of δ", alpha))
		}
		if good && wrong == nil && !(l.budget(alpha) > 0) {
			wrong = fmt.Errorf("order = %v lets nothing through at ε = %v, δ = %v over %d, must be larger", alpha,
				l.Epsilon, l.Delta, len(l.Orders))
		}
		errs = append(errs, wrong)
	}
	return errors.Join(errs...)
}

// share is the δ of each order. What it is rounded by is within the rounding of
// epsilon.
func (l Limits) share() float64 { return l.Delta / float64(len(l.Orders)) }

// budget is B(α), the divergence that order alpha lets through, to rounding.
func (l Limits) budget(alpha float64) float64 {
	return (math.Log(l.share()) - logDelta(alpha, 0, l.Epsilon)) / (alpha - 1)
}

// Needs returns the least ε, rounded up, with which a filter of these δ and
// orders would let all the events through: the least over the orders of
// Epsilon(α, Σ τ(α), δ/m). It is no guarantee of rounds that were chosen by
// results: that is the ε that was fixed. Errors are those of [NewFilter] and
// [Accountant].
func (l Limits) Needs(ctx context.Context, events []dp.Event) (float64, error) {
	return l.of(ctx, events, (*Filter).needs)
}

// Used returns the part of the filter that the events use up, to rounding, above 1
// if they are not let through: the least over the orders of Σ τ(α)/B(α). Twice the
// rounds use twice as much of each order. Errors are those of Needs.
func (l Limits) Used(ctx context.Context, events []dp.Event) (float64, error) {
	return l.of(ctx, events, (*Filter).used)
}

// of returns what an unspent filter says of the divergences of the events.
func (l Limits) of(ctx context.Context, events []dp.Event, what func(f *Filter, spent []float64) float64) (
	float64, error,
) {
	f, err := NewFilter(l)
	if err != nil {
		return 0, err
	}
	spent, err := f.with(ctx, events)
	if err != nil {
		return 0, err
	}
	return what(f, spent), nil
}

// ErrBudgetSpent is what [Filter.Spend] wraps when rounds would go beyond the
// budget. Nothing is recorded then.
var ErrBudgetSpent = errors.New("budget spent")

// Filter is the tight budget for rounds that are chosen as one goes: the noise,
// rate and clipping norm of every round, and when to stop, may depend on all that
// was released before. Sum up the divergences τ(α) of all rounds; the filter lets
// a round through if, with it, at one of its m orders at least,
//
//	Epsilon(α, Σ τ(α), δ/m) ≤ ε,  that is  Σ τ(α) ≤ B(α)
//
// Then all that is released, wherever it ends, is (ε, δ)-private: with one order
// Feldman, Zrnic 2021 ("Individual Privacy Accounting via a Rényi Filter", Theorem
// 3.1) and Lécuyer 2021 ("Practical Privacy Filters and Odometers with Rényi DP",
// Theorem 1). For m orders: let R be the ratio of the probabilities P and Q of the
// transcript on neighbours, a = α-1. A round's τ is known before it, so that given
// the past the mean under P of its factor of R^a is at most e^(aτ), and
// R^a·e^(-aΣτ) is a non-negative supermartingale under P that begins at 1: at every
// end its mean is at most 1. For every R, (1 - e^ε/R)₊ ≤ c·R^a·e^(-aε) with
// c = (1-1/α)^a/α, the conversion of [Epsilon]. Every end is in some A_j, where order
// j has Σ τ ≤ B_j, so
//
//	δ(ε) = E_P[(1 - e^ε/R)₊] ≤ Σ_j c_j·e^(a_j(B_j-ε))·E_P[R^(a_j)·e^(-a_jΣτ)] ≤ Σ_j δ/m = δ
//
// Where the order that fits depends on the results the terms of several orders do
// add up: the least ε of all orders at the end, each at the whole δ, is not valid
// (a test has a mechanism with 1.99 times the δ). With one order nothing is divided,
// and a sequence costs what it costs [Accountant] at that order.
//
// A record that several clients hold has one filter for all of them, through which
// goes every round of each before it is released. Rounds of one run have one mechanism:
// a leg with other noise under the name of a run that was let through before is
// refused; that events without a name have noise of their own is assumed. Make one
// with [NewFilter]: of any other, methods return an error or panic. It is not safe for
// concurrent use.
type Filter struct {
	limits Limits
	spent  []float64 // Σ τ at each order, rounded up
	kind   dp.Event  // its sampling and adjacency are those of all rounds; empty before the first

	runs map[rng.Name]dp.Event // the first event of each run that has a name

	// The pair that was asked for last: rounds come in rows of one kind.
	last            pair
	lastDivergences []float64
}

// NewFilter returns an unspent filter. Limits outside their ranges are an error.
func NewFilter(l Limits) (*Filter, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	l.Orders = slices.Clone(l.Orders)
	return &Filter{limits: l, spent: make([]float64, len(l.Orders)), runs: map[rng.Name]dp.Event{}}, nil
}

// Limits returns what the filter is fixed by.
func (f *Filter) Limits() Limits {
	l := f.limits
	l.Orders = slices.Clone(l.Orders)
	return l
}

// Needs is [Limits.Needs] of all rounds that were let through: how much of ε is
// used, 0 before the first. What is guaranteed is [Filter.Guarantee].
func (f *Filter) Needs() float64 {
	if f.kind.Sampling == "" {
		return 0
	}
	return f.needs(f.spent)
}

// Used is [Limits.Used] of all rounds that were let through.
func (f *Filter) Used() float64 { return f.used(f.spent) }

// Guarantee returns what holds of all that is let through, whoever chose it by
// whatever was released: the whole ε at the whole δ, however little is spent.
// Adjacency and sampling are those of the rounds, empty before the first.
func (f *Filter) Guarantee() dp.Bound {
	if err := f.made(); err != nil {
		panic(err) // ε = 0 would be claimed
	}
	eps, delta := f.limits.Epsilon, f.limits.Delta
	return dp.Bound{
		Epsilon: eps, EpsilonUpper: eps, DeltaLower: delta, Delta: delta, DeltaUpper: delta,
		Kind: dp.Upper, Accountant: FilterName, Adjacency: f.kind.Adjacency, Sampling: f.kind.Sampling,
	}
}

// FilterName stands for the accountant in what a filter guarantees.
const FilterName = "rdp-filter"

// Spend lets the events through, before they are released, or refuses all of
// them and records nothing: with ErrBudgetSpent, wrapped, if they would go beyond
// the budget, with dp.ErrNotCovered, wrapped, if they are not covered by
// [Accountant] or not of the sampling and adjacency of those before, with
// dp.ErrSharedNoise, wrapped, if they name the noise of rounds of another mechanism,
// with context.Cause(ctx) once ctx is done. Rounds that were let through and not run
// still count.
func (f *Filter) Spend(ctx context.Context, events []dp.Event) error {
	if err := f.made(); err != nil {
		return err
	}
	spent, err := f.with(ctx, events)
	if err != nil {
		return err
	}
	if need := f.needs(spent); !(need <= f.limits.Epsilon) {
		return fmt.Errorf("with these rounds ε = %s is needed, must be at most %v: %w", decimal.Up(need, 6),
			f.limits.Epsilon, ErrBudgetSpent)
	}
	runs, err := f.ownNoise(events)
	if err != nil {
		return err
	}
	maps.Copy(f.runs, runs)
	f.spent, f.kind = spent, events[0]
	return nil
}

// ownNoise returns the runs that the events name and the filter has not met.
func (f *Filter) ownNoise(events []dp.Event) (map[rng.Name]dp.Event, error) {
	if _, err := dp.Compose(events); err != nil {
		return nil, err
	}
	runs := map[rng.Name]dp.Event{}
	for i, e := range events {
		if !e.Noise.Known() {
			continue
		}
		if first, met := f.runs[e.Noise.Name]; !met {
			runs[e.Noise.Name] = e
		} else if !e.Alike(first) {
			return nil, fmt.Errorf("event %d: of %s were rounds of another mechanism before: %w", i, e.Noise.Name,
				dp.ErrSharedNoise)
		}
	}
	return runs, nil
}

// Remaining returns how many rounds like e, whose Count is not looked at, would be
// let through now, up to 2^53. Errors are those of Spend but for ErrBudgetSpent.
func (f *Filter) Remaining(ctx context.Context, e dp.Event) (int, error) {
	if err := f.made(); err != nil {
		return 0, err
	}
	const most = 1 << 53
	count := func(n int) []dp.Event {
		e.Count = n
		return []dp.Event{e}
	}
	if _, err := f.with(ctx, count(1)); err != nil {
		return 0, err
	}
	if _, err := f.ownNoise(count(1)); err != nil {
		return 0, err
	}
	n := sort.Search(most, func(n int) bool {
		spent, err := f.with(ctx, count(n+1))
		return err != nil || !(f.needs(spent) <= f.limits.Epsilon)
	})
	return n, context.Cause(ctx)
}

// with returns what is spent with the events.
func (f *Filter) with(ctx context.Context, events []dp.Event) ([]float64, error) {
	r, b, err := Accountant{}.release(events, nil)
	if err != nil {
		return nil, err
	}
	if k := f.kind; k.Sampling != "" && (b.Sampling != k.Sampling || b.Adjacency != k.Adjacency) {
		return nil, fmt.Errorf("%q under %q adjacency differs from %q under %q of the rounds before: %w",
			b.Sampling, b.Adjacency, k.Sampling, k.Adjacency, dp.ErrNotCovered)
	}
	spent := slices.Clone(f.spent)
	for _, same := range r {
		taus := f.divergences(ctx, same.pair)
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		for j, tau := range taus {
			spent[j] = math.Nextafter(spent[j]+math.Nextafter(same.count*tau, math.Inf(1)), math.Inf(1))
		}
	}
	return spent, nil
}

// divergences are those of one round at each order, rounded up, or a part of them
// once ctx is done.
func (f *Filter) divergences(ctx context.Context, p pair) []float64 {
	if f.lastDivergences != nil && f.last == p {
		return f.lastDivergences
	}
	taus := make([]float64, len(f.limits.Orders))
	for j, alpha := range f.limits.Orders {
		if ctx.Err() != nil {
			return taus
		}
		taus[j] = p.divergence(alpha-1) * (1 + margin)
	}
	f.last, f.lastDivergences = p, taus
	return taus
}

func (f *Filter) used(spent []float64) float64 {
	least := math.Inf(1)
	for j, alpha := range f.limits.Orders {
		least = min(least, spent[j]/f.limits.budget(alpha))
	}
	return least
}

// needs is the least ε over the orders, each at its share of δ, for what is spent.
func (f *Filter) needs(spent []float64) float64 {
	least := math.Inf(1)
	for j, alpha := range f.limits.Orders {
		least = min(least, epsilon(alpha, spent[j], f.limits.share()))
	}
	return least
}

// PlannedOrder returns the order, to six digits, at which a filter of (ε, δ) with
// this one order lets a plan's rounds through most often, one copy of the plan
// after the other: the order for rounds like these if the budget is used up. It
// depends on ε > 0, δ and the plan alone, so it is fixed as soon as these are; the
// counts of the events matter only beside each other. Errors are those of
// [Accountant].
func PlannedOrder(ctx context.Context, epsilon, delta float64, plan []dp.Event) (float64, error) {
	wrong := errors.Join(dp.CheckNotNegative("epsilon", epsilon), dp.CheckDelta(delta, 0))
	if epsilon == 0 {
		wrong = errors.Join(errors.New("epsilon = 0, must be positive for an order"), wrong)
	}
	r, _, err := Accountant{}.release(plan, wrong)
	if err != nil {
		return 0, err
	}
	// The copies are (aε + log δ + (1+a)log(1+a) - a·log a) over the plan's aτ, of a =
	// α-1: concave and increasing over convex and increasing, from below 0. So they
	// have one peak.
	l := Limits{Epsilon: epsilon, Delta: delta, Orders: make([]float64, 1)}
	best, _ := leastOfAll(func(alpha float64) float64 { return -l.budget(alpha) / r.divergence(ctx, alpha) })
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	if short, err := strconv.ParseFloat(strconv.FormatFloat(best, 'g', 6, 64), 64); err == nil && short > 1 {
		return short, nil
	}
	return best, nil
}

// made reports a filter that cannot be spent.
func (f *Filter) made() error {
	if f == nil || len(f.spent) == 0 {
		return errors.New("this Filter was not made by NewFilter")
	}
	return nil
}
