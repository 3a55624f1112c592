package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// HappeningKind says what happened on the virtual clock.
type HappeningKind uint8

// These are the values of [HappeningKind].
const (
	RoundBegins HappeningKind = iota
	RoundEnds
	RoundAborted      // the client left; the round will be begun again
	UpdateArrives     // the server receives an update, and applies it unless it already has it
	BroadcastSent     // the server sends to all clients or, when a client returns, to that client
	BroadcastArrives  // a client receives a broadcast, and drops it if it has a newer one
	MessageLost       // a message is lost on its way, or arrives at a client that is away
	MessageResent     // a message is sent again after it was lost
	MessageDuplicated // a message will arrive twice
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

// AllClients is the value of Happening.Client for an event that concerns all clients.
const AllClients = -1

// Happening is an event on the virtual clock, as Virtual.Record reports it.
type Happening struct {
	At     Time
	Kind   HappeningKind
	Client int  // the client whose round or update it is, or that a broadcast is for; or AllClients
	Number int  // the round i, or the k of a broadcast
	Size   int  // for RoundBegins the expected sample size s_i
	Lag    int  // for RoundBegins the lag i − k, where v̂_k is the client's newest broadcast
	Down   bool // for messages: true for a broadcast, false for an update
}

// Record makes the run call f with each event on the virtual clock, in order. Record itself calls f first for every
// round that is under way, with the event that began the round. f must not call Step, Run or RunUntil. Record(nil)
// ends the recording.
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

// Staleness counts the rounds of a run by their lag: Staleness[l] is the number of rounds with lag l. The lag of
// round i is i − k, where v̂_k was the newest global model that the client had when it began the round.
type Staleness []int

// Add counts the given number of further rounds, each with the given lag.
func (s *Staleness) Add(lag, rounds int) {
	for len(*s) <= lag {
		*s = append(*s, 0)
	}
	(*s)[lag] += rounds
}

// Max returns the largest lag, or 0 if there was no round.
func (s Staleness) Max() int { return max(0, len(s)-1) }

// Mean returns the mean lag, or 0 if there was no round.
func (s Staleness) Mean() float64 {
	sum, rounds := 0, 0
	for lag, n := range s {
		sum, rounds = sum+lag*n, rounds+n
	}
	return float64(sum) / float64(max(rounds, 1))
}
