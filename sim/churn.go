package sim

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"proactivedp/rng"
)

// Churn is clients that leave and come back. Each is there at the start and then
// in turn present and away, for exponential times of these means. The zero value:
// all stay.
//
// A client that leaves gives up the round under way: nothing of it was released,
// and it begins it again when it is back, with the same sample and noise. What it
// has sent is on its way all the same. Broadcasts that would arrive while it is
// away are lost; when it is back the server sends it the newest, if it has none as
// new. A client that has done its T rounds leaves no more.
type Churn struct{ Present, Away time.Duration }

// maxTries bounds how often a client may be expected to begin a round, or to be
// sent a broadcast, until it stays for long enough.
const maxTries = 100

// ParseChurn reads the means "PRESENT,AWAY", such as "1s,100ms", or "" for none.
func ParseChurn(text string) (Churn, error) {
	if text == "" {
		return Churn{}, nil
	}
	present, away, _ := strings.Cut(text, ",")
	p, err := time.ParseDuration(present)
	a, err2 := time.ParseDuration(away)
	c := Churn{p, a}
	if errors.Join(err, err2, c.Validate()) != nil || c == (Churn{}) {
		return Churn{}, fmt.Errorf("sim: churn = %q, must be the mean times of presence and absence PRESENT,AWAY such as 1s,100ms, above 0 and at most %v", text, maxMean)
	}
	return c, nil
}

func (c Churn) String() string {
	if c == (Churn{}) {
		return ""
	}
	return c.Present.String() + "," + c.Away.String()
}

// Validate reports every field outside its range.
func (c Churn) Validate() error {
	if c == (Churn{}) {
		return nil
	}
	var errs []error
	for _, part := range []struct {
		name string
		mean time.Duration
	}{{"presence", c.Present}, {"absence", c.Away}} {
		if part.mean <= 0 || part.mean > maxMean {
			errs = append(errs, fmt.Errorf("sim: mean %s = %v, must be above 0, at most %v", part.name, part.mean, maxMean))
		}
	}
	return errors.Join(errs...)
}

// tries bounds the mean number of times that something of this mean length, in
// nanoseconds, is begun until the client stays for it: by Jensen's inequality it
// succeeds with probability E[exp(−X/present)] ≥ exp(−E[X]/present).
func (c Churn) tries(length float64) float64 {
	if c == (Churn{}) {
		return 1
	}
	return math.Exp(length / float64(c.Present))
}

// stretch is by how much longer everything takes on average, as clients are away.
func (c Churn) stretch() float64 {
	if c == (Churn{}) {
		return 1
	}
	return 1 + float64(c.Away)/float64(c.Present)
}

// turn schedules the client's next departure or return.
func (v *Virtual) turn(c *Client, kind eventKind, mean time.Duration) {
	if v.cfg.Churn == (Churn{}) {
		return
	}
	st := &v.stations[c.id]
	stays := Duration{Kind: ExponentialDuration, Mean: mean}
	after := stays.sample(1, v.cfg.Roots.Run, &v.draws, rng.Presence, c.id, int(st.turns))
	st.turns++
	v.schedule(after, event{client: uint32(c.id), kind: kind})
}

// leave takes a client away.
func (v *Virtual) leave(c *Client) {
	st := &v.stations[c.id]
	st.away, st.left = true, v.now
	v.note(ClientLeaves, c.id, c.state.i, false)
	if c.state.busy {
		v.abort(c)
	}
	v.turn(c, clientReturns, v.cfg.Churn.Away)
}

// abort gives up the client's round under way.
func (v *Virtual) abort(c *Client) {
	v.queue.remove(func(e *event) bool { return e.kind == roundEnds && int(e.client) == c.id })
	if v.crew != nil {
		// What the worker made, or why it failed, is not wanted: without workers
		// nothing would have been computed.
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

// rejoin takes a client back and sends it the newest global model.
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
		v.send(event{client: uint32(c.id), kind: broadcastArrives, number: int32(k), vector: newest})
	}
	v.begin(c)
	if invariants {
		v.assertAwake(c)
	}
}

// stay cancels the departure of a client that has done its rounds.
func (v *Virtual) stay(c *Client) {
	v.queue.remove(func(e *event) bool { return e.kind == clientLeaves && int(e.client) == c.id })
}
