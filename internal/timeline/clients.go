package timeline

import "proactivedp/sim"

// Clients says what each client of a run is doing, by the client's number.
type Clients []Client

// Client says what one client is doing: it is in a round, waiting or away.
type Client struct {
	Busy  bool          // whether it is in a round
	Round sim.Happening // how its latest round began
	Away  bool
	Left  sim.Time // when it last left
	Free  sim.Time // if not busy: when its latest round, wait or absence ended
}

// Enter updates the clients by an event. Events must come in the order of their times. If the event ends a client's
// wait or absence, Enter returns "waits" or "away", and the time at which that began. Otherwise ended is "".
func (all Clients) Enter(h sim.Happening) (ended string, since sim.Time) {
	switch h.Kind {
	case sim.RoundBegins, sim.RoundEnds, sim.RoundAborted, sim.ClientLeaves, sim.ClientReturns:
	default:
		return "", 0
	}
	c := &all[h.Client]
	since = c.Free
	switch h.Kind {
	case sim.RoundBegins:
		ended, c.Busy, c.Round = "waits", true, h
	case sim.RoundEnds, sim.RoundAborted:
		c.Busy = false
	case sim.ClientLeaves:
		c.Away, c.Left = true, h.At
		if c.Busy {
			return "", 0
		}
		ended = "waits"
	case sim.ClientReturns:
		ended, c.Away = "away", false
	}
	c.Free = h.At
	return ended, since
}
