package sim

import (
	"math/bits"
)

// check tests a state and the move m that led to it. before is nil at the start of the run.
func (x *explorer) check(before, after *world, m move) error {
	if err := x.checkServer(after); err != nil {
		return err
	}
	for i := range after.run.clients {
		if err := x.checkClient(after, i); err != nil {
			return err
		}
		if before == nil {
			continue
		}
		if err := x.checkChange(before, after, m, i); err != nil {
			return err
		}
	}
	if err := x.checkStaleness(after); err != nil {
		return err
	}
	return x.checkReaders(after)
}

// checkServer tests the global model, and the copies of it that the server has sent.
func (x *explorer) checkServer(w *world) error {
	s := &w.run.server
	if err := x.once("the global model", s.v); err != nil {
		return err
	}
	if in := applied(s.v); s.applied != bits.OnesCount32(uint32(in)) {
		return violated(InvariantOnce, "the server has applied %d updates, its model holds %d", s.applied,
			bits.OnesCount32(uint32(in)))
	} else if x.Momentum && applied(s.u) != in {
		return violated(InvariantOnce, "the server's model holds %s, its velocity %s", x.names(in),
			x.names(applied(s.u)))
	} else if missing := x.before(s.k) &^ in; missing != 0 {
		return violated(InvariantComplete, "the server is at k = %d without %s", s.k, x.names(missing))
	} else if s.k < x.Rounds && x.before(s.k+1)&^in == 0 {
		return violated(InvariantComplete, "the server is at k = %d although it has all updates of k = %d", s.k, s.k+1)
	}
	for _, e := range w.run.queue {
		if e.kind != broadcastArrives && e.kind != broadcastResent {
			continue
		}
		if missing := x.before(int(e.number)) &^ applied(e.vector.X); missing != 0 {
			return violated(InvariantComplete, "v̂_%d under way to client %d lacks %s", e.number, e.client,
				x.names(missing))
		}
	}
	return nil
}

// once tests that no update is in a model twice.
func (x *explorer) once(what string, model []float32) error {
	for p, n := range model {
		if n != 0 && n != -1 && !(x.Momentum && -2 < n && n < -1) {
			return violated(InvariantOnce, "%s is applied %v times in %s", x.names(1<<p), -n, what)
		}
	}
	return nil
}

// checkClient tests one client's state.
func (x *explorer) checkClient(w *world, client int) error {
	c := &w.run.clients[client]
	if err := x.once("a local model", c.w()); err != nil {
		return err
	}
	k, i := w.received[client], w.finished[client]
	if c.k != k {
		return violated(InvariantNewest, "client %d uses v̂_%d, the newest it received is v̂_%d", client, c.k, k)
	}
	if rounds := c.ledger.Run().Rounds; c.i != i || rounds != i {
		return violated(InvariantLedgers, "client %d finished %d rounds, but it is at round %d, and its ledger counts %d",
			client, i, c.i, rounds)
	}
	permitted, away := x.Tau < 0 || k >= x.begins(client, i)-x.Tau, w.run.stations[client].away
	switch {
	case c.busy && away:
		return violated(InvariantAbsent, "client %d computes round %d", client, i)
	case c.busy && !permitted:
		return violated(InvariantPermitted,
			"client %d computes round %d, the newest broadcast that it received is v̂_%d", client, i, k)
	case !c.busy && !away && permitted && i < x.rounds(client):
		return violated(InvariantWakeUp, "client %d does not compute round %d, although it received v̂_%d", client, i,
			k)
	}
	return nil
}

// checkChange tests the change of a client by the move m. It computes ŵ by the paper's rule from
// the ŵ before and from the event, and compares. If a round began, it also tests that the client
// had the updates that it needs, and that its lag was measured.
func (x *explorer) checkChange(before, after *world, m move, client int) error {
	was, is := &before.run.clients[client], &after.run.clients[client]
	want, later := applied(was.w()), was.newer
	if e := before.run.queue[m.event]; m.kind != isLost && int(e.client) == client {
		newer := e.kind == broadcastArrives && after.received[client] > before.received[client]
		switch {
		case newer && was.busy:
			later = e.vector
		case newer:
			want = applied(e.vector.X)
		case was.busy && (e.kind == roundEnds || e.kind == clientLeaves):
			if later != nil {
				want, later = applied(later.X), nil
			}
			if e.kind == roundEnds {
				want |= x.update(client, before.finished[client])
			}
		}
	}
	got := applied(is.w())
	if got != want {
		return violated(InvariantLocal, "ŵ of client %d holds %s, not %s", client, x.names(got), x.names(want))
	}
	if (is.newer == nil) != (later == nil) || later != nil && applied(is.newer.X) != applied(later.X) {
		return violated(InvariantLocal, "client %d does not keep the broadcast that replaces ŵ at the end of round %d", client, is.i)
	}
	if is.busy && (!was.busy || is.i > was.i) {
		k := after.received[client]
		if missing := x.before(k) &^ got; missing != 0 {
			return violated(InvariantPromised, "client %d computes round %d after v̂_%d without %s", client, is.i, k,
				x.names(missing))
		}
		if lag := max(0, x.begins(client, is.i)-k); is.lag != lag {
			return violated(InvariantMeasured, "client %d measured a lag of %d rounds, it was %d", client, is.lag, lag)
		}
	}
	return nil
}

// checkStaleness tests the lags that the run has measured.
func (x *explorer) checkStaleness(w *world) error {
	ended, measured := 0, 0
	for _, rounds := range w.finished {
		ended += rounds
	}
	for lag, rounds := range w.run.staleness {
		measured += rounds
		if rounds > 0 && x.Tau >= 0 && lag > x.Tau {
			return violated(InvariantPermitted, "a round was computed with a lag of %d", lag)
		}
	}
	if measured != ended {
		return violated(InvariantMeasured, "the lag of %d rounds was measured, but %d ended", measured, ended)
	}
	return nil
}

// checkReaders tests that the reader count of each vector is the number of clients that hold it plus
// the number of messages that carry it.
func (x *explorer) checkReaders(w *world) error {
	for v, n := range w.run.holders() {
		if int(v.readers) != n {
			return violated(InvariantReaders, "a vector counts %d readers, but has %d", v.readers, n)
		}
	}
	return nil
}

// checkEnd tests a state in which nothing more can happen.
func (x *explorer) checkEnd(w *world) error {
	for client, i := range w.finished {
		if i < x.rounds(client) {
			return violated(InvariantNoDeadlock, "nothing is under way, but client %d has not done round %d", client, i)
		}
	}
	if missing := x.before(x.Rounds) &^ applied(w.run.server.v); missing != 0 {
		return violated(InvariantNoDeadlock, "nothing is under way, but the server lacks %s", x.names(missing))
	}
	return nil
}
