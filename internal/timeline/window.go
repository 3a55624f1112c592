// Package timeline records what the clients of a run do over time, in its first rounds.
package timeline

import "proactivedp/sim"

// Kept limits the memory of a Window. A window of n rounds records at most Kept·n rounds of each client: a
// client may run far ahead while others have not yet finished their first n rounds.
const Kept = 4

// Window is the beginning of a run: its rounds, absences and broadcasts until the server had the updates of the first
// rounds of each client.
type Window struct {
	Rounds     []Round     `json:"rounds"` // rounds in the order of their ends
	Away       []Away      `json:"away,omitempty"`
	Broadcasts []Broadcast `json:"broadcasts"`
}

// Round is a round of a client in a Window. Times are on the run's clock.
type Round struct {
	Client  int      `json:"client"`
	Round   int      `json:"round"`
	Lag     int      `json:"lag"` // the lag i − k of the round
	Aborted bool     `json:"aborted,omitempty"`
	Open    bool     `json:"open,omitempty"` // whether it is still under way when the window ends
	From    sim.Time `json:"from"`
	To      sim.Time `json:"to"`
	Arrives sim.Time `json:"arrives"` // when its update first arrived at the server; 0 if it did not
}

// Away is a time during which a client was absent.
type Away struct {
	Client int      `json:"client"`
	From   sim.Time `json:"from"`
	To     sim.Time `json:"to"`
}

// Broadcast is a broadcast of the model v̂_K on its way to one client.
type Broadcast struct {
	Client  int      `json:"client"`
	K       int      `json:"k"`
	Sent    sim.Time `json:"sent"`
	Arrives sim.Time `json:"arrives"`
}

// Recorder builds a Window. Pass its method Record to sim.Virtual.Record or realclock.Options, and call End after the
// run.
type Recorder struct {
	Window
	shown   int // how many rounds of each client are shown
	clients Clients
	index   map[[2]int]int      // index of a round in Rounds, by client and round
	sent    map[[2]int]sim.Time // when broadcasts were sent, by client or AllClients and k
	missing int                 // how many updates are still to come
	now     sim.Time
}

// NewRecorder returns a recorder for a window with this number of rounds of each of the clients.
func NewRecorder(rounds, clients int) *Recorder {
	return &Recorder{
		shown: rounds, clients: make(Clients, clients), index: map[[2]int]int{}, sent: map[[2]int]sim.Time{},
		missing: rounds * clients,
	}
}

// Record adds an event of the run to the window. Events must come in the order of their times.
func (r *Recorder) Record(h sim.Happening) {
	r.now = h.At
	r.clients.Enter(h)
	switch h.Kind {
	case sim.RoundEnds, sim.RoundAborted:
		if h.Number >= Kept*r.shown {
			return
		}
		aborted := h.Kind == sim.RoundAborted
		if !aborted {
			r.index[[2]int{h.Client, h.Number}] = len(r.Rounds)
		}
		began := r.clients[h.Client].Round
		r.Rounds = append(r.Rounds, Round{h.Client, h.Number, began.Lag, aborted, false, began.At, h.At, 0})
	case sim.UpdateArrives:
		i, ours := r.index[[2]int{h.Client, h.Number}]
		if ours && r.Rounds[i].Arrives == 0 {
			r.Rounds[i].Arrives = h.At
			if h.Number < r.shown {
				r.missing--
			}
		}
	case sim.BroadcastSent:
		r.sent[[2]int{h.Client, h.Number}] = h.At
	case sim.BroadcastArrives:
		at, alone := r.sent[[2]int{h.Client, h.Number}]
		if !alone {
			at = r.sent[[2]int{sim.AllClients, h.Number}]
		}
		r.Broadcasts = append(r.Broadcasts, Broadcast{h.Client, h.Number, at, h.At})
	case sim.ClientReturns:
		r.Away = append(r.Away, Away{h.Client, r.clients[h.Client].Left, h.At})
	}
}

// End returns the window, including rounds, absences and broadcasts that are under way at its end.
func (r *Recorder) End() *Window {
	for client, c := range r.clients {
		if c.Away {
			r.Away = append(r.Away, Away{client, c.Left, r.now})
		}
	}
	for client, c := range r.clients {
		if h := c.Round; c.Busy && h.Number < Kept*r.shown {
			r.Rounds = append(r.Rounds, Round{client, h.Number, h.Lag, false, true, h.At, r.now, 0})
		}
	}
	return &r.Window
}

// Done reports whether the window is complete: the server has the updates of the first rounds.
func (r *Recorder) Done() bool { return r.missing == 0 }
