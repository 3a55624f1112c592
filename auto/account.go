package auto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
	"proactivedp/train"
)

// Account is the privacy budget (ε, δ) of some clients' records, fixed before the first release. Rounds that are
// chosen by earlier results are paid for through a filter: a counter that refuses a round that would exceed the
// budget. If each client holds its own records, each has its own account. If all clients hold the same records, one
// account counts the rounds of all of them, with the strictest budget that any client asked for.
type Account struct {
	Clients []int   `json:"clients"`
	Records int     `json:"records"` // number of records of each client, N_c
	Epsilon float64 `json:"epsilon"` // ε_target
	Delta   float64 `json:"delta"`   // δ_target
	// Group is the largest number of records of a person, if the budget protects persons; see train.Spec.AtMost. 0
	// means that it protects single records. The filters count only single records, so a budget for persons needs
	// Once.
	Group int `json:"group,omitempty"`
	// Once says that the account pays for a single stage, whose plan is fixed before its first release. No filter is
	// needed then, and package dp/pld certifies the ε, with less noise than a filter would need.
	Once bool `json:"once,omitempty"`
	// Orders are the Rényi orders of the filter rdp.Filter. If there are no orders and Once is false, the filter is
	// closedform.Budget, which counts by the paper's Theorem simpleF (see package dp/closedform).
	Orders []float64 `json:"orders,omitempty"`
}

// accountsOf returns the accounts of the task's clients, without orders.
func accountsOf(t Task, p Public) []Account {
	shared := !data.Partition(t.Spec.Partition).Disjoint()
	var all []Account
	for i, c := range t.Clients {
		a := Account{Clients: []int{i}, Records: p.Records, Epsilon: c.Epsilon, Delta: c.Delta, Group: t.Spec.AtMost}
		if c.Records > 0 {
			a.Records = c.Records
		}
		a.Delta = cmp.Or(a.Delta, 1/float64(a.Records))
		if i == 0 || !shared {
			all = append(all, a)
			continue
		}
		all[0].Clients = append(all[0].Clients, i)
		all[0].Epsilon, all[0].Delta = min(all[0].Epsilon, a.Epsilon), min(all[0].Delta, a.Delta)
	}
	return all
}

// sameAs reports whether a and b make the same promise about the same records.
func (a Account) sameAs(b Account) bool {
	return slices.Equal(a.Clients, b.Clients) && a.Records == b.Records && a.Epsilon == b.Epsilon && a.Delta == b.Delta &&
		a.Group == b.Group
}

// Validate returns one error that lists every field of a outside its range.
func (a Account) Validate() error {
	errs := Client{Epsilon: a.Epsilon, Delta: a.Delta, Accuracy: 1}.check()
	if len(a.Clients) == 0 || a.Delta == 0 || a.Records < 1 {
		errs = append(errs, fmt.Errorf("%d clients, delta = %v, records = %d, must be at least 1, in (0, 1), at "+
			"least 1", len(a.Clients), a.Delta, a.Records))
	}
	if len(a.Orders) > 0 {
		errs = append(errs, a.limits().Validate())
	}
	if a.Once && len(a.Orders) > 0 {
		errs = append(errs, fmt.Errorf("%d orders of an account for one stage, must be 0", len(a.Orders)))
	}
	if a.Group != 0 {
		errs = append(errs, dp.CheckCount("group", a.Group, 1, dp.MaxGroup))
	}
	if a.Group != 0 && !a.Once {
		errs = append(errs, fmt.Errorf("group = %d of an account for several stages, must be 0: no filter covers persons", a.Group))
	}
	return errors.Join(errs...)
}

func (a Account) limits() rdp.Limits {
	return rdp.Limits{Epsilon: a.Epsilon, Delta: a.Delta, Orders: a.Orders}
}

// ledger is an account and everything that its records have paid. Entries are only added.
type ledger struct {
	Account
	filter *rdp.Filter        // nil if the account has no Rényi filter
	budget *closedform.Budget // nil if the account does not have the closed form's budget
	events []dp.Event
}

func newLedger(a Account) (*ledger, error) {
	l := &ledger{Account: a}
	var err error
	switch {
	case a.Once:
	case len(a.Orders) > 0:
		l.filter, err = rdp.NewFilter(a.limits())
	default:
		l.budget, err = closedform.NewBudget(a.Records, a.Epsilon, a.Delta)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// spend enters the events before any of them is run. If they exceed the budget, it refuses all of them
// with an error that wraps [closedform.ErrBudgetSpent] or [rdp.ErrBudgetSpent].
func (l *ledger) spend(ctx context.Context, stage int, events []dp.Event) error {
	var err error
	switch {
	case l.Once:
		err = l.spendOnce(ctx, events)
	case l.filter != nil:
		err = l.filter.Spend(ctx, events)
	default:
		err = l.budget.Spend(fmt.Sprintf("stage %d", stage), events)
	}
	if err != nil {
		return fmt.Errorf("stage %d: %w", stage, err)
	}
	l.events = append(l.events, events...)
	return nil
}

// spendOnce refuses the events of a second stage, and those of a first one if package pld does not
// certify that they are within the budget.
func (l *ledger) spendOnce(ctx context.Context, events []dp.Event) error {
	if len(l.events) > 0 {
		return fmt.Errorf("the account pays for one stage only: %w", rdp.ErrBudgetSpent)
	}
	b, err := certifier.Epsilon(ctx, events, l.Delta)
	if err == nil && !(b.EpsilonUpper <= l.Epsilon) {
		err = fmt.Errorf("ε = %s, must be at most %v: %w", decimal.Up(b.EpsilonUpper, 6), l.Epsilon, rdp.ErrBudgetSpent)
	}
	return err
}

// certifier is the accountant of accounts for one stage, the same as that of [train.LeastNoise].
var certifier = pld.Accountant{UpperEnd: true}

// used returns the share of the budget that is spent.
func (l *ledger) used(ctx context.Context) (float64, error) {
	if l.Once {
		return float64(min(1, len(l.events))), nil
	}
	if l.filter != nil {
		return l.usedWith(ctx, nil)
	}
	sum := 0.0
	for _, task := range l.budget.Tasks() {
		sum += task.Cost
	}
	return sum / (l.Epsilon / 2), nil
}

// usedWith returns the fraction of the Rényi filter that all events so far and next use together. It is
// above 1 if the filter refuses them.
func (l *ledger) usedWith(ctx context.Context, next []dp.Event) (float64, error) {
	all := append(slices.Clone(l.events), next...)
	if len(all) == 0 {
		return 0, nil
	}
	return l.limits().Used(ctx, all)
}

// lets reports whether the ledger admits the event.
func (l *ledger) lets(ctx context.Context, next dp.Event) (bool, error) {
	again, err := newLedger(l.Account)
	if err != nil {
		return false, err
	}
	err = again.spend(ctx, 0, append(slices.Clone(l.events), next))
	if errors.Is(err, closedform.ErrBudgetSpent) || errors.Is(err, rdp.ErrBudgetSpent) ||
		errors.Is(err, dp.ErrNotCovered) {
		return false, nil
	}
	return err == nil, err
}

// guarantee returns the bound of everything that the ledger admits.
func (l *ledger) guarantee() dp.Bound {
	switch {
	case l.Once:
		return dp.Bound{Epsilon: l.Epsilon, EpsilonUpper: l.Epsilon, DeltaLower: l.Delta, Delta: l.Delta, DeltaUpper: l.Delta,
			Kind: dp.Upper, Accountant: certifier.Name(), Adjacency: dp.AddOrRemove, Sampling: dp.Poisson}
	case l.filter != nil:
		b := l.filter.Guarantee()
		b.Adjacency, b.Sampling = dp.AddOrRemove, dp.Poisson
		return b
	}
	return l.budget.Guarantee()
}

// event returns the rounds that the account's records pay for in a stage with the given number of its
// clients, all with noise multiplier sigma.
func (a Account) event(sigma float64, size, rounds, clients int) dp.Event {
	return dp.Event{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma,
		SampleSize: size, DatasetSize: a.Records, Group: a.Group, Count: rounds * clients,
	}
}

// The range of noise multipliers that a search considers.
const leastSigma, mostSigma = 0.3, 1e6

// dust allows for rounding errors: this much of a filter's share is not spent.
const dust = 1e-9

// noiseFor returns the least σ, rounded up to six digits, with which the account has used at most the
// given share of its Rényi filter after the stage. It returns false if no noise is enough. An account
// for one stage has no shares; its σ is that of a training that spends the whole budget.
func (l *ledger) noiseFor(ctx context.Context, share float64, size, rounds, clients int) (float64, bool, error) {
	if l.Once {
		sigma, err := train.LeastNoise(ctx, []dp.Event{l.event(1, size, rounds, clients)}, l.Epsilon, l.Delta)
		if _, infeasible := errors.AsType[*plan.Infeasible](err); infeasible {
			return 0, false, nil
		}
		return sigma, err == nil, err
	}
	over := func(sigma float64) (bool, error) {
		u, err := l.usedWith(ctx, []dp.Event{l.event(sigma, size, rounds, clients)})
		return u > share*(1-dust), err
	}
	lo, hi := math.Log(leastSigma), math.Log(mostSigma)
	if is, err := over(leastSigma); err != nil || !is {
		return leastSigma, err == nil, err
	}
	if is, err := over(mostSigma); err != nil || is {
		return 0, false, err
	}
	for hi-lo > 1e-8 {
		mid := lo + (hi-lo)/2
		is, err := over(math.Exp(mid))
		if err != nil {
			return 0, false, err
		}
		if is {
			lo = mid
		} else {
			hi = mid
		}
	}
	return rounded(math.Exp(hi)), true, nil
}

// rounded returns x rounded up to six digits.
func rounded(x float64) float64 {
	v, _ := strconv.ParseFloat(decimal.Up(x, 6), 64)
	return v
}

// has reports whether the account includes the client.
func (a Account) has(client int) bool { return slices.Contains(a.Clients, client) }
