package rdp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/internal/testkit"
	"proactivedp/rng"
)

func newFilter(t *testing.T, epsilon, delta float64, orders ...float64) *Filter {
	t.Helper()
	f, err := NewFilter(Limits{Epsilon: epsilon, Delta: delta, Orders: orders})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// undivided is the least ε over the orders with the whole δ at each: not valid
// where the order that fits depends on results.
func undivided(f *Filter, spent []float64) float64 {
	least := math.Inf(1)
	for j, alpha := range f.limits.Orders {
		least = min(least, epsilon(alpha, spent[j], f.limits.Delta))
	}
	return least
}

// With a single order, a filter counts the same cost as composition at that order. The test compares it
// with public libraries, at the best of their orders, and with random releases in pieces of any size.
func TestFilterAtOneOrderIsComposition(t *testing.T) {
	rows, err := testkit.Accountants()
	if err != nil {
		t.Fatal(err)
	}
	_, _, wide := peerOrders()
	compared := 0
	for _, r := range rows {
		if r.Adjacency != "add-or-remove" || r.Accountant != "dp_accounting-RDP(orders to 16384)" {
			continue
		}
		best, e, delta := math.Inf(1), eventOf(r), deltaOf(r)
		for _, alpha := range wide {
			need, err := Limits{Epsilon: 1e6, Delta: delta, Orders: []float64{alpha}}.Needs(t.Context(), []dp.Event{e})
			if err != nil {
				t.Fatal(err)
			}
			best = min(best, need)
		}
		if !(relative(best, r.Epsilon) <= 1e-6) {
			t.Errorf("%+v: %v", r, best)
		}
		compared++
	}
	if compared < 20 {
		t.Errorf("%d rows compared", compared)
	}

	r := rand.New(rand.NewPCG(31, 1))
	for i := range 60 {
		k := kinds[i%3]
		delta, alpha := logUniform(r, 1e-10, 0.1), 1+logUniform(r, 0.1, 100)
		f := newFilter(t, 1e6, delta, alpha)
		var all []dp.Event
		for range 1 + r.IntN(5) {
			e := dp.Event{Sampling: k.sampling, Adjacency: k.adjacency, NoiseMultiplier: logUniform(r, 0.5, 50),
				Rate: logUniform(r, 1e-4, 1), Count: 1 + r.IntN(1000)}
			all = append(all, e)
			if err := f.Spend(t.Context(), []dp.Event{e}); err != nil {
				t.Fatal(err)
			}
		}
		want, err := Epsilon(alpha, sum(t, all, alpha), delta)
		if got := f.Needs(); err != nil || !(got >= want && got <= want+(want+1)*1e-8) {
			t.Errorf("order %v of %+v: ε = %v, composed %v (%v)", alpha, all, got, want, err)
		}
		whole, err := f.Limits().Needs(t.Context(), all)
		if got := f.Needs(); err != nil || !(math.Abs(got-whole) <= 1e-12*(1+whole)) {
			t.Errorf("in pieces %v, at once %v (%v)", got, whole, err)
		}
	}
}

func sum(t *testing.T, events []dp.Event, alpha float64) float64 {
	t.Helper()
	total := 0.0
	for _, e := range events {
		one, err := Divergence(e.Sampling, e.Adjacency, e.SampleRate(), e.NoiseMultiplier, alpha)
		if err != nil {
			t.Fatal(err)
		}
		total += float64(e.Count) * one
	}
	return total
}

// adversary runs rounds through a filter that it chooses by the privacy loss so
// far, of a record that is there: fewer noise and larger samples where the loss is
// high, as many rounds as it likes, until nothing more goes through or the loss is
// where it wants it.
type adversary struct {
	*rand.Rand
	loss float64
}

// next chooses rounds by the loss.
func (a *adversary) next(epsilon float64) dp.Event {
	bold := 1 / (1 + math.Exp(-4*(a.loss/epsilon-0.5)))
	sigma := logUniform(a.Rand, 1, 10) * math.Pow(0.3, bold)
	return event(min(1, logUniform(a.Rand, 0.01, 0.2)*math.Pow(5, bold)), sigma, 1+a.IntN(20))
}

// run draws the rounds' privacy losses, and what the next are chosen by.
func (a *adversary) run(t *testing.T, e dp.Event) {
	t.Helper()
	p, err := newPair(e)
	if err != nil {
		t.Fatal(err)
	}
	for range e.Count {
		x := p.sigma * a.NormFloat64()
		if a.Float64() < p.q {
			x++
		}
		a.loss += p.loss(x)
	}
}

// Noise, batch sizes and the end of these sequences are chosen by earlier results. The filter admits
// exactly what its rule allows, as computed here from single divergences. What it has admitted never costs
// more than ε, at any moment at which the adversary may stop. If each order had the whole δ, the ε of the
// best order would be smaller, but that claim is not valid.
func TestFilterHoldsWhateverIsChosen(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 2))
	refused, stopped, smaller, spent := 0, 0, 0, 0
	sequences := 250 * testkit.Sweeps(t)
	for i := range sequences {
		// Three of five are of the pair whose loss is drawn, the others have it as a signal.
		kind := kinds[max(0, i%5-2)]
		eps, delta := logUniform(r, 0.2, 8), logUniform(r, 1e-8, 0.05)
		first, err := PlannedOrder(t.Context(), eps, delta, []dp.Event{event(0.05, 3, 1)})
		if err != nil {
			t.Fatal(err)
		}
		orders := []float64{first}
		for range r.IntN(4) {
			orders = append(orders, 1+(first-1)*logUniform(r, 0.3, 10))
		}
		f, err := NewFilter(Limits{eps, delta, orders})
		for ; err != nil; f, err = NewFilter(Limits{eps, delta, orders}) { // one of the orders lets nothing through
			orders = orders[:len(orders)-1]
		}
		mine := make([]float64, len(orders))
		need := func(e dp.Event) (float64, []float64) {
			least, sums := math.Inf(1), make([]float64, len(orders))
			for j, alpha := range orders {
				sums[j] = mine[j] + sum(t, []dp.Event{e}, alpha)
				eps, err := Epsilon(alpha, sums[j], delta/float64(len(orders)))
				if err != nil {
					t.Fatal(err)
				}
				least = min(least, eps)
			}
			return least, sums
		}
		a, worst := adversary{Rand: r}, eps*logUniform(r, 0.1, 1)
		for rounds, tries := 0, 0; tries < 5 && rounds < 30; rounds++ {
			e := a.next(eps)
			e.Sampling, e.Adjacency = kind.sampling, kind.adjacency
			err := f.Spend(t.Context(), []dp.Event{e})
			with, sums := need(e)
			if err == nil != (with <= eps) && math.Abs(with/eps-1) > 1e-7 {
				t.Fatalf("ε = %v of %v is needed with %+v: %v", with, eps, e, err)
			}
			if err != nil {
				if !errors.Is(err, ErrBudgetSpent) {
					t.Fatal(err)
				}
				refused++
				tries++
				continue
			}
			a.run(t, e)
			mine = sums
			if got := f.Needs(); !(got <= eps) || !(math.Abs(got-with) <= 1e-7*(1+with)) {
				t.Fatalf("ε = %v let through, of %v; need %v", got, eps, with)
			}
			if a.loss > worst {
				stopped++
				break
			}
		}
		if f.Needs() == 0 {
			continue
		}
		spent++
		if naive := undivided(f, f.spent); len(orders) > 1 {
			if !(naive < f.Needs()) {
				t.Errorf("orders %v: ε = %v undivided, %v with shares", orders, naive, f.Needs())
			}
			smaller++
		}
		guarantee := f.Guarantee()
		if want := (dp.Bound{Epsilon: eps, EpsilonUpper: eps, DeltaLower: delta, Delta: delta, DeltaUpper: delta,
			Kind: dp.Upper, Accountant: "rdp-filter", Adjacency: kind.adjacency,
			Sampling: kind.sampling}); guarantee != want {
			t.Errorf("%+v, want %+v", guarantee, want)
		}
	}
	if spent < sequences*9/10 || refused < sequences || stopped < sequences/50 || smaller < sequences*2/5 {
		t.Errorf("not the variety wanted: %d spent, %d refusals, %d stopped, %d with several orders", spent, refused,
			stopped, smaller)
	}
}

// An adversary stops as soon as the privacy loss L is above ε. The δ that it reaches is E[(1-e^(ε-L))₊]
// over its sequences, and must be at most the δ of the filter. By Hoeffding's inequality, the mean of n
// draws in [0, 1] exceeds its expectation by √(ln(1e6)/2n) in one of a million tests. If the sequences may
// spend four times the ε, the result is far above δ: so the test can fail.
func TestFilterAgainstTheWorstMoment(t *testing.T) {
	const eps, delta, n = 1.0, 0.05, 4000
	slack := math.Sqrt(math.Log(1e6) / (2 * n))
	reached := func(budget float64, orders ...float64) float64 {
		r := rand.New(rand.NewPCG(31, 3))
		total := 0.0
		for range n {
			f, a := newFilter(t, budget, delta, orders...), adversary{Rand: r}
			for e := event(0.3, 2, 4); a.loss <= eps && f.Spend(t.Context(), []dp.Event{e}) == nil; {
				a.run(t, e)
			}
			total += max(0, -math.Expm1(eps-a.loss))
		}
		return total / n
	}
	order, err := PlannedOrder(t.Context(), eps, delta, []dp.Event{event(0.3, 2, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, orders := range [][]float64{{order}, {order, 2 * order, 3 * order}} {
		if got := reached(eps, orders...); !(got <= delta+slack) {
			t.Errorf("orders %v: δ = %v reached, %v allowed", orders, got, delta)
		}
	}
	if got := reached(4*eps, order); !(got > delta+slack) {
		t.Errorf("δ = %v with four times the ε: this test would not see it", got)
	}
}

// coin is a mechanism of two outcomes: P = (p, 1-p), and the first has the privacy
// loss l.
type coin struct{ p, l float64 }

// other is the loss of the second outcome.
func (c coin) other() float64 { return math.Log((1 - c.p) / (1 - c.p*math.Exp(-c.l))) }

func (c coin) divergence(alpha float64) float64 {
	a := alpha - 1
	return math.Log(c.p*math.Exp(a*c.l)+(1-c.p)*math.Exp(a*c.other())) / a
}

// The best order at the stopping time, each with the whole δ, is not a filter: a
// first mechanism whose rare outcome is followed by one that is cheap at a high
// order, and its other outcome by one that is cheap at a low order, is let through
// by that rule on both ways, and has 1.99 times the δ (exactly: it has four ends).
// With δ divided both ways are refused.
func TestUndividedDeltaIsNotValid(t *testing.T) {
	const eps, delta, low, high = 12, 1e-5, 3, 20
	f := newFilter(t, eps, delta, low, high)
	first := coin{p: 0.001, l: 1}
	reached := 0.0
	for _, way := range []struct{ chance, loss, alpha float64 }{
		{first.p, first.l, high}, {1 - first.p, first.other(), low},
	} {
		spent := func(second coin) []float64 {
			return []float64{first.divergence(low) + second.divergence(low),
				first.divergence(high) + second.divergence(high)}
		}
		// The loss at which the conversion is attained, as often as the rule allows.
		second := coin{l: eps - math.Log1p(-1/way.alpha) - way.loss}
		for step := 0.5; step > 1e-18; step /= 2 {
			if try := (coin{second.p + step, second.l}); try.p < 1 && undivided(f, spent(try)) <= eps {
				second = try
			}
		}
		v := spent(second)
		if naive, valid := undivided(f, v), f.needs(v); !(naive <= eps && naive > eps-1e-6 && valid > eps+0.03) {
			t.Errorf("order %v: ε = %v undivided, %v with shares", way.alpha, naive, valid)
		}
		loss := func(l float64) float64 { return max(0, -math.Expm1(eps-way.loss-l)) }
		reached += way.chance * (second.p*loss(second.l) + (1-second.p)*loss(second.other()))
	}
	if !(reached > 1.99*delta && reached < 2*delta) {
		t.Errorf("δ = %v reached, %v would be claimed", reached, delta)
	}
}

// Remaining is exact to one round, for all kinds of rounds.
func TestFilterRemaining(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 4))
	for i := range 30 {
		e := event(logUniform(r, 1e-3, 0.5), logUniform(r, 0.8, 20), 1)
		e.Sampling, e.Adjacency = kinds[i%3].sampling, kinds[i%3].adjacency
		eps, delta := logUniform(r, 0.5, 5), logUniform(r, 1e-8, 1e-2)
		order, err := PlannedOrder(t.Context(), eps, delta, []dp.Event{e})
		if err != nil {
			t.Fatal(err)
		}
		f := newFilter(t, eps, delta, order, order+1)
		n, err := f.Remaining(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if e.Count = n + 1; !errors.Is(f.Spend(t.Context(), []dp.Event{e}), ErrBudgetSpent) || f.Needs() != 0 {
			t.Errorf("%+v: one more than %d was let through", e, n)
		}
		if e.Count = n; n > 0 {
			if err := f.Spend(t.Context(), []dp.Event{e}); err != nil {
				t.Errorf("%+v: %v", e, err)
			}
		}
		if left, err := f.Remaining(t.Context(), e); left != 0 || err != nil {
			t.Errorf("%d of %d left, %v", left, n, err)
		}
		if n == 0 {
			continue
		}
		used, err := f.Limits().Used(t.Context(), []dp.Event{e})
		if err != nil || used != f.Used() || !(used <= 1+1e-9 && used >= 1-2/(float64(n)+1)) {
			t.Errorf("%d rounds are all that is let through, and use %v: %v, %v", n, used, f.Used(), err)
		}
	}
}

// No order admits more rounds of a plan than PlannedOrder, which does not depend on their number. At this
// order, a plan that uses up the budget costs what the best of all orders gives. This also holds with ten
// thousand times the noise.
func TestPlannedOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 5))
	for i := range 60 {
		k := kinds[i%3]
		kind := func(count int) dp.Event {
			e := event(logUniform(r, 1e-4, 1), logUniform(r, 0.5, 1e4), count)
			e.Sampling, e.Adjacency = k.sampling, k.adjacency
			return e
		}
		plan := []dp.Event{kind(3), kind(5)}[:1+i%2]
		eps, delta := logUniform(r, 0.01, 20), logUniform(r, 1e-12, 1e-2)
		order, err := PlannedOrder(t.Context(), eps, delta, plan)
		if err != nil {
			t.Fatal(err)
		}
		times := func(alpha float64) float64 { // how often the plan fits
			budget := (math.Log(delta) - logDelta(alpha, 0, eps)) / (alpha - 1)
			return budget / sum(t, plan, alpha)
		}
		best := times(order)
		if !(best > 0) {
			t.Errorf("%+v, ε = %v, δ = %v: order %v lets nothing through", plan, eps, delta, order)
		}
		for range 20 {
			if alpha := 1 + (order-1)*logUniform(r, 0.01, 100); times(alpha) > best*(1+1e-6) {
				t.Errorf("%+v: order %v lets %v through, %v lets %v", plan, order, best, alpha, times(alpha))
			}
		}
		for i := range plan {
			plan[i].Count *= 1000
		}
		again, err := PlannedOrder(t.Context(), eps, delta, plan)
		if err != nil || !(relative(again-1, order-1) < 1e-2) {
			t.Errorf("order %v, of a thousand times the plan %v; %v", order, again, err)
		}
	}
	if _, err := PlannedOrder(t.Context(), 0, 1, nil); err == nil || !strings.Contains(err.Error(), "epsilon = 0") ||
		!strings.Contains(err.Error(), "delta = 1") {
		t.Error(err)
	}
	if _, err := PlannedOrder(t.Context(), 1, 1e-5, nil); !errors.Is(err, dp.ErrNotCovered) {
		t.Error(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := PlannedOrder(done, 1, 1e-5, []dp.Event{event(0.1, 1, 1)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFilterErrors(t *testing.T) {
	for _, tt := range []struct {
		limits Limits
		want   []string
	}{
		{Limits{}, []string{"delta = 0", "0 orders, must be from 1 to 64"}},
		{Limits{-1, 1, []float64{1, 2}}, []string{"epsilon = -1", "delta = 1, must be in (0, 1)", "order = 1,"}},
		{Limits{math.NaN(), 0.1, []float64{2, 3, 2}}, []string{"epsilon = NaN", "order = 2 occurs twice"}},
		{Limits{1, 0.1, make([]float64, 65)}, []string{"65 orders"}},
		{Limits{1, 1e-5, []float64{2, 100}}, []string{"order = 2 lets no round through at ε = 1, δ = 1e-05/2"}},
	} {
		_, err := NewFilter(tt.limits)
		for _, want := range tt.want {
			if err == nil || errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", tt.limits, err, want)
			}
		}
		if _, err := tt.limits.Needs(t.Context(), []dp.Event{event(0.1, 1, 1)}); err == nil {
			t.Errorf("%+v: Needs answers", tt.limits)
		}
	}

	f := newFilter(t, 1, 1e-5, 10)
	if err := f.Spend(t.Context(), []dp.Event{event(0.01, 2, 10)}); err != nil {
		t.Fatal(err)
	}
	spent := f.Needs()
	other := event(0.01, 2, 1)
	other.Adjacency = dp.ReplaceOne
	for _, tt := range []struct {
		events     []dp.Event
		want       string
		notCovered bool
	}{
		{nil, "no events", true},
		{[]dp.Event{event(0.01, 0.01, 1)}, "noise multiplier = 0.01", true},
		{[]dp.Event{other}, `"replace-one" adjacency differs from "poisson" under "add-or-remove"`, true},
		{[]dp.Event{event(0.01, 2, 0)}, "count of rounds = 0", false},
	} {
		_, remainingErr := f.Remaining(t.Context(), append(tt.events, dp.Event{})[0])
		err := f.Spend(t.Context(), tt.events)
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, dp.ErrNotCovered) != tt.notCovered ||
			tt.notCovered && remainingErr == nil {
			t.Errorf("%+v: %v, %v; want %q", tt.events, err, remainingErr, tt.want)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Spend(done, []dp.Event{event(0.02, 2, 1)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := f.Remaining(done, event(0.02, 2, 1)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if f.Needs() != spent || !(f.Used() > 0 && f.Used() < 1) {
		t.Error("a refusal was recorded")
	}
}

// A filter is cheap enough to be asked before each round.
func BenchmarkFilterSpend(b *testing.B) {
	f, err := NewFilter(Limits{Epsilon: 1e9, Delta: 1e-5, Orders: []float64{8, 16, 32}})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if err := f.Spend(b.Context(), []dp.Event{event(0.01, 2+float64(i%2), 1)}); err != nil {
			b.Fatal(err)
		}
	}
}

// The rounds of a run may be recorded in any pieces. Rounds with other noise under the same name are
// refused, in one piece or in two, and nothing is recorded.
func TestFilterRefusesSharedNoise(t *testing.T) {
	of := func(run uint64, sigma float64) []dp.Event {
		e := event(0.01, sigma, 5)
		e.Noise = dp.Noise{Name: rng.New(1).ForRun(run).Name(), Client: dp.AllClients}
		return []dp.Event{e}
	}
	f := newFilter(t, 5, 1e-5, 10)
	for _, tt := range []struct {
		events []dp.Event
		shared bool
	}{
		{of(0, 2), false}, {of(0, 2), false}, {of(0, 3), true}, {of(1, 3), false}, {append(of(2, 3), of(2, 2)...),
			true},
		{[]dp.Event{event(0.01, 2, 5), event(0.01, 3, 5)}, false},
	} {
		before := f.Used()
		err := f.Spend(t.Context(), tt.events)
		if errors.Is(err, dp.ErrSharedNoise) != tt.shared || tt.shared == (err == nil) ||
			tt.shared != (f.Used() == before) {
			t.Errorf("%+v: %v", tt.events, err)
		}
	}
}

// For a name that Spend refuses, Remaining returns no rounds.
func TestRemainingRefusesSharedNoise(t *testing.T) {
	e := event(0.01, 2, 5)
	e.Noise = dp.Noise{Name: rng.New(1).Name(), Client: dp.AllClients}
	f := newFilter(t, 5, 1e-5, 10)
	if err := f.Spend(t.Context(), []dp.Event{e}); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Remaining(t.Context(), e); err != nil || n < 1 {
		t.Errorf("of its own mechanism %d, %v", n, err)
	}
	e.NoiseMultiplier = 3
	if n, err := f.Remaining(t.Context(), e); !errors.Is(err, dp.ErrSharedNoise) || n != 0 {
		t.Errorf("of another mechanism %d, %v", n, err)
	}
}
