package closedform

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"proactivedp/dp"
	"proactivedp/rng"
)

// Remark "Reusing the Local Data Set": for ε = 0.2, N = 10000 and γθ² ≈ 2 about
// 1000 epochs; at the limit, in samples of one record, the conditions hold with
// (treq3) just met.
func TestReuseLimit(t *testing.T) {
	near(t, "epochs", must[float64](t)(ReuseLimit(Corrected, 10000, 1, 0.2, 1e-4)), 1000, 15)
	r := rand.New(rand.NewPCG(11, 1))
	for range 2000 {
		n, theta, eps, delta := int(logUniform(r, 1e4, 1e9)), 1+2*r.Float64(), logUniform(r, 1e-2, 10), logUniform(r,
			1e-12, 0.1)
		for _, form := range []Form{Corrected, Printed} {
			k := must[float64](t)(ReuseLimit(form, n, theta, eps, delta))
			gamma := must[float64](t)(Gamma(form, eps, delta, k))
			near(t, "k/(εN/(γθ²))", k/(eps*float64(n)/(gamma*theta*theta)), 1, 1e-11)
			computed := k * float64(n) // in T = K rounds of one record in the mean
			s := Setting{n, computed, computed, theta, must[float64](t)(Sigma(eps, delta)), eps, delta}
			c := find(t, must[[]Condition](t)(Conditions(form, s)), SimpleF, "treq3")
			near(t, "margin at the limit", c.Margin, 0, 1e-11)
		}
	}
	for _, n := range []int{1, 20} {
		if _, err := ReuseLimit(Corrected, n, 1, 0.2, 1e-4); !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("N = %d: %v", n, err)
		}
	}
	if _, err := ReuseLimit("other", 0, 0.5, 0, 1); err == nil || errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("%v", err)
	}
}

// Whatever tasks a budget admits, together they cost at most (ε, δ), and what it refuses would cost more.
// If tasks may have been chosen by earlier results, the budget guarantees (ε, δ), and not the smaller ε of
// what is spent.
func TestBudgetKeepsItsPromise(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 2))
	refused, filled := 0, 0
	for range 300 {
		n, eps, delta := int(logUniform(r, 1000, 1e6)), logUniform(r, 0.05, 5), logUniform(r, 1e-10, 1e-2)
		b, err := NewBudget(n, eps, delta)
		if err != nil {
			t.Fatal(err)
		}
		if b.MaxSize() < 1 {
			continue
		}
		var all []dp.Event
		epochs := 0.0
		promise := dp.Bound{
			Epsilon: eps, EpsilonUpper: eps, DeltaLower: delta, Delta: delta, DeltaUpper: delta,
			Kind: dp.Upper, Accountant: "closed-form-moments", Adjacency: dp.AddOrRemove, Sampling: dp.Poisson,
		}
		for range 12 {
			if g := b.Guarantee(); g != promise {
				t.Fatalf("after %d tasks: %+v, want %+v", len(b.Tasks()), g, promise)
			}
			size := 1 + r.IntN(b.MaxSize())
			left, err := b.Remaining(size)
			if err != nil {
				t.Fatal(err)
			}
			rounds := 1 + r.IntN(2*left+2)
			if r.IntN(4) == 0 && left > 0 {
				rounds = left
				filled++
			}
			task := []dp.Event{event(n, size, rounds, b.Sigma()*(1+r.Float64()))}
			err = b.Spend("task", task)
			if (err == nil) != (rounds <= left) || err != nil && !errors.Is(err, ErrBudgetSpent) {
				t.Fatalf("%d rounds of %d, %d remain: %v", rounds, size, left, err)
			}
			if err != nil {
				refused++
				over, err := MomentAccountant{}.Epsilon(t.Context(),
					append(all[:len(all):len(all)], event(n, size, rounds, b.Sigma())), delta)
				if err != nil || over.Epsilon < eps*(1-1e-9) {
					t.Fatalf("refused, but ε = %v of %v, %v", over.Epsilon, eps, err)
				}
				continue
			}
			all = append(all, task...)
			epochs += float64(rounds*size) / float64(n)
		}
		if len(all) == 0 {
			continue
		}
		fixed, err := MomentAccountant{}.Epsilon(t.Context(), all, delta) // rounds up once more
		if err != nil || fixed.Epsilon > eps*(1+1e-9) {
			t.Fatalf("the composition costs %v of %v, %v", fixed.Epsilon, eps, err)
		}
		spent := 0.0
		for _, task := range b.Tasks() {
			spent += task.Epochs
		}
		near(t, "epochs", spent/epochs, 1, 1e-12)
	}
	if refused < 100 || filled < 100 {
		t.Errorf("%d refused, %d filled", refused, filled)
	}
}

// In samples of one record the ledger allows the paper's k ≤ εN/(γθ²), and
// k ≤ εN/2 at most; the paper's limit alone says nothing of larger samples.
func TestBudgetAgainstReuseLimit(t *testing.T) {
	b, err := NewBudget(10000, 0.2, 1e-4)
	if err != nil {
		t.Fatal(err)
	}
	limit := must[float64](t)(ReuseLimit(Corrected, 10000, 1, 0.2, 1e-4))
	ones := float64(must[int](t)(b.Remaining(1))) / 10000
	if !(ones >= limit && ones <= 1000) {
		t.Errorf("%v epochs in samples of one, limit %v", ones, limit)
	}
	tens := float64(must[int](t)(b.Remaining(10))) * 10 / 10000
	near(t, "epochs in samples of ten", tens, 100, 0.2)
	if err := b.Spend("one by one", []dp.Event{event(10000, 1, int(limit*10000), 10)}); err != nil {
		t.Error(err)
	}
}

func TestBudgetRefusals(t *testing.T) {
	b, err := NewBudget(10000, 0.5, 1e-4)
	if err != nil {
		t.Fatal(err)
	}
	good := event(10000, 20, 100, b.Sigma())
	with := func(set func(*dp.Event)) []dp.Event {
		e := good
		set(&e)
		return []dp.Event{good, e}
	}
	for _, tt := range []struct {
		name    string
		events  []dp.Event
		want    string
		covered bool // false: dp.ErrNotCovered
	}{
		{"nothing", nil, "no events", false},
		{"too little noise", with(func(e *dp.Event) { e.NoiseMultiplier *= 0.999 }), "sigma = ", false},
		{"too large a rate", with(func(e *dp.Event) { e.SampleSize = b.MaxSize() + 1 }), "sample rate = ", false},
		{"fixed size", with(func(e *dp.Event) { e.Sampling = dp.FixedSize }), "sampling", false},
		{"another data set", with(func(e *dp.Event) { e.DatasetSize = 9999 }), "N = 9999, must be 10000", true},
		{"no event", with(func(e *dp.Event) { e.Count = 0 }), "count", true},
		{"too long", with(func(e *dp.Event) { e.Count = 1e9 }), "budget spent", true},
	} {
		err := b.Spend(tt.name, tt.events)
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, dp.ErrNotCovered) == tt.covered {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if len(b.Tasks()) != 0 {
		t.Error("a refused task was recorded")
	}
	if left, err := b.Remaining(b.MaxSize() + 1); left != 0 || err != nil {
		t.Errorf("above the largest size: %d, %v", left, err)
	}
	if _, err := b.Remaining(0); err == nil {
		t.Error("size 0")
	}
	if _, err := NewBudget(0, -1, 1); err == nil || errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("%v", err)
	}
	if _, err := NewBudget(10000, 1e-20, 1e-4); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("σ_eq above MaxSigma: %v", err)
	}
	// A rate without sizes is as good.
	if err := b.Spend("rates", []dp.Event{rateEvent(0.002, 100, 9)}); err != nil ||
		b.Tasks()[0] != (Task{"rates", b.Tasks()[0].Epochs, b.Tasks()[0].Cost}) {
		t.Errorf("%v, %+v", err, b.Tasks())
	}
}

// Each task has its own noise. A task with the noise name of an earlier task is refused, at any σ, and
// nothing is recorded. Events of the same task may share a name, and events without a name are not
// refused.
func TestTasksDoNotShareNoise(t *testing.T) {
	b, err := NewBudget(10_000, 0.2, 1e-4)
	if err != nil {
		t.Fatal(err)
	}
	task := func(run uint64, sigma float64) []dp.Event {
		e := event(10_000, 20, 100, sigma)
		e.Noise = dp.Noise{Name: rng.New(1).ForRun(run).Name(), Client: dp.AllClients}
		larger := e
		larger.SampleSize = 21
		return []dp.Event{e, larger}
	}
	unnamed := []dp.Event{event(10_000, 20, 100, 20)}
	for _, c := range []struct {
		name   string
		events []dp.Event
		shared bool
	}{
		{"run 0", task(0, 20), false}, {"run 0 at another σ", task(0, 40), true}, {"run 1", task(1, 40), false},
		{"run 1 again", task(1, 40), true}, {"no name", unnamed, false}, {"no name again", unnamed, false},
	} {
		before := len(b.Tasks())
		err := b.Spend(c.name, c.events)
		if errors.Is(err, dp.ErrSharedNoise) != c.shared || c.shared == (err == nil) ||
			len(b.Tasks())-before == 1 == c.shared {
			t.Errorf("%s: %v, %d tasks after %d", c.name, err, len(b.Tasks()), before)
		}
		if c.shared && !strings.Contains(err.Error(), "seed 1, run ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The budget also counts what float64 loses in a sum: a hundred thousand tasks are not free, even if each
// is too small to change the sum.
func TestBudgetCountsTheSmallestTask(t *testing.T) {
	b, err := NewBudget(MaxN, 1, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	most, err := b.Remaining(b.MaxSize())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Spend("large", []dp.Event{event(MaxN, b.MaxSize(), most/2, b.Sigma())}); err != nil {
		t.Fatal(err)
	}
	spent := b.spent
	small := event(MaxN, 1<<24, 1, b.Sigma())
	cost := 0x1p-58
	const times = 1000
	for range times {
		if err := b.Spend("small", []dp.Event{small}); err != nil {
			t.Fatal(err)
		}
	}
	if b.spent-spent < times*cost {
		t.Errorf("%d tasks of %v each have cost %v", times, cost, b.spent-spent)
	}
	many := make([]dp.Event, times)
	for i := range many {
		many[i] = small
	}
	before := b.spent
	if err := b.Spend("many", append([]dp.Event{event(MaxN, b.MaxSize(), 1, b.Sigma())}, many...)); err != nil {
		t.Fatal(err)
	}
	q := float64(b.MaxSize()) / MaxN
	if exact := q*q/(1-q) + times*cost; b.spent-before < exact {
		t.Errorf("one task of %d events has cost %v, must be at least %v", times+1, b.spent-before, exact)
	}
}

// The error for a refused task shows a cost above what is left, even if the difference is tiny.
func TestRefusedCostIsShownToBeMore(t *testing.T) {
	b := must[*Budget](t)(NewBudget(10_000, 0.2, 1e-4))
	e := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: b.Sigma() + 1, SampleSize: 1,
		DatasetSize: 10_000, Count: must[int](t)(b.Remaining(1)) + 1}
	err := b.Spend("a", []dp.Event{e})
	var cost, most float64
	if _, bad := fmt.Sscanf(fmt.Sprint(err), `task "a": cost = %g, must be at most %g`, &cost,
		&most); bad != nil || !(cost > most) {
		t.Errorf("%v: %v", err, bad)
	}
}

// The number of remaining rounds is computed at once, even for the smallest rounds and a budget that is
// spent except for its last digits. Single steps would take years.
func TestRemainingOfLastDigits(t *testing.T) {
	const n = 1 << 50
	b, err := NewBudget(n, 0.5, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 40, 1 << 30, 1 << 25} { // the last one leaves less than 2^-50
		rounds, err := b.Remaining(size)
		if err != nil {
			t.Fatal(err)
		}
		if rounds == 0 {
			continue
		}
		if err := b.Spend("task", []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove,
			NoiseMultiplier: b.Sigma(), SampleSize: size, DatasetSize: n, Count: rounds}}); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan int, 1)
	go func() {
		rounds, _ := b.Remaining(1 << 3)
		done <- rounds
	}()
	select {
	case rounds := <-done:
		q := float64(1<<3) / n
		if !b.fits(cost(q, rounds)) || b.fits(cost(q, rounds+rounds/1000+1)) {
			t.Errorf("%d rounds are not the most that fit", rounds)
		}
	case <-time.After(2 * time.Second):
		t.Error("no answer in two seconds")
	}
}

// The computed cost of a task is at least the exact count·q²/(1-q), and not more above it than rounding
// requires.
func TestCostIsRoundedUp(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 3))
	for range 2000 {
		q, count := logUniform(r, 1e-9, 0.5), 1+r.IntN(1<<40)
		exact := new(big.Rat).SetFloat64(q)
		rest := new(big.Rat).Sub(big.NewRat(1, 1), exact)
		exact.Mul(exact, exact).Quo(exact, rest).Mul(exact, big.NewRat(int64(count), 1))
		off := new(big.Rat).Quo(new(big.Rat).SetFloat64(cost(q, count)), exact)
		over, _ := off.Sub(off, big.NewRat(1, 1)).Float64()
		if !(over >= 0 && over <= 16*ulp) {
			t.Fatalf("%d rounds of q = %v cost %v, which is %v above count·q²/(1-q)", count, q, cost(q, count), over)
		}
	}
}
