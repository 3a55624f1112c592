package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// HappeningKind says what happened at a point of the simulated time, in a [Happening].
type HappeningKind uint8

// These are the values of [HappeningKind]: what can happen in a run on the virtual clock.
const (
	RoundBegins HappeningKind = iota
	RoundEnds
	RoundAborted      // a client leaves during a round, which it will begin again when it returns
	UpdateArrives     // the server receives a client's update; it drops a second copy
	BroadcastSent     // the server sends the global model to all clients or, when a client returns, to that client
	BroadcastArrives  // a client receives a global model, and drops it if it has a newer one
	MessageLost       // a message is lost on its way, or because its client is away
	MessageResent     // a message is sent again after it was lost
	MessageDuplicated // a message that is sent now will arrive twice
	ClientLeaves
	ClientReturns
)

var happeningNames = [...]string{
	RoundBegins: "round begins", RoundEnds: "round ends", RoundAborted: "round aborted",
	UpdateArrives: "update arrives", BroadcastSent: "broadcast sent", BroadcastArrives: "broadcast arrives",
	MessageLost: "message lost", MessageResent: "message resent", MessageDuplicated: "message duplicated",
	ClientLeaves: "client leaves", ClientReturns: "client returns",
}

func (k HappeningKind) String() string {
	if int(k) < len(happeningNames) {
		return happeningNames[k]
	}
	return fmt.Sprintf("HappeningKind(%d)", uint8(k))
}

// AllClients is the value of Happening.Client for an event that concerns all clients: a global model that is sent to
// all of them.
const AllClients = -1

// Happening is an event in the simulated time of a run, as [Virtual.Record] reports it: for example, client Client
// begins round Number at the time At.
type Happening struct {
	At   Time
	Kind HappeningKind
	// Client is the client that computes a round, sends an update, leaves or returns, or to which a global model is
	// sent. It is AllClients if the model is sent to all.
	Client int
	Number int  // the client's round i or, for a global model v̂_k, its number k
	Size   int  // for RoundBegins: the expected batch size s_i
	Lag    int  // for RoundBegins: i − k, where v̂_k is the client's newest global model
	Down   bool // for messages: true for a global model, false for an update
}

// Record makes the run call f with each event of the simulated time, in order, for example to draw a timeline. Record
// itself calls f first for every round that is under way, with the event that began the round. f must not call Step,
// Run or RunUntil. Record(nil) ends the recording.
func (v *Virtual) Record(f func(Happening)) {
	v.record = f
	if f == nil {
		return
	}
	var begun []Happening
	for _, c := range v.clients {
		if c.state.busy {
			begun = append(begun, v.begun(c))
		}
	}
	slices.SortStableFunc(begun, func(a, b Happening) int { return cmp.Compare(a.At, b.At) })
	for _, h := range begun {
		f(h)
	}
}

// begun returns the event that began the client's current round.
func (v *Virtual) begun(c *Client) Happening {
	return Happening{
		At: v.stations[c.id].began, Kind: RoundBegins, Client: c.id,
		Number: c.state.i, Size: c.state.size, Lag: c.state.lag,
	}
}

// note records an event at the current time.
func (v *Virtual) note(kind HappeningKind, client, number int, down bool) {
	if v.record != nil {
		v.record(Happening{At: v.now, Kind: kind, Client: client, Number: number, Down: down})
	}
}

// Staleness says how out of date the models were with which clients computed: Staleness[l] is the number of rounds
// with lag l. The lag of round i is i − k, where v̂_k (the global model with all rounds below k) was the newest one
// that the client had when it began the round. With lag 0 nothing was missing.
type Staleness []int

// Add counts further rounds with the given lag, the number of rounds by which the client's global model was behind.
// rounds is the number of rounds to count.
func (s *Staleness) Add(lag, rounds int) {
	for len(*s) <= lag {
		*s = append(*s, 0)
	}
	(*s)[lag] += rounds
}

// Max returns the largest lag of a round (by how many rounds the client's global model was behind), or 0 if there was
// no round.
func (s Staleness) Max() int { return max(0, len(s)-1) }

// Mean returns the mean lag over all rounds (by how many rounds the client's global model was behind), or 0 if there
// was no round.
func (s Staleness) Mean() float64 {
	sum, rounds := 0, 0
	for lag, n := range s {
		sum, rounds = sum+lag*n, rounds+n
	}
	return float64(sum) / float64(max(rounds, 1))
}
