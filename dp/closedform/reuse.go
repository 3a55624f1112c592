package closedform

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
)

// ReuseLimit returns the largest number of epochs k for which one data set of n records may be used, over all
// trainings on it together, by the paper's Remark "Reusing the Local Data Set". It is the largest k with
//
//	k ≤ εN/(γθ²)
//
// rounded down, where γ is the constant of Theorem simpleF as printed or corrected (see [Form] and [Gamma]), and θ
// (theta) the largest batch size divided by the mean one. γ depends on k; at the limit it is the result of [RHS] for
// the noise multiplier σ_eq of [Sigma] and ᾱ = θ²/N.
//
// No set of trainings may exceed this limit, but staying below it is far from sufficient. The limit assumes the
// largest possible number of rounds: rounds of one record each on average. Larger batches use up the budget sooner.
// [Budget] enforces a sufficient condition.
//
// n must be in [1, MaxN], θ in [1, 1e10], ε in [1e-60, 1e30] and δ in [MinDelta, 1). The error wraps dp.ErrNotCovered
// if n is too small for any such use: with a mean batch of one record, the largest has θ records, and the theorem does
// not allow a batch that large.
func ReuseLimit(form Form, n int, theta, eps, delta float64) (float64, error) {
	if err := errors.Join(form.check(), checkN(n), dp.CheckRange("theta", theta, 1, maxTheta), checkEpsilon(eps),
		checkDelta(delta)); err != nil {
		return 0, err
	}
	sigma := sigmaEq(eps, -math.Log(delta))
	if theta > safeG(sigma)*float64(n) {
		return 0, fmt.Errorf("records N = %d, must be at least θ/g(σ_eq) = %.4g: %w", n, theta/gOf(sigma),
			dp.ErrNotCovered)
	}
	gamma, err := RHS(form, sigma, theta*theta/float64(n))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", err, dp.ErrNotCovered)
	}
	return eps / gamma * (float64(n) / theta / theta) * (1 - slack), nil
}

// ErrBudgetSpent is wrapped by the error of [Budget.Spend] if a task (training) costs more than is left of the
// budget. The budget then does not change.
var ErrBudgetSpent = errors.New("budget spent")

// Task is a training that a [Budget] has recorded, with its number of epochs and its cost. All tasks of a Budget
// share its (ε, δ).
type Task struct {
	Name   string
	Epochs float64 // number of epochs k = Σq_i, the sum of the sample rates of its rounds
	Cost   float64 // Σ q_i²/(1-q_i) over its rounds; the costs of all tasks of a Budget may add up to ε/2
}

// Why a Budget is sound: all rounds of all tasks form one sequence. Theorem thm1 in its corrected form
// applies to this sequence, whatever its order, and the two inequalities of Budget are the conditions of
// the theorem at the noise σ_eq. They concern moments of a single order, λ = ⌊σ_eq²⌋-1, which ε and δ fix.
// Therefore rounds may be chosen from earlier results (Feldman, Zrnic 2021, "Individual Privacy Accounting
// via a Rényi Filter"). The proof is for the whole (ε, δ), not for the spent part; see [Budget.Guarantee].

// Budget keeps account of several trainings (tasks) on one data set, one after another or simultaneously, so that
// everything they release together stays within one (ε, δ). Make one with [NewBudget], and call [Budget.Spend] before
// each task. A task may be chosen, or ended early, after results are seen. But (ε, δ) must be fixed before the first
// result. Use it if the trainings are planned by the paper's theorem. Otherwise use rdp.Filter, which is tighter: it
// counts the exact cost of a round, and has no least noise multiplier.
//
// Every task must use at least the noise multiplier σ_eq(ε, δ), see [Sigma]. All rounds of all tasks are
// counted together. With sample rate q_i in round i, and e = 2.718…, they must satisfy
//
//	Σ q_i²/(1-q_i) ≤ ε/2  and  q_i ≤ 1/(e·σ_eq)
//
// So a round of a task costs q_i²/(1-q_i), whatever the other tasks do, and all tasks together may cost ε/2. An epoch
// in batches of s records is N/s rounds with q_i = s/N, so it costs about s/N, and about εN/(2s) such epochs fit into
// the budget. Only with batches of one record is that about the paper's limit (see [ReuseLimit]).
//
// Tasks share the data but not the noise: each task needs its own run number, for which rng.Root.ForRun returns a
// source of independent noise. Spend refuses a task with the same noise as an earlier task, by the field Noise of
// the events. Events in which this field is empty are assumed to have independent noise.
//
// If a Budget was not made by NewBudget, its methods return an error or panic. A Budget is not safe for concurrent use.
type Budget struct {
	n          int
	eps, delta float64
	sigma      float64
	spent      float64
	tasks      []Task
	ledger     dp.Ledger
}

// NewBudget returns a budget for several trainings on a data set of n records, of which nothing is spent. n must be
// in [1, MaxN], ε in [1e-60, 1e30] and δ in [MinDelta, 1). The error wraps dp.ErrNotCovered if the least noise
// multiplier of this budget, [Sigma] of (ε, δ), is outside [MinSigma, MaxSigma].
func NewBudget(n int, eps, delta float64) (*Budget, error) {
	if err := errors.Join(checkN(n), checkEpsilon(eps), checkDelta(delta)); err != nil {
		return nil, err
	}
	b := &Budget{n: n, eps: eps, delta: delta, sigma: sigmaEq(eps, -math.Log(delta))}
	if err := notCovered(dp.CheckRange("sigma", b.sigma, MinSigma, MaxSigma)); err != nil {
		return nil, err
	}
	return b, nil
}

// Sigma returns the least noise multiplier that every task (training) of the budget must use. It is σ_eq(ε, δ), which
// the function [Sigma] computes.
func (b *Budget) Sigma() float64 { return b.sigma }

// MaxSize returns the largest batch size that a round of any task (training) of the budget may have. It is N/(e·σ_eq)
// rounded down, with σ_eq from [Budget.Sigma], and may be 0: then no training is possible.
func (b *Budget) MaxSize() int { return int(b.maxRate() * float64(b.n)) }

func (b *Budget) maxRate() float64 { return (1 - 2*slack) / (math.E * b.sigma) }

// total is the largest allowed cost: ε/2, rounded down because thm1 rounds its noise up.
func (b *Budget) total() float64 { return b.eps / 2 * (1 - 4*slack) }

// Tasks returns the tasks (trainings) that the budget has recorded.
func (b *Budget) Tasks() []Task { return slices.Clone(b.tasks) }

// Remaining returns how many more rounds of the given batch size, all with at least the noise of [Budget.Sigma], fit
// into the budget. The size must be in [1, N]. For a size above [Budget.MaxSize] the result is 0.
func (b *Budget) Remaining(size int) (int, error) {
	if err := b.made(); err != nil {
		return 0, err
	}
	if size < 1 || size > b.n {
		return 0, fmt.Errorf("sample size = %d, must be in [1, N = %d]", size, b.n)
	}
	q := float64(size) / float64(b.n)
	if q > b.maxRate() {
		return 0, nil
	}
	most := int(max(0, min((b.total()-b.spent)/cost(q, 1), MaxN)))
	// Bisect, because the last digit of the sum may be worth any number of small rounds.
	return sort.Search(most, func(i int) bool { return !b.fits(cost(q, i+1)) }), nil
}

func (b *Budget) fits(cost float64) bool { return sumUp(b.spent, cost) <= b.total() }

// sumUp returns spent + cost, rounded up, so that many tiny costs add up instead of being lost in
// rounding.
func sumUp(spent, cost float64) float64 {
	if spent == 0 || cost == 0 {
		return spent + cost
	}
	return math.Nextafter(spent+cost, math.Inf(1))
}

// cost is count·q²/(1-q), rounded up.
func cost(q float64, count int) float64 { return float64(count) * q * (q / (1 - q)) * (1 + 8*ulp) }

// Spend records a task that will release the events. name is a text for messages. Call Spend before the task runs. If
// it returns an error, nothing is recorded, and the task must not run. The error wraps
//
//   - ErrBudgetSpent, if the cost would exceed the budget;
//   - dp.ErrNotCovered, if an event is not Poisson sampling under add-or-remove adjacency, if its noise multiplier is
//     below σ_eq (see [Budget.Sigma]), or if its sample rate is above 1/(e·σ_eq) (see [Budget.MaxSize]);
//   - dp.ErrSharedNoise, if the events use the same noise as a task that is already recorded.
//
// Other errors say that the events are invalid, or that their data set size is not the N of the budget.
func (b *Budget) Spend(name string, events []dp.Event) error {
	if err := b.made(); err != nil {
		return err
	}
	m, sigma, err := MomentsOfEvents(events)
	if err != nil {
		return err
	}
	for i, e := range events {
		if e.DatasetSize != 0 && e.DatasetSize != b.n {
			return fmt.Errorf("event %d: data set size N = %d, must be %d", i, e.DatasetSize, b.n)
		}
	}
	if _, err := dp.Compose(b.ledger.Events(), events); err != nil {
		return fmt.Errorf("task %q with the tasks before it: %w", name, err)
	}
	if sigma < b.sigma {
		return fmt.Errorf("task %q: sigma = %v, must be at least σ_eq = %v: %w", name, sigma, b.sigma,
			dp.ErrNotCovered)
	}
	if m.MaxRate > b.maxRate() {
		return fmt.Errorf("task %q: sample rate = %v, must be at most 1/(eσ_eq) = %v: %w", name, m.MaxRate,
			b.maxRate(), dp.ErrNotCovered)
	}
	t := Task{Name: name, Epochs: m.Epochs()}
	for _, e := range events {
		t.Cost = sumUp(t.Cost, cost(e.SampleRate(), e.Count))
	}
	if !b.fits(t.Cost) {
		return fmt.Errorf("task %q: cost = %s, must be at most %s: %w", name, decimal.Up(t.Cost, 6),
			decimal.Down(max(0, b.total()-b.spent), 6), ErrBudgetSpent)
	}
	b.spent = sumUp(b.spent, t.Cost)
	b.tasks = append(b.tasks, t)
	for _, e := range events {
		b.ledger.Record(e)
	}
	return nil
}

// Guarantee returns the bound to publish for everything that the tasks release: the budget's ε at its δ, even if
// little of it is spent. It holds however the tasks were chosen. The ε that [MomentAccountant] returns for the tasks'
// events is not larger, but it holds only if the tasks were fixed before the first result was seen.
//
// In the words of Rogers, Roth, Ullman and Vadhan 2016 ("Privacy Odometers and Filters"), a budget is a privacy
// filter: it promises one ε, which is fixed beforehand. It is not a privacy odometer, which would promise a growing ε
// for the tasks so far. If tasks are chosen by results, an odometer's ε must be larger than that of the same tasks
// fixed beforehand.
func (b *Budget) Guarantee() dp.Bound {
	if err := b.made(); err != nil {
		panic(err) // otherwise ε = 0 would be claimed
	}
	return epsilonBound(MomentAccountant{}, b.eps, b.delta)
}

func (b *Budget) made() error {
	if b == nil || b.n < 1 {
		return errors.New("this Budget was not made by NewBudget")
	}
	return nil
}
