package claim

import (
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
)

// Many different clients get one common bound. It is never below the bound of the worst client.
func TestEnvelopeIsAboveEveryClient(t *testing.T) {
	const delta = 1e-5
	m := poisson(10_000, 20, 5)
	var ledgers []dp.Ledger
	for c := range 3 * maxAccounted {
		var l dp.Ledger
		for i := range 40 {
			l.Record(m.EventOf(1 + (7*c+(i%4)*(c%5)*9)%60))
		}
		ledgers = append(ledgers, l)
	}
	together := of(t, pld.Accountant{}, ledgers, false, delta).PerClient
	if together.Kind != dp.Upper || together.Rounds != 40 || together.Reason == "" {
		t.Errorf("%+v", together)
	}
	worst := 0.0
	for c := range ledgers {
		alone := *of(t, pld.Accountant{}, ledgers[c:c+1], false, delta).PerClient.EpsilonUpper
		worst = max(worst, alone)
	}
	if upper := *together.EpsilonUpper; upper < worst || upper > 2*worst {
		t.Errorf("bound %v of clients that have up to %v", upper, worst)
	}
	// Another mechanism among them is accounted by itself.
	other := poisson(10_000, 20, 1)
	ledgers = append(ledgers, ledger(other, 40))
	if p := of(t, pld.Accountant{}, ledgers, false, delta).PerClient; p.Kind != dp.Interval ||
		*p.EpsilonUpper <= worst {
		t.Errorf("%+v", p)
	}
}

// Clients that hold different numbers of records have the list of the largest sample rate, not of the largest sample.
func TestEnvelopeHasTheLargestRate(t *testing.T) {
	small, large := poisson(300, 30, 5), poisson(10_000, 60, 5)
	var ledgers []dp.Ledger
	for _, m := range []dp.Mechanism{small, large} {
		ledgers = append(ledgers, ledger(m, 40))
	}
	all := Released(ledgers, false)
	if len(all) != 1 || all[0].SampleRate() != 0.1 || all[0].Count != 40 {
		t.Errorf("%+v, want 40 rounds at the rate 0.1 of the client with 300 records", all)
	}
	for i := range ledgers {
		events := ledgers[i].Events()
		events[0].Group = 2
		var l dp.Ledger
		l.Record(events[0])
		ledgers[i] = l
	}
	if all := Released(ledgers, false); all != nil {
		t.Errorf("%+v for persons, the argument is for one record", all)
	}
	exact, cut := event(30, 300, 1, 2), event(60, 10_000, 1, 2)
	exact.Truncated, cut.Truncated = 50, 50
	if _, ok := larger(exact, cut); ok {
		t.Error("the probability that a batch is cut depends on the number of records, too")
	}
}

// The rounds of a person with several records are not bounded by those at a higher rate, so they get no common bound.
func TestNoEnvelopeOfGroupsAtTwoRates(t *testing.T) {
	for _, c := range []struct {
		group, size int
		ok          bool
	}{{0, 20, true}, {1, 20, true}, {2, 10, true}, {2, 20, false}} {
		a, b := event(10, 100, 5, 2), event(c.size, 100, 7, 2)
		a.Group, b.Group = c.group, c.group
		for _, kinds := range [][]history{{{[]dp.Event{a}, 1}, {[]dp.Event{b}, 1}}, {{[]dp.Event{b}, 1}, {[]dp.Event{a}, 1}}} {
			most, ok := envelope(kinds)
			if ok != c.ok || ok && most[0].SampleSize != c.size {
				t.Errorf("%+v: %+v, %v", c, most, ok)
			}
		}
	}
}

// Clients with the same rounds, in any order, share one history.
func TestEqualHistoriesAreOne(t *testing.T) {
	a, b := event(1, 10, 3, 2), event(5, 10, 1, 2)
	got := distinct([]history{{[]dp.Event{a, b}, 2}, {[]dp.Event{b, a}, 3}, {[]dp.Event{a}, 4}, {[]dp.Event{b, a}, 1}})
	if len(got) != 2 || got[0].clients != 6 || got[1].clients != 4 || len(got[1].events) != 1 {
		t.Errorf("%+v, want 6 clients with both kinds of rounds and 4 with one", got)
	}
}
