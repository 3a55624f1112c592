package sim

import (
	"proactivedp/rng"
	"proactivedp/sim/clock"
)

// begin starts the client's next round, if it may begin.
func (v *Virtual) begin(c *Client) {
	st := &v.stations[c.id]
	if st.away || !c.CanBegin() {
		return
	}
	c.Begin()
	st.began = v.now
	if v.record != nil {
		v.record(v.begun(c))
	}
	scale := float64(c.Size())
	if v.slower != nil {
		scale *= v.slower[c.id]
	}
	// A round that begins again after it was given up draws a new duration.
	compute, at := &v.cfg.Timing.Compute, c.state.i+int(st.aborts)
	if compute.Kind != clock.Constant {
		v.durations.Of(c.id).Reseed(&v.draws, v.cfg.Roots.Run, rng.ComputeTime, uint32(c.id), at)
	}
	took := compute.Draw(scale, &v.draws, c.id, at)
	v.enter(took, &event{client: uint32(c.id), kind: roundEnds})
	if v.crew != nil && v.failed == nil {
		v.crew.start(c, v.vectors.get(1), v.now+Time(took))
	}
}

// computed returns the release of the client's round. It waits for the worker that computes it, or
// computes it now.
func (v *Virtual) computed(c *Client) (*Vector, error) {
	if v.crew != nil {
		if u, err := v.crew.join(c); u != nil || err != nil {
			return u, err
		}
	}
	if v.ws == nil {
		v.ws = NewWorkspace(v.cfg.Model)
	}
	u := v.vectors.get(1)
	return u, c.Compute(u.X, v.ws)
}

// abort gives up the client's round under way.
func (v *Virtual) abort(c *Client) {
	v.agenda.remove(func(e event) bool { return e.kind == roundEnds && int(e.client) == c.id })
	if v.crew != nil {
		// Ignore the result of the worker, or its error. Without workers the round would not have
		// been computed at all, and the run must not depend on workers.
		if u, _ := v.crew.join(c); u != nil {
			v.vectors.put(u)
		}
	}
	st := &v.stations[c.id]
	st.end(v.now)
	st.aborts++
	v.note(RoundAborted, c.id, c.state.i, false)
	c.Abort()
}
