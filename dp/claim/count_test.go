package claim

import (
	"math"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/rdp"
)

// If the number of rounds does not fit into an int, a statement says "at least" the largest int, and so
// does a claim. 2^62 rounds of each of four kinds must not count as 0.
func TestRoundsBeyondAnInt(t *testing.T) {
	var events []dp.Event
	for i := range 4 {
		events = append(events, event(1, 1e9, 1<<62, 100+float64(i)))
	}
	if text := Rounds(events); !strings.HasPrefix(text, "at least 9223372036854775807 rounds with") {
		t.Error(text)
	}
	if text := Rounds(events[:1]); !strings.HasPrefix(text, "4611686018427387904 rounds with") {
		t.Error(text)
	}
	c, err := Of(t.Context(), rdp.Accountant{}, events, 1e-5)
	if err != nil || c.EpsilonUpper == nil || c.Rounds != math.MaxInt || c.GradComps != math.MaxInt {
		t.Errorf("%+v, %v", c, err)
	}
	if got := times(1<<62, 3); got != math.MaxInt {
		t.Errorf("3·2^62 is %d", got)
	}
	one := []dp.Event{event(1e6, 1e9, 1<<62, 100)}
	if c, err = Of(t.Context(), rdp.Accountant{}, one, 1e-5); err != nil || c.Rounds != 1<<62 ||
		c.GradComps != math.MaxInt {
		t.Errorf("%+v, %v", c, err)
	}
	b := dp.Bound{Kind: dp.Upper, EpsilonUpper: 1, Delta: 1e-5}
	if r := Within(b, events); r.PerRecord.Rounds != math.MaxInt {
		t.Errorf("%+v", r.PerRecord)
	}
}

// If an int cannot hold the number of rounds of all clients together, they are refused, and not taken for
// fewer rounds.
func TestRoundsOfAllClientsBeyondAnInt(t *testing.T) {
	events := []dp.Event{event(1, 1e9, 1<<62, 100)}
	if p, err := OfClients(t.Context(), rdp.Accountant{}, events, 5, true, 1e-5); p != (Privacy{}) || err == nil {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := OfClients(t.Context(), rdp.Accountant{}, events, 5, false, 1e-5); err != nil {
		t.Errorf("of one client each: %v", err)
	}
}

// A number of clients below 1 is an error.
func TestClientsBelowOne(t *testing.T) {
	for _, clients := range []int{0, -1, math.MinInt} {
		for _, shared := range []bool{true, false} {
			_, err := OfClients(t.Context(), rdp.Accountant{}, []dp.Event{event(1, 10, 5, 100)}, clients, shared, 1e-5)
			if err == nil || !strings.Contains(err.Error(), "must be at least 1") {
				t.Errorf("%d clients, shared %v: error %v", clients, shared, err)
			}
		}
	}
}

// If an int cannot hold the number of rounds of all clients, a record still pays for all of them: 2^62
// rounds of each of four clients are not 0 rounds, and no number in the list is negative.
func TestReleasedBeyondAnInt(t *testing.T) {
	ledgers := make([]dp.Ledger, 5)
	for i := range ledgers {
		ledgers[i].Record(event(1, 10, 1<<62, 100))
	}
	total := 0.0
	for _, e := range Released(ledgers, true) {
		if e.Count < 1 {
			t.Errorf("%+v", e)
		}
		total += float64(e.Count)
	}
	if total != 5*0x1p62 {
		t.Errorf("%v rounds, want 5·2^62", total)
	}
}
