package claim

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/rng"
)

// fromRoot returns the ledgers as of clients whose noise is of the name given.
func fromRoot(name rng.Name, ledgers []dp.Ledger) []dp.Ledger {
	var out []dp.Ledger
	for i := range ledgers {
		out = append(out, ledgers[i].Named(dp.Noise{Name: name, Client: i}))
	}
	return out
}

// There is no claim for the ledgers of two trainings with one seed, because they share their noise. There
// is one for the ledgers of two runs. A name does not change ε.
func TestLedgersOfOneRunAreRefused(t *testing.T) {
	m := poisson(10_000, 20, 5)
	two, seed := same(ledger(m, 30), 2), rng.Name{Root: "seed:1"}
	run0, run1 := fromRoot(seed, two), fromRoot(rng.Name{Root: "seed:1", Run: 1}, two)
	for _, shared := range []bool{false, true} {
		if p, err := OfLedgers(t.Context(), pld.Accountant{}, slices.Concat(run0, run0), shared,
			1e-5); p != (Privacy{}) ||
			!errors.Is(err, dp.ErrSharedNoise) {
			t.Errorf("shared data %v: %+v, %v", shared, p, err)
		}
		named := of(t, pld.Accountant{}, slices.Concat(run0, run1), shared, 1e-5)
		plain := of(t, pld.Accountant{}, same(ledger(m, 30), 4), shared, 1e-5)
		got, want := named.PerRecord, plain.PerRecord
		if *got.EpsilonUpper != *want.EpsilonUpper || got.Rounds != want.Rounds {
			t.Errorf("shared data %v: with names %+v, without %+v", shared, got, want)
		}
	}
	once, twice := run0[0].Events(), ledger(poisson(10_000, 20, 10), 30)
	twice = twice.Named(dp.Noise{Name: seed})
	if c, err := Of(t.Context(), pld.Accountant{}, append(once, twice.Events()...), 1e-5); c != (Claim{}) ||
		!errors.Is(err, dp.ErrSharedNoise) {
		t.Errorf("two σ in one run: %+v, %v", c, err)
	}
}

// The releases of a record have names if the names are known. If clients share the data but have their own
// roots, there is one name for each root. If it is not known who holds a record, there is none.
func TestReleasedIsNamed(t *testing.T) {
	m := poisson(10_000, 20, 5)
	shared := same(ledger(m, 30), 3)
	own := fromRoot(rng.Name{Root: "secret:a"}, shared)
	own[1] = own[1].Named(dp.Noise{Name: rng.Name{Root: "secret:b"}, Client: 1})
	for _, c := range []struct {
		name    string
		ledgers []dp.Ledger
		shared  bool
		want    string // by root the rounds
	}{
		{"one root", fromRoot(rng.Name{Root: "seed:1"}, shared), true, "seed 1, run 0: 90"},
		{"one root, disjoint", fromRoot(rng.Name{Root: "seed:1"}, shared), false, "seed 1, run 0: 30"},
		{"two roots", own, true, "secret:a, run 0: 60; secret:b, run 0: 30"},
		{"two roots, disjoint", own, false, "no root named: 30"},
		{"no name", shared, true, "no root named: 90"},
		{"no rounds", make([]dp.Ledger, 2), true, ""},
		{"no rounds, disjoint", nil, false, ""},
	} {
		var got []string
		for _, e := range Released(c.ledgers, c.shared) {
			got = append(got, e.Noise.String()+": "+strings.Fields(Rounds([]dp.Event{e}))[0])
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

// A statement says where the noise comes from, and what it assumes if that is not known. It says that
// noise from a numbered seed protects nobody.
func TestStatementsSayWhoseNoise(t *testing.T) {
	from := func(root string, run uint64) dp.Event {
		e := event(1, 100, 5, 3)
		e.Noise = dp.Noise{Name: rng.Name{Root: root, Run: run}, Client: dp.AllClients}
		return e
	}
	b := dp.Bound{EpsilonUpper: 1, Delta: 1e-5, DeltaLower: 1e-5, DeltaUpper: 1e-5, Kind: dp.Upper, Accountant: "some",
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove}
	const assumed, simulated = "is assumed", "SIMULATION: anyone who knows the seed can subtract the noise; " +
		"use --seed-from-os for a release."
	for _, c := range []struct {
		events    []dp.Event
		want, not []string
	}{
		{nil, []string{assumed}, []string{simulated}},
		{[]dp.Event{event(1, 100, 5, 3)}, []string{"noise of all rounds " + assumed + " to be independent"},
			[]string{simulated}},
		{[]dp.Event{from("seed:1", 0), from("seed:1", 3)}, []string{"from seed 1, run 0; seed 1, run 3.", simulated},
			[]string{assumed}},
		{[]dp.Event{from("secret:a", 0)}, []string{"from secret:a, run 0."}, []string{assumed, simulated}},
		{[]dp.Event{from("secret:a", 0), event(1, 100, 5, 3)}, []string{"from secret:a, run 0; the noise of the other rounds " +
			"has no named source and " + assumed}, []string{simulated}},
		{[]dp.Event{from("a", 0), from("b", 0), from("c", 0), from("d", 0), from("seed:2", 0)},
			[]string{"from a, run 0; b, run 0; c, run 0; and 2 more.", simulated}, []string{assumed}},
	} {
		text := Statement(PerRecord, b, c.events...)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %s", want, text)
			}
		}
		for _, not := range c.not {
			if strings.Contains(text, not) {
				t.Errorf("%q in %s", not, text)
			}
		}
	}
}
