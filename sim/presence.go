package sim

import (
	"time"

	"proactivedp/rng"
	"proactivedp/sim/clock"
)

// turn schedules the client's next departure or return, as kind says, after a random time with the
// given mean.
func (v *Virtual) turn(c *Client, kind eventKind, mean time.Duration) {
	if v.cfg.Churn == (clock.Churn{}) {
		return
	}
	st := &v.stations[c.id]
	stays := clock.Duration{Kind: clock.Exponential, Mean: mean}
	after := stays.At(v.cfg.Roots.Run, rng.Presence, c.id, int(st.turns), 1, &v.draws)
	st.turns++
	v.enter(after, &event{client: uint32(c.id), kind: kind})
}

func (v *Virtual) leave(c *Client) {
	st := &v.stations[c.id]
	st.away, st.left = true, v.now
	v.note(ClientLeaves, c.id, c.state.i, false)
	if c.state.busy {
		v.abort(c)
	}
	v.turn(c, clientReturns, v.cfg.Churn.Away)
}

// rejoin processes the return of a client: the server sends it the newest global model.
func (v *Virtual) rejoin(c *Client) {
	st := &v.stations[c.id]
	st.away = false
	st.absent += v.now - st.left
	v.note(ClientReturns, c.id, c.state.i, false)
	v.turn(c, clientLeaves, v.cfg.Churn.Present)
	if k := v.server.K(); k > c.state.k {
		newest := v.vectors.get(1)
		copy(newest.X, v.server.Model())
		v.note(BroadcastSent, c.id, k, true)
		v.send(&event{client: uint32(c.id), kind: broadcastArrives, number: int32(k), vector: newest})
	}
	v.begin(c)
	if invariants {
		v.assertAwake(c)
	}
}

// stay cancels the departure of a client that has finished its rounds.
func (v *Virtual) stay(c *Client) {
	v.agenda.remove(func(e event) bool { return e.kind == clientLeaves && int(e.client) == c.id })
}
