//go:build invariants

package sim

import (
	"errors"
	"testing"
)

// Each assertion fails if its invariant is broken.
func TestAssertionsFail(t *testing.T) {
	machines := func() (*Server, *Client) {
		server, clients := handDriven(2, 2, AtMost(1)).newMachines(kept)
		return server, clients[0]
	}
	update := Update{Client: 0, Round: 0, U: make([]float32, 4)}
	for name, c := range map[string]struct {
		want Invariant
		do   func()
	}{
		"an update is counted twice": {InvariantOnce, func() {
			server, _ := machines()
			server.Receive(update)
			server.assertReceived(update, true, 0, 0)
		}},
		"an update is forgotten": {InvariantOnce, func() {
			server, _ := machines()
			server.Receive(update)
			server.state.clients[0] = progress{}
			server.assertReceived(update, false, 0, 0)
		}},
		"a round is complete too early": {InvariantComplete, func() {
			server, _ := machines()
			server.state.at[0] = 1 // of two clients
			server.Receive(update)
		}},
		"a round begins while Υ is false": {InvariantPermitted, func() {
			_, client := machines()
			client.state.i = 2
			client.assertBegun()
		}},
		"staleness is not measured": {InvariantMeasured, func() {
			_, client := machines()
			client.state.i = 1
			client.assertBegun()
		}},
		"a round is entered twice": {InvariantLedgers, func() {
			_, client := machines()
			client.Begin()
			client.state.ledger.Record(client.mech.Event(0))
			client.Finish(update.U)
		}},
		"a round leaves ŵ to others": {InvariantLocal, func() {
			_, client := machines()
			client.assertFinished()
		}},
		"an older broadcast is taken": {InvariantNewest, func() {
			_, client := machines()
			client.assertReceived(1, 2)
		}},
		"a client is not woken": {InvariantWakeUp, func() {
			v, err := NewVirtual(handDriven(1, 2, AtMost(1)), Perf{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			v.clients[0].state.busy = false
			v.assertAwake(v.clients[0])
		}},
		"a vector is let go of too often": {InvariantReaders, func() {
			var pool vectorPool
			v := pool.get(1)
			pool.put(v)
			pool.put(v)
		}},
		"a run ends without an update": {InvariantOnce, func() {
			server, client := machines()
			assertEnded(server, []*Client{client}, nil)
		}},
		"a run ends without a client": {InvariantNoDeadlock, func() {
			server, client := machines()
			server.state.applied = 2
			assertEnded(server, []*Client{client}, nil)
		}},
		"a run ends without a ledger": {InvariantLedgers, func() {
			server, client := machines()
			server.state.applied, client.state.i = 2, 2
			assertEnded(server, []*Client{client}, nil)
		}},
		"a run was staler than Υ allows": {InvariantMeasured, func() {
			server, client := machines()
			server.state.applied, client.state.i = 2, 2
			client.state.ledger.Record(client.mech.Event(0))
			client.state.ledger.Record(client.mech.Event(1))
			assertEnded(server, []*Client{client}, Staleness{0, 1, 1})
		}},
		"a round's staleness is missing": {InvariantMeasured, func() {
			server, client := machines()
			server.state.applied, client.state.i = 2, 2
			client.state.ledger.Record(client.mech.Event(0))
			client.state.ledger.Record(client.mech.Event(1))
			assertEnded(server, []*Client{client}, Staleness{1})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				err, _ := recover().(error)
				if broken := new(Violation); !errors.As(err, &broken) || broken.Invariant != c.want {
					t.Errorf("%v, want %q", err, c.want)
				}
			}()
			c.do()
		})
	}
}

// A free vector contains nothing that could be mistaken for a model.
func TestFreeVectorsArePoisoned(t *testing.T) {
	pool := vectorPool{length: 2}
	v := pool.get(2)
	v.X[0], v.X[1] = 1, 2
	pool.put(v)
	if v.X[0] != 1 {
		t.Error("overwritten while there was a reader left")
	}
	pool.put(v)
	if v.X[0] == v.X[0] || v.X[1] == v.X[1] {
		t.Errorf("%v in a free vector, want NaN", v.X)
	}
}
