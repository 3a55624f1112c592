package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/gdp"
	"proactivedp/dp/pld"
)

// ledger is that of a client that did rounds rounds of the mechanism.
func ledger(m dp.Mechanism, rounds int) dp.Ledger {
	var l dp.Ledger
	for i := range rounds {
		l.Record(m.Event(i))
	}
	return l
}

func poisson(n, s int, sigma float64) dp.Mechanism {
	return dp.Mechanism{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 1,
		NoiseMultiplier: sigma, DatasetSize: n, Sizes: dp.ConstantSizes(s),
	}
}

func same(l dp.Ledger, clients int) []dp.Ledger {
	var all []dp.Ledger
	for range clients {
		all = append(all, l.Clone())
	}
	return all
}

// of claims for the ledgers.
func of(t *testing.T, acc dp.Accountant, ledgers []dp.Ledger, shared bool, delta float64) Privacy {
	t.Helper()
	p, err := OfLedgers(t.Context(), acc, ledgers, shared, delta)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The claim for a record is the accountant's bound for the rounds of all clients together, unchanged.
func TestClaimIsTheBoundOfTheComposition(t *testing.T) {
	const clients, rounds, delta = 5, 1923, 1.0 / 8844
	m := poisson(8844, 26, 19.29962)
	p := of(t, pld.Accountant{}, same(ledger(m, rounds), clients), true, delta)
	for _, c := range []struct {
		name   string
		got    Claim
		rounds int
	}{{"per client", p.PerClient, rounds}, {"per record", p.PerRecord, clients * rounds}} {
		e := m.Event(0)
		e.Count = c.rounds
		want, err := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{e}, delta)
		if err != nil {
			t.Fatal(err)
		}
		s := c.got
		if *s.EpsilonLower != want.EpsilonLower || *s.Epsilon != want.Epsilon || *s.EpsilonUpper != want.EpsilonUpper {
			t.Errorf("%s: [%v, %v, %v], want %+v", c.name, *s.EpsilonLower, *s.Epsilon, *s.EpsilonUpper, want)
		}
		if s.Kind != dp.Interval || s.Accountant != "pld" || s.Adjacency != dp.AddOrRemove ||
			s.Sampling != dp.Poisson ||
			s.Delta != delta || s.Rounds != c.rounds || s.GradComps != 26*c.rounds || s.DatasetSize != 8844 ||
			s.Reason != "" {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// For random settings: the certified ε is at most the ε of the closed form (Theorem simpleF), if both
// exist. The ε for one client is at most the ε for a record over all clients, and equal to it if the data
// are sharded. Both orders hold for both accountants.
func TestOrderOfClaims(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	both := 0
	for range 60 {
		n := 1000 + r.IntN(20_000)
		m := poisson(n, 1+r.IntN(n/50), 1.5+20*r.Float64())
		ledgers := same(ledger(m, 1+r.IntN(300)), 2+r.IntN(6))
		delta := math.Pow(10, -3-5*r.Float64())
		certified := of(t, pld.Accountant{}, ledgers, true, delta)
		closed := of(t, closedform.Accountant{}, ledgers, true, delta)
		for _, pair := range [][2]Claim{{certified.PerClient, closed.PerClient},
			{certified.PerRecord, closed.PerRecord}} {
			if pair[0].EpsilonUpper == nil {
				t.Fatalf("%+v, δ = %v: %s", m, delta, pair[0].Reason)
			}
			if pair[1].EpsilonUpper == nil {
				continue
			}
			both++
			if *pair[0].EpsilonUpper > *pair[1].EpsilonUpper {
				t.Errorf("%+v, δ = %v: certified %v, closed form %v", m, delta, *pair[0].EpsilonUpper,
					*pair[1].EpsilonUpper)
			}
		}
		for _, p := range []Privacy{certified, closed} {
			if p.PerRecord.EpsilonUpper != nil && *p.PerClient.EpsilonUpper > *p.PerRecord.EpsilonUpper {
				t.Errorf("%+v, δ = %v: %s gives %v per client, %v per record", m, delta, p.PerClient.Accountant,
					*p.PerClient.EpsilonUpper, *p.PerRecord.EpsilonUpper)
			}
		}
		if record := *certified.PerRecord.EpsilonUpper; record > 0 && record == *certified.PerClient.EpsilonUpper {
			t.Errorf("%+v, δ = %v: more clients cost nothing", m, delta)
		}
		if p := of(t, pld.Accountant{}, ledgers, false, delta); p.PerRecord != p.PerClient {
			t.Errorf("shard: %+v per record, %+v per client", p.PerRecord, p.PerClient)
		}
	}
	if both < 60 {
		t.Errorf("both accountants answered only %d times", both)
	}
}

// With shards, the statement has the ε of the client that pays most. If one client has no ε, the statement
// has none.
func TestTheWorstClientDecides(t *testing.T) {
	little, much := ledger(poisson(1000, 10, 4), 10), ledger(poisson(1000, 10, 2), 10)
	for _, ledgers := range [][]dp.Ledger{{little, much, little}, {much, little}} {
		p := of(t, pld.Accountant{}, ledgers, false, 1e-5)
		alone := of(t, pld.Accountant{}, []dp.Ledger{much}, false, 1e-5)
		if *p.PerRecord.EpsilonUpper != *alone.PerRecord.EpsilonUpper {
			t.Errorf("ε %v, of the worst client alone %v", *p.PerRecord.EpsilonUpper, *alone.PerRecord.EpsilonUpper)
		}
	}
	open := ledger(poisson(1000, 10, 0), 10)
	for _, ledgers := range [][]dp.Ledger{{much, open}, {open, much}} {
		if p := of(t, pld.Accountant{}, ledgers, false, 1e-5); p.PerRecord.EpsilonUpper != nil ||
			p.PerRecord.Reason == "" {
			t.Errorf("a client without noise, and still %+v", p.PerRecord)
		}
	}
}

// Of two claims about the same records the smaller ε holds, and none is worse than any. An ε that is added is rounded up,
// and then the sum is only an upper bound.
func TestClaimsAreComparedAndAdded(t *testing.T) {
	one := func(upper float64) Privacy {
		c := Claim{EpsilonLower: &upper, Epsilon: &upper, EpsilonUpper: &upper, Kind: dp.Interval}
		return Privacy{c, c}
	}
	small, large, none, added := one(0.1), one(0.2), Privacy{}, 0.2
	for _, pair := range [][2]Privacy{{small, large}, {large, small}, {none, small}, {small, none}} {
		if got := pair[0].Least(pair[1]); *got.PerClient.EpsilonUpper != 0.1 || *got.PerRecord.EpsilonUpper != 0.1 {
			t.Errorf("of %+v: %+v", pair, got)
		}
	}
	if got := none.Plus(1, "why"); got.PerRecord.EpsilonUpper != nil {
		t.Errorf("%+v", got)
	}
	for _, c := range []Claim{small.Plus(added, "why").PerRecord, small.Plus(added, "why").PerClient} {
		if *c.EpsilonLower != 0 || *c.Epsilon != *c.EpsilonUpper || !(*c.EpsilonUpper > *small.PerRecord.Epsilon+added) || *c.EpsilonUpper > 0.31 ||
			c.Kind != dp.Upper || c.Reason != "why" {
			t.Errorf("[%v, %v], %+v", *c.EpsilonLower, *c.EpsilonUpper, c)
		}
	}
}

// open is an accountant that proves nothing from above.
type open struct{ dp.Accountant }

func (open) Name() string { return "open" }

func (open) Epsilon(context.Context, []dp.Event, float64) (dp.Bound, error) {
	return dp.Bound{EpsilonLower: 0.5, Epsilon: 0.5, EpsilonUpper: math.Inf(1), Kind: dp.Approximation}, nil
}

// many is an accountant that refuses every event.
type many struct{ dp.Accountant }

func (many) Name() string { return "many" }

func (many) Epsilon(ctx context.Context, events []dp.Event, _ float64) (dp.Bound, error) {
	var errs []error
	for i := range events {
		errs = append(errs, fmt.Errorf("many: event %d: %w", i, dp.ErrNotCovered))
	}
	return dp.Bound{}, errors.Join(errs...)
}

// Without a proof there is no ε, but a reason on one line, and the claim can still be written as JSON.
func TestNoProofNoEpsilon(t *testing.T) {
	m := poisson(1000, 1, 4)
	m.Sizes = dp.PolynomialSizes{First: 1, Slope: 1, Power: 1}
	for _, c := range []struct {
		acc   dp.Accountant
		delta float64
		want  string
	}{
		{open{}, 1e-5, "no upper bound of ε is proved, ε is at least 0.5"},
		{many{}, 1e-5, "many: event 0: not covered; many: event 1: not covered; and 8 more"},
		{pld.Accountant{}, 1e-200, "delta = 1e-200, must be in [1e-100, 1)"},
	} {
		p := of(t, c.acc, same(ledger(m, 10), 3), true, c.delta)
		for _, s := range []Claim{p.PerClient, p.PerRecord} {
			if s.EpsilonLower != nil || s.Epsilon != nil || s.EpsilonUpper != nil || s.Kind != "" ||
				!strings.HasPrefix(s.Reason, c.want) {
				t.Errorf("%s: %+v, want the reason %q", c.acc.Name(), s, c.want)
			}
		}
		if text, err := json.Marshal(p); err != nil ||
			!strings.Contains(string(text), `"per_record":{"epsilon_lower":null,"epsilon":null,"epsilon_upper":null`) {
			t.Errorf("%s: %s, %v", c.acc.Name(), text, err)
		}
	}
}

// If the context is cancelled, there is no claim, not even one that says that nothing is proved.
func TestInterrupt(t *testing.T) {
	stop := errors.New("that is enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	ledgers := same(ledger(poisson(1000, 10, 4), 10), 3)
	for _, shared := range []bool{false, true} {
		if p, err := OfLedgers(ctx, pld.Accountant{}, ledgers, shared, 1e-5); err != stop || p != (Privacy{}) {
			t.Errorf("shared %v: %+v, %v", shared, p, err)
		}
		p, err := OfClients(ctx, pld.Accountant{}, ledgers[0].Events(), 3, shared, 1e-5)
		if err != stop || p != (Privacy{}) {
			t.Errorf("shared %v: %+v, %v", shared, p, err)
		}
	}
	_, err := NewReport(4, nil, func(acc dp.Accountant) (Privacy, error) {
		return OfLedgers(ctx, acc, ledgers, true, 1e-5)
	})
	if err != stop {
		t.Errorf("%v", err)
	}
}

// Invalid rounds are an error. A claim without an ε would look like a valid release for which nothing is
// proved.
func TestInvalidIsNoClaim(t *testing.T) {
	negative, good := event(1, 10, 3, 2), event(1, 10, 3, 2)
	negative.NoiseMultiplier = -1
	for _, acc := range []dp.Accountant{pld.Accountant{}, closedform.Accountant{}} {
		for want, ask := range map[string]struct {
			event dp.Event
			delta float64
		}{"noise multiplier = -1": {negative, 1e-5}, "delta = 2": {good, 2}, "delta = 0": {good, 0}} {
			c, err := Of(t.Context(), acc, []dp.Event{ask.event}, ask.delta)
			if c != (Claim{}) || err == nil || errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(),
				want) {
				t.Errorf("%s, %s: %+v, %v", acc.Name(), want, c, err)
			}
		}
	}
}

// A client that has released nothing costs nothing, and the others keep their ε. If nobody has released
// anything there is no ε, but the claim can still be written as JSON.
func TestClientsWithoutRounds(t *testing.T) {
	some := ledger(poisson(1000, 10, 4), 10)
	for _, shared := range []bool{false, true} {
		alone := of(t, pld.Accountant{}, []dp.Ledger{some}, shared, 1e-5)
		for _, ledgers := range [][]dp.Ledger{{some, {}}, {{}, some}, {{}, some, {}}} {
			p := of(t, pld.Accountant{}, ledgers, shared, 1e-5)
			if p.PerClient.EpsilonUpper == nil || *p.PerClient.EpsilonUpper != *alone.PerClient.EpsilonUpper ||
				p.PerRecord.EpsilonUpper == nil || *p.PerRecord.EpsilonUpper != *alone.PerRecord.EpsilonUpper {
				t.Errorf("shared: %v: %+v, without the others %+v", shared, p, alone)
			}
		}
		r, err := NewReport(4, nil, func(acc dp.Accountant) (Privacy, error) {
			return OfLedgers(t.Context(), acc, make([]dp.Ledger, 2), shared, 1e-5)
		})
		if err != nil || r.EpsilonUpper != nil || r.Reason == "" {
			t.Errorf("no rounds: %+v, %v", r, err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	}
}

// Clients that share shuffled records have separate draws: 25 rounds of 10 batches begin three epochs for each
// client, so two clients pay for six Gaussian rounds.
func TestClientsThatShuffleSharedRecords(t *testing.T) {
	e := dp.Event{Sampling: dp.Shuffle, Adjacency: dp.ZeroOut, NoiseMultiplier: 2, Rate: 0.1, Count: 25, Redraw: dp.EachEpoch}
	p, err := OfClients(t.Context(), gdp.Accountant{}, []dp.Event{e}, 2, true, 1e-5)
	want, wantErr := gdp.Epsilon(math.Sqrt(6)/2, 1e-5)
	if err := errors.Join(err, wantErr); err != nil || p.PerRecord.EpsilonUpper == nil ||
		math.Abs(*p.PerRecord.EpsilonUpper/want-1) > 1e-6 {
		t.Errorf("%+v, want ε = %v; %v", p.PerRecord, want, err)
	}
}
