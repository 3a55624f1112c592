package sim

import (
	"proactivedp/sim/clock"
)

// This file implements each kind of event.

func (v *Virtual) happen(e *event) error {
	switch e.kind {
	case roundEnds:
		c := v.clients[e.client]
		u, err := v.computed(c)
		if err != nil {
			return err
		}
		st := &v.stations[e.client]
		st.end(v.now)
		v.staleness.Add(c.state.lag, 1)
		round := c.state.i
		c.Finish(u.X)
		if v.cfg.Adapt != 0 {
			c.Took(v.now - st.began)
		}
		v.note(RoundEnds, c.id, round, false)
		v.send(&event{client: e.client, kind: updateArrives, number: int32(round), vector: u})
		if c.Done() && v.cfg.Churn != (clock.Churn{}) {
			v.stay(c)
		}
		v.begin(c)
		if invariants {
			v.assertAwake(c)
		}
	case updateArrives:
		v.note(UpdateArrives, int(e.client), int(e.number), false)
		broadcast, err := v.server.Receive(Update{Client: int(e.client), Round: int(e.number), U: e.vector.X})
		if err != nil {
			return err
		}
		v.vectors.put(e.vector)
		if broadcast {
			v.broadcast()
		}
	case broadcastArrives:
		return v.deliver(e)
	case broadcastArrivesAtAll:
		return v.deliverToAll(e)
	case updateResent, broadcastResent:
		v.resend(e)
	case clientLeaves:
		v.leave(v.clients[e.client])
	case clientReturns:
		v.rejoin(v.clients[e.client])
	}
	return nil
}

// deliver gives a broadcast to its client.
func (v *Virtual) deliver(e *event) error {
	c := v.clients[e.client]
	if v.stations[c.id].away {
		v.note(MessageLost, c.id, int(e.number), true)
		v.vectors.put(e.vector)
		return nil
	}
	v.note(BroadcastArrives, c.id, int(e.number), true)
	if err := c.Receive(int(e.number), e.vector); err != nil {
		return err
	}
	v.begin(c)
	if invariants {
		v.assertAwake(c)
	}
	return nil
}

// deliverToAll delivers a broadcast to its client and then to the clients after it, until another
// event comes first. In that case it puts the rest back into the queue.
func (v *Virtual) deliverToAll(e *event) error {
	for {
		if err := v.deliver(e); err != nil {
			return err
		}
		if e.client++; int(e.client) == len(v.clients) {
			return nil
		}
		if next := v.agenda.next(); next != nil && !e.before(next) {
			v.agenda.queue.push(e)
			return nil
		}
	}
}

// broadcast sends v̂_k to every client. All clients share one copy.
func (v *Virtual) broadcast() {
	k := v.server.K()
	shared := v.vectors.get(len(v.clients))
	copy(shared.X, v.server.Model())
	if v.observe != nil {
		v.observe(Broadcast{K: k, GradComps: v.frame.gradients(k), At: v.now, V: shared.X})
	}
	v.note(BroadcastSent, AllClients, k, true)
	if v.cfg.Timing.Downlink.Kind == clock.Constant && !v.unreliable {
		// One event replaces the n events at the same time.
		v.enter(v.cfg.Timing.Downlink.Mean, &event{kind: broadcastArrivesAtAll, number: int32(k), vector: shared})
		return
	}
	for _, c := range v.clients {
		v.send(&event{client: uint32(c.id), kind: broadcastArrives, number: int32(k), vector: shared})
	}
}
