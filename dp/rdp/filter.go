package rdp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/rng"
)

// Limits are the parameters of a [Filter], a privacy budget for rounds that are chosen during a training: the budget
// (ε, δ) and the Rényi orders by which the filter counts. Choose them before the first release, without looking at
// the records, and write them down: the guarantee holds only for limits that were fixed beforehand.
type Limits struct {
	Epsilon float64 `json:"epsilon"` // ε ≥ 0 that all rounds together may cost at most
	Delta   float64 `json:"delta"`   // δ in (0, 1) at which they may cost ε

	// Orders are the Rényi orders α by which the filter counts: 1 to MaxOrders different numbers in (1, 1e10]. Use
	// one order, from [PlannedOrder], if you have a plan of the rounds. Use several if the rounds may turn out
	// differently: a round passes if it fits at any of the orders, but with m orders each has only the share δ/m of
	// δ. Validate refuses an order that would let no round through with this share.
	Orders []float64 `json:"orders"`
}

// MaxOrders is the largest number of Rényi orders that [Limits].Orders of a [Filter] may list.
const MaxOrders = 64

// Validate returns one error that lists every field of l outside its range.
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
			wrong = errors.Join(wrong, fmt.Errorf("order = %v occurs twice, must occur once: each has its share of δ", alpha))
		}
		if good && wrong == nil && !(l.budget(alpha) > 0) {
			wrong = fmt.Errorf("order = %v lets no round through at ε = %v, δ = %v/%d, must be larger", alpha,
				l.Epsilon, l.Delta, len(l.Orders))
		}
		errs = append(errs, wrong)
	}
	return errors.Join(errs...)
}

// share is the δ of each order. Its rounding error is within the rounding of epsilon.
func (l Limits) share() float64 { return l.Delta / float64(len(l.Orders)) }

// budget is B(α), the largest divergence that order alpha lets through, up to rounding.
func (l Limits) budget(alpha float64) float64 {
	return (math.Log(l.share()) - logDelta(alpha, 0, l.Epsilon)) / (alpha - 1)
}

// Needs returns the least ε, rounded up, at which a filter (a budget for rounds that are chosen during a training)
// with this δ and these orders would let all the events through. The field Epsilon of l is ignored. Use Needs to
// choose the ε of a filter for planned rounds. With m orders, it is the least Epsilon(α, τ, δ/m) over the orders α,
// where τ is the sum of the events' Rényi divergences of order α. If rounds were already chosen from earlier results,
// the returned ε is no guarantee: only an ε that was fixed beforehand is one. Errors are those of [NewFilter] and
// [Accountant].
func (l Limits) Needs(ctx context.Context, events []dp.Event) (float64, error) {
	return l.of(ctx, events, (*Filter).needs)
}

// Used returns the fraction of the budget of a filter with these limits that the events use, up to rounding. If it is
// above 1, the filter would refuse the events. Twice as many rounds use twice the fraction. It is the least fraction
// over the orders: the events' sum of Rényi divergences of the order, divided by the largest sum that the order lets
// through. Like [Limits.Needs], it returns the errors of [NewFilter] and [Accountant].
func (l Limits) Used(ctx context.Context, events []dp.Event) (float64, error) {
	return l.of(ctx, events, (*Filter).used)
}

// of returns the result of the function what for an unspent filter with these limits and for the
// divergences of the events.
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

// ErrBudgetSpent is wrapped by the error of [Filter.Spend] if rounds would exceed the budget. The filter
// then records nothing.
var ErrBudgetSpent = errors.New("budget spent")

// Proof that a Filter with m orders is (ε, δ)-private. Order α lets a round through if, with that round, Σ
// τ(α) ≤ B(α), where B(α) is the largest sum with Epsilon(α, B(α), δ/m) ≤ ε.
//
//  1. Let R be the ratio of the probabilities P and Q of everything that is released (the transcript) on
//     two neighbours, and a = α-1. The τ of a round is known before the round. So, given the past, the
//     round's factor of R^a has mean at most e^(aτ) under P.
//  2. Hence R^a·e^(-aΣτ) is a non-negative supermartingale under P that begins at 1. Its mean at every
//     end of the training is at most 1.
//  3. For every R, (1 - e^ε/R)₊ ≤ c·R^a·e^(-aε) with c = (1-1/α)^a/α. This is the conversion of [Epsilon].
//  4. Number the orders j = 1, …, m. Every end is in some set A_j of ends where order j has Σ τ ≤ B_j. So
//
//	δ(ε) = E_P[(1 - e^ε/R)₊] ≤ Σ_j c_j·e^(a_j(B_j-ε))·E_P[R^(a_j)·e^(-a_jΣτ)] ≤ Σ_j δ/m = δ
//
// δ really must be divided among the orders, because the order that fits may depend on the results. Taking
// the least ε of all orders at the end, each at the whole δ, would be wrong: a test has a mechanism with
// 1.99 times that δ.

// Filter is a privacy budget (ε, δ) for rounds that are chosen during a training. The noise, the rate and the
// clipping norm of every round, and when to stop, may depend on all earlier releases. Call [Filter.Spend] before each
// release: it refuses rounds that would exceed the budget. Everything that passes the filter is together (ε,
// δ)-private, whenever the training ends.
//
// The filter adds up τ(α), the Rényi divergences of order α of all rounds. With m orders, it lets a round
// through if at least one order α satisfies, with that round, Epsilon(α, Σ τ(α), δ/m) ≤ ε. For one order,
// the guarantee is proved by Feldman, Zrnic 2021 ("Individual Privacy Accounting via a Rényi Filter",
// Theorem 3.1) and Lécuyer 2021 ("Practical Privacy Filters and Odometers with Rényi DP", Theorem 1). With
// one order, δ is not divided, and a round costs the same as in [Accountant] at that order.
//
// If several clients hold a record, all of them share one filter, and every round of each client must pass
// it before it is released.
//
// If rounds have a different mechanism than earlier ones, for example a different σ, they must have new noise,
// because noise that is the same in two releases can be subtracted. Begin a new run for these rounds, with another
// run number of the same seed (see rng.Root.ForRun) or with another seed. If two events name the same run of the same
// seed or secret as the source of their noise, but have different mechanisms, the filter refuses the second one.
// Events that do not name their noise are assumed to have independent noise.
//
// Make a Filter with [NewFilter]. Methods of any other Filter return an error or panic. A Filter is not
// safe for concurrent use.
type Filter struct {
	limits Limits
	spent  []float64 // Σ τ at each order, rounded up
	kind   dp.Event  // has the sampling and adjacency of all rounds; empty before the first round

	runs map[rng.Name]dp.Event // the first event of each run that has a name

	// The last pair and its divergences, because many rounds in a row are equal.
	last            pair
	lastDivergences []float64
}

// NewFilter returns a filter, a privacy budget for rounds that are chosen during a training, with these limits.
// Nothing of it is spent. The error is that of [Limits.Validate].
func NewFilter(l Limits) (*Filter, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	l.Orders = slices.Clone(l.Orders)
	return &Filter{limits: l, spent: make([]float64, len(l.Orders)), runs: map[rng.Name]dp.Event{}}, nil
}

// Limits returns the limits with which the filter was made.
func (f *Filter) Limits() Limits {
	l := f.limits
	l.Orders = slices.Clone(l.Orders)
	return l
}

// Needs returns the least ε at which a filter with the same δ and orders would have let through all rounds so far;
// see [Limits.Needs]. It is 0 before the first round. Use it to show how much of the filter's ε is used. It is not a
// guarantee for the rounds so far, because they may have been chosen from earlier results: then only an ε that was
// fixed before the first round is proved. [Filter.Guarantee] returns it.
func (f *Filter) Needs() float64 {
	if f.kind.Sampling == "" {
		return 0
	}
	return f.needs(f.spent)
}

// Used returns the fraction of the budget, in [0, 1], that the rounds have used so far. It is the least fraction over the
// filter's orders: the rounds' sum of Rényi divergences of the order, divided by the largest sum that the order lets
// through (see [Limits.Used]).
func (f *Filter) Used() float64 { return f.used(f.spent) }

// Guarantee returns the bound to publish for everything that the filter lets through: the filter's ε at its δ. The
// bound holds however the rounds were chosen, and is the same if only a part of the budget is spent. Adjacency and
// sampling are those of the rounds, and empty before the first round.
func (f *Filter) Guarantee() dp.Bound {
	if err := f.made(); err != nil {
		panic(err) // otherwise ε = 0 would be claimed
	}
	eps, delta := f.limits.Epsilon, f.limits.Delta
	return dp.Bound{
		Epsilon: eps, EpsilonUpper: eps, DeltaLower: delta, Delta: delta, DeltaUpper: delta,
		Kind: dp.Upper, Accountant: FilterName, Adjacency: f.kind.Adjacency, Sampling: f.kind.Sampling,
	}
}

// FilterName is the name of the accountant, dp.Bound.Accountant, in the guarantee of a [Filter].
const FilterName = "rdp-filter"

// Spend adds the cost of the events to the spent budget. Call it before the rounds are released. If it returns an
// error, nothing is recorded, and the rounds must not be released. Recorded rounds that never ran still count. The
// error wraps
//
//   - ErrBudgetSpent, if the events would exceed the budget;
//   - dp.ErrNotCovered, if [Accountant] does not cover them, or if their sampling or adjacency differs from that of
//     earlier rounds;
//   - dp.ErrSharedNoise, if events with different mechanisms name the same run of the same seed or secret as the
//     source of their noise (see [Filter]).
//
// If ctx is cancelled, the error is context.Cause(ctx).
func (f *Filter) Spend(ctx context.Context, events []dp.Event) error {
	if err := f.made(); err != nil {
		return err
	}
	spent, err := f.with(ctx, events)
	if err != nil {
		return err
	}
	if need := f.needs(spent); !(need <= f.limits.Epsilon) {
		return fmt.Errorf("ε needed with these rounds = %s, must be at most %v: %w", decimal.Up(need, 6),
			f.limits.Epsilon, ErrBudgetSpent)
	}
	runs, err := f.ownNoise(events)
	if err != nil {
		return err
	}
	maps.Copy(f.runs, runs)
	f.spent = spent
	if i := slices.IndexFunc(events, func(e dp.Event) bool { return e.Other == "" }); i >= 0 {
		f.kind = events[i]
	} else if f.kind.Sampling == "" {
		f.kind = events[0]
	}
	return nil
}

// ownNoise returns the runs that the events name and that are new to the filter.
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
			return nil, fmt.Errorf("event %d: earlier rounds of %s had another mechanism: %w", i, e.Noise.Name,
				dp.ErrSharedNoise)
		}
	}
	return runs, nil
}

// Remaining returns how many more rounds like e (its Count is ignored) fit into the budget now, at most 2^53. It does
// not spend anything. Errors are those of Spend, except ErrBudgetSpent.
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

// with returns the sum of divergences for each Rényi order after the events are added to those that were let
// through.
func (f *Filter) with(ctx context.Context, events []dp.Event) ([]float64, error) {
	r, b, err := Accountant{}.release(events, nil)
	if err != nil {
		return nil, err
	}
	others := b.Sampling == dp.Unsampled || f.kind.Sampling == dp.Unsampled // no rounds, here or so far
	if k := f.kind; k.Sampling != "" && (b.Sampling != k.Sampling && !others || b.Adjacency != k.Adjacency) {
		return nil, fmt.Errorf("%q under %q adjacency differs from %q under %q of earlier rounds: %w",
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

// divergences returns the divergences of one round at each order, rounded up. Once ctx is done the
// result is incomplete.
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

// needs returns the minimum over the orders of the ε for the order's sum of divergences in spent,
// at the order's share of δ.
func (f *Filter) needs(spent []float64) float64 {
	least := math.Inf(1)
	for j, alpha := range f.limits.Orders {
		least = min(least, epsilon(alpha, spent[j], f.limits.share()))
	}
	return least
}

// PlannedOrder returns the Rényi order for a [Filter] with one order, to six digits. It is the best one for rounds
// like those of plan: with it the plan can be repeated most often before the budget (ε, δ) is used up. It depends
// only on ε > 0, δ and the plan, not on results, so you can fix it before the first release. Only the ratios of the
// events' counts matter. Errors are those of [Accountant].
func PlannedOrder(ctx context.Context, epsilon, delta float64, plan []dp.Event) (float64, error) {
	wrong := errors.Join(dp.CheckNotNegative("epsilon", epsilon), dp.CheckDelta(delta, 0))
	if epsilon == 0 {
		wrong = errors.Join(errors.New("epsilon = 0, must be positive to choose an order"), wrong)
	}
	r, _, err := Accountant{}.release(plan, wrong)
	if err != nil {
		return 0, err
	}
	// With a = α-1, the number of copies is (aε + log δ + (1+a)log(1+a) - a·log a) over the plan's
	// aτ: a concave increasing function, negative at first, over a convex increasing one. So it has
	// one peak.
	l := Limits{Epsilon: epsilon, Delta: delta, Orders: make([]float64, 1)}
	best, _ := leastOfAll(func(alpha float64) float64 { return -l.budget(alpha) / r.divergence(ctx, alpha) })
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	if short := decimal.Digits(best, 6); short > 1 {
		return short, nil
	}
	return best, nil
}

// made returns an error if f was not made by NewFilter.
func (f *Filter) made() error {
	if f == nil || len(f.spent) == 0 {
		return errors.New("this Filter was not made by NewFilter")
	}
	return nil
}
