package sim

import (
	"errors"
	"flag"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

var (
	exploreMost = flag.Int("explore", 12_000, "take the explorations of TestExploration that have at most this many states")
	oneEach     = Faults{Duplicates: 1, Losses: 1, Leaves: 1}
)

// unlimited means no bound τ. Any τ ≥ T − 1 has the same effect, because no round is more than T − 1
// ahead of v̂_0.
const unlimited = -1

// explored holds the results of explorations that several tests need.
var explored sync.Map

// once is Run, but makes each exploration only once in a run of the tests. States are small and many, so that
// collecting them often would take a third of the time.
func (e Exploration) once() (Explored, error) {
	run, _ := explored.LoadOrStore(e, sync.OnceValues(func() (Explored, error) {
		defer debug.SetGCPercent(debug.SetGCPercent(400))
		return e.Run()
	}))
	return run.(func() (Explored, error))()
}

// With each fault at most once, no order of events breaks an invariant. The numbers of states and transitions
// change if the machines change, or what Virtual does at an event, so that an unintended change is noticed. In some
// explorations, client 0 has a larger sample size, and so fewer rounds. The smallest size comes first: a fault that
// needs few events is found by a short trace.
func TestExploration(t *testing.T) {
	states, transitions := 0, 0
	for _, c := range []struct{ clients, rounds, short, tau, states, transitions int }{
		{2, 2, 0, 0, 1791, 6223},
		{2, 2, 1, 0, 7181, 27_512},
		{2, 2, 0, unlimited, 11_322, 48_327},
		{2, 2, 1, unlimited, 17_954, 76_346},
		{2, 3, 0, 0, 6179, 23_170},
		{2, 3, 1, 0, 42_810, 198_484},
		{2, 3, 2, 0, 26_218, 111_343},
		{2, 3, 0, 1, 312_292, 1_606_573},
		{2, 3, 0, unlimited, 977_079, 5_606_642},
		{2, 4, 2, 0, 179_690, 917_317},
		{3, 2, 0, 0, 6941, 29_339},
		{3, 2, 1, 0, 44_832, 204_009},
		{3, 2, 0, unlimited, 125_850, 675_749},
	} {
		states += c.states
		transitions += c.transitions
		if c.states > *exploreMost {
			continue
		}
		got, err := Exploration{Clients: c.clients, Rounds: c.rounds, Short: c.short, Tau: c.tau, Faults: oneEach}.once()
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		t.Logf("%d × %d (%d), τ = %d: %+v", c.clients, c.rounds, c.short, c.tau, got)
		if got.States != c.states || got.Transitions != c.transitions {
			t.Errorf("%+v: %+v: the protocol has changed", c, got)
		}
	}
	// The documents speak of these.
	if states != 1_760_139 || transitions != 9_531_034 {
		t.Errorf("%d states and %d transitions, want 1,760,139 and 9,531,034", states, transitions)
	}
}

// One client and one round, checked by hand: the round runs, its update travels, the broadcast travels,
// the run is done.
func TestExplorationOfOneRound(t *testing.T) {
	got, err := Exploration{Clients: 1, Rounds: 1}.Run()
	if want := (Explored{States: 4, Transitions: 3, Ends: 1}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// Algorithms 1–4 keep their invariants in every order of events: for two clients and two rounds with every
// fault, and for larger runs without faults.
func TestEveryInterleaving(t *testing.T) {
	for _, e := range []Exploration{
		{Clients: 2, Rounds: 2}, {Clients: 2, Rounds: 2, Faults: oneEach},
		{Clients: 2, Rounds: 3}, {Clients: 3, Rounds: 2},
		{Clients: 2, Rounds: 2, Faults: oneEach, Momentum: true},
	} {
		e.Tau = unlimited
		all, err := e.once()
		if err != nil {
			t.Fatal(err)
		}
		// In the end each fault has happened or not, and that is all that is left of it.
		if ends := 1 << (e.Faults.Duplicates + e.Faults.Losses + e.Faults.Leaves); all.Ends != ends {
			t.Errorf("%+v: %d ends, want %d", e, all.Ends, ends)
		}
		for e.Tau = range e.Rounds {
			some, err := e.once()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v: %+v", e, some)
			// No round is more than T − 1 ahead of v̂_0: a larger τ is none.
			if wide := e.Tau >= e.Rounds-1; wide != (some == all) {
				t.Errorf("%+v: %+v, without τ %+v", e, some, all)
			}
		}
	}
}

func TestExplorationRefusesWhatItCannotCount(t *testing.T) {
	for want, e := range map[string]Exploration{
		"clients = 0, must be in [1, 5]":                 {Rounds: 1},
		"clients = 6":                                    {Clients: 6, Rounds: 1},
		"clients × rounds = 3 × 11, must be in [1, 32]":  {Clients: 3, Rounds: 11},
		"clients × rounds = 5 × 5, must be in [1, 24]":   {Clients: 5, Rounds: 5, Momentum: true},
		"Losses:-1 Leaves:0}, must be in [0, 255] each":  {Clients: 1, Rounds: 1, Faults: Faults{Losses: -1}},
		"Losses:0 Leaves:256}, must be in [0, 255] each": {Clients: 1, Rounds: 1, Faults: Faults{Leaves: 256}},
	} {
		_, err := e.Run()
		if broken := new(Violation); err == nil || errors.As(err, &broken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", e, err, want)
		}
	}
}

// If states differ only in the numbering of clients, one of them is explored. The exploration still finds
// every state that a full exploration finds.
func TestNamesOfClientsDecideNothing(t *testing.T) {
	for _, e := range []Exploration{
		{Clients: 2, Rounds: 2, Faults: oneEach},
		{Clients: 3, Rounds: 1, Faults: oneEach},
	} {
		x, start, err := newExplorer(e)
		if err != nil {
			t.Fatal(err)
		}
		orders, found := x.orders, map[fingerprint]bool{}
		var visit func(w *world)
		visit = func(w *world) {
			x.orders = orders[:1]
			if print := x.fingerprint(w); x.visited[print] {
				return
			} else {
				x.visited[print] = true
			}
			x.orders = orders
			found[x.fingerprint(w)] = true
			for _, m := range x.moves(w) {
				next, err := x.step(w, m)
				if err != nil {
					t.Fatal(err)
				}
				visit(next)
			}
		}
		visit(start)
		explored, err := e.once()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d × %d: %d states, %d with names", e.Clients, e.Rounds, explored.States, len(x.visited))
		if explored.States != len(found) {
			t.Errorf("%d × %d: %d states explored, there are %d", e.Clients, e.Rounds, explored.States, len(found))
		}
	}
}

// A violation is reported with the shortest way to it. Here the machines are checked against a smaller τ
// than their own.
func TestViolationIsToldByTheShortestWay(t *testing.T) {
	x, start, err := newExplorer(Exploration{Clients: 2, Rounds: 2, Tau: 1})
	if err != nil {
		t.Fatal(err)
	}
	x.Tau = 0
	err = x.explain(start, x.visit(start))
	broken := new(Violation)
	if !errors.As(err, &broken) || broken.Invariant != InvariantPermitted {
		t.Fatalf("%v, want a violation of %q", err, InvariantPermitted)
	}
	if len(broken.Trace) != 1 || !strings.Contains(broken.Trace[0], "ends round 0") ||
		!strings.Contains(broken.Trace[0], "begins round 1, i − k = 1") {
		t.Errorf("trace %q, want the end of one round and the beginning of the next", broken.Trace)
	}
	// Two moves away: the server applies an update, and then a client goes on too early.
	x, start, err = newExplorer(Exploration{Clients: 2, Rounds: 3, Tau: 2})
	if err != nil {
		t.Fatal(err)
	}
	x.Tau = 1
	if err = x.explain(start, x.visit(start)); !errors.As(err, &broken) || len(broken.Trace) != 2 ||
		!strings.Contains(broken.Trace[1], "begins round 2, i − k = 2") {
		t.Errorf("%v, want two steps", err)
	}
}

// If clients are renumbered, the set of updates (a bit for each round of each client) is renumbered with
// them.
func TestRenamedMovesTheUpdatesOfAClient(t *testing.T) {
	e := Exploration{Clients: 3, Rounds: 2}
	// Client 0 has round 0, client 1 both, client 2 round 1.
	const set updates = 0b10_11_01
	for _, c := range []struct {
		order []int
		want  updates
	}{
		{[]int{0, 1, 2}, 0b10_11_01}, {[]int{1, 0, 2}, 0b10_01_11},
		{[]int{2, 0, 1}, 0b11_01_10}, {[]int{2, 1, 0}, 0b01_11_10},
	} {
		if got := e.renamed(set, c.order); got != c.want {
			t.Errorf("order %v: %06b, want %06b", c.order, got, c.want)
		}
	}
}
