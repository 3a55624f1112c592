package sim

import (
	"errors"
	"strings"
	"testing"
)

// One client and one round, by hand: the round runs, its update is under way,
// the broadcast is, all is done.
func TestExplorationOfOneRound(t *testing.T) {
	got, err := Exploration{Clients: 1, Rounds: 1}.Run()
	if want := (Explored{States: 4, Transitions: 3, Ends: 1}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// Algorithms 1–4 keep their promises in every order of events of two clients and
// two rounds, with every fault; the command explore does the larger sizes.
func TestEveryInterleaving(t *testing.T) {
	for _, tau := range []int{0, 1, 2, -1} {
		e := Exploration{Clients: 2, Rounds: 2, Tau: tau}
		plain, err := e.Run()
		if err != nil {
			t.Fatal(err)
		}
		e.Faults = AllFaults
		faulty, err := e.Run()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("τ = %d: %+v without faults, %+v with", tau, plain, faulty)
		// Each fault may have happened or not in the end.
		if plain.Ends != 1 || faulty.Ends != 8 {
			t.Errorf("τ = %d: %d ends without faults, want 1, and %d with, want 8", tau, plain.Ends, faulty.Ends)
		}
	}
}

func TestExplorationRefusesWhatItCannotCount(t *testing.T) {
	for want, e := range map[string]Exploration{
		"clients × rounds = 0 × 1":  {Clients: 0, Rounds: 1},
		"clients × rounds = 3 × 11": {Clients: 3, Rounds: 11},
		"at least 0 each":           {Clients: 1, Rounds: 1, Faults: Faults{Losses: -1}},
	} {
		_, err := e.Run()
		if broken := new(Violation); err == nil || errors.As(err, &broken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", e, err, want)
		}
	}
}

// Of states that differ by the names of clients alone, one is explored. All are
// found that there are without this.
func TestNamesOfClientsDecideNothing(t *testing.T) {
	for _, e := range []Exploration{
		{Clients: 2, Rounds: 2, Tau: 1, Faults: AllFaults},
		{Clients: 3, Rounds: 1, Faults: AllFaults},
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
		explored, err := e.Run()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d × %d: %d states, %d with names", e.Clients, e.Rounds, explored.States, len(x.visited))
		if explored.States != len(found) {
			t.Errorf("%d × %d: %d states explored, there are %d", e.Clients, e.Rounds, explored.States, len(found))
		}
	}
}
