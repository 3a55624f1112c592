package auto

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/rdp"
	"proactivedp/internal/decimal"
)

// Account is the privacy budget (ε, δ) of some clients' records, fixed before the first release. If
// each client holds its own records, each has its own account. If all clients hold the same records,
// one account counts the rounds of all of them, with the strictest budget that any client asked for.
type Account struct {
	Clients []int   `json:"clients"`
	Records int     `json:"records"` // N_c of each client
	Epsilon float64 `json:"epsilon"` // ε_target
	Delta   float64 `json:"delta"`   // δ_target
	// Orders are the orders of the Rényi filter. Without orders, the account has the budget of the
	// closed form.
	Orders []float64 `json:"orders,omitempty"`
}

// accountsOf returns the accounts of the task's clients, without orders.
func accountsOf(t Task, p Public) []Account {
	shared := !data.Partition(t.Spec.Partition).Disjoint()
	var all []Account
	for i, c := range t.Clients {
		a := Account{Clients: []int{i}, Records: p.Records, Epsilon: c.Epsilon, Delta: c.Delta}
		if c.Records > 0 {
			a.Records = c.Records
		}
		if a.Delta == 0 {
			a.Delta = 1 / float64(a.Records)
		}
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
	return slices.Equal(a.Clients, b.Clients) && a.Records == b.Records && a.Epsilon == b.Epsilon && a.Delta == b.Delta
}

// Validate reports every field of a that is outside its range.
func (a Account) Validate() error {
	errs := Client{Epsilon: a.Epsilon, Delta: a.Delta, Accuracy: 1}.check()
	if len(a.Clients) == 0 || a.Delta == 0 || a.Records < 1 {
		errs = append(errs, fmt.Errorf("%d clients, delta = %v, records = %d, must be at least 1, in (0, 1), at "+
			"least 1", len(a.Clients), a.Delta, a.Records))
	}
	if len(a.Orders) > 0 {
		errs = append(errs, a.limits().Validate())
	}
	return errors.Join(errs...)
}

func (a Account) limits() rdp.Limits {
	return rdp.Limits{Epsilon: a.Epsilon, Delta: a.Delta, Orders: a.Orders}
}

// ledger is an account and everything that its records have paid. Entries are only added.
type ledger struct {
	Account
	filter *rdp.Filter        // nil if the account has the closed form's budget
	budget *closedform.Budget // nil if the account has a Rényi filter
	events []dp.Event
}

func newLedger(a Account) (*ledger, error) {
	l := &ledger{Account: a}
	var err error
	if len(a.Orders) > 0 {
		l.filter, err = rdp.NewFilter(a.limits())
	} else {
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
	if l.filter != nil {
		err = l.filter.Spend(ctx, events)
	} else {
		err = l.budget.Spend(fmt.Sprintf("stage %d", stage), events)
	}
	if err != nil {
		return fmt.Errorf("stage %d: %w", stage, err)
	}
	l.events = append(l.events, events...)
	return nil
}

// used returns the share of the budget that is spent.
func (l *ledger) used(ctx context.Context) (float64, error) {
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
	u, err := l.limits().Used(ctx, all)
	if err != nil {
		return 0, err
	}
	return u, nil
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
	if l.filter != nil {
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
		SampleSize: size, DatasetSize: a.Records, Count: rounds * clients,
	}
}

// The range of noise multipliers that a search considers.
const leastSigma, mostSigma = 0.3, 1e6

// dust allows for rounding errors: this much of a filter's share is not spent.
const dust = 1e-9

// noiseFor returns the least σ, rounded up to six digits, with which the account has used at most the
// given share of its Rényi filter after the stage. It returns false if no noise is enough.
func (l *ledger) noiseFor(ctx context.Context, share float64, size, rounds, clients int) (float64, bool, error) {
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
