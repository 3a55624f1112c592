package sim

import (
	"fmt"
	"math"
	"strings"
)

// Invariant names a promise that must hold in every state.
type Invariant string

// The invariants.
const (
	InvariantOnce        Invariant = "each update is applied exactly once"
	InvariantComplete    Invariant = "v̂_k holds every update of rounds below k"
	InvariantNewest      Invariant = "a client goes by the newest broadcast that it received"
	InvariantLocal       Invariant = "ŵ is the newest v̂, or what it was, minus the steps of rounds that ended since"
	InvariantPromised    Invariant = "a client computes at what its newest broadcast promises"
	InvariantPermitted   Invariant = "no client computes while Υ is false"
	InvariantMeasured    Invariant = "the staleness that is measured is the one that was"
	InvariantAbsent      Invariant = "no client computes while it is away"
	InvariantWakeUp      Invariant = "no client waits while Υ is true"
	InvariantLedgers     Invariant = "a ledger counts each round once"
	InvariantReaders     Invariant = "a vector has as many readers as it counts"
	InvariantNoFailure   Invariant = "nothing fails"
	InvariantNoDeadlock  Invariant = "something happens until all is done"
	InvariantTermination Invariant = "every run ends"
)

// Violation is a promise that was broken.
type Violation struct {
	Invariant Invariant
	Detail    string
	Trace     []string // what happened, in order, on the shortest way there if that was found
}

func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", v.Invariant, v.Detail)
	for i, line := range v.Trace {
		fmt.Fprintf(&b, "\n%4d  %s", i+1, line)
	}
	return b.String()
}

func violated(i Invariant, format string, args ...any) error {
	return &Violation{Invariant: i, Detail: fmt.Sprintf(format, args...)}
}

// The promises that the explorer tests in every state of small runs are asserted
// here in all other runs, if the program is built with the tag "invariants". Each
// assertion costs no more than what it watches.

// assert panics unless a promise holds.
func assert(holds bool, i Invariant, format string, args ...any) {
	if !holds {
		panic(violated(i, format, args...))
	}
}

// assertReceived checks what an update must have done to a server that had it or
// not, and stood at so many updates and at k.
func (s *Server) assertReceived(u Update, had bool, updates, k int) {
	st := &s.state
	if !had {
		updates++
	}
	assert(st.applied == updates, InvariantOnce, "update of client %d, round %d: %d applied, not %d", u.Client, u.Round,
		st.applied, updates)
	assert(st.clients[u.Client].has(int32(u.Round)), InvariantOnce, "update of client %d, round %d was forgotten",
		u.Client, u.Round)
	if st.k == k {
		return
	}
	in, least := 0, int32(s.sched.rounds)
	for i := range st.clients {
		p := &st.clients[i]
		in += int(p.next) + len(p.ahead)
		if !s.expelled(i) {
			least = min(least, p.next)
		}
	}
	assert(st.applied == in, InvariantOnce, "%d updates applied, %d are in", st.applied, in)
	assert(st.k == int(least), InvariantComplete, "k = %d, all clients have sent what is below %d", st.k, least)
}

// assertBegun checks what holds when a round has begun.
func (c *Client) assertBegun() {
	s := &c.state
	assert(c.delay.Permits(s.k, s.i), InvariantPermitted, "client %d begins round %d with v̂_%d", c.id, s.i, s.k)
	assert(s.lag == s.i-s.k, InvariantMeasured, "client %d measured %d rounds, there were %d", c.id, s.lag, s.i-s.k)
}

// assertFinished checks what holds when a round has ended.
func (c *Client) assertFinished() {
	s := &c.state
	assert(s.ledger.Run().Rounds == s.i, InvariantLedgers, "client %d did %d rounds, its ledger counts %d", c.id, s.i,
		s.ledger.Run().Rounds)
	assert(s.shared == nil && s.newer == nil, InvariantLocal, "client %d did not go on to a model of its own", c.id)
}

// assertReceived checks what holds when a broadcast has come to a client that knew
// of another.
func (c *Client) assertReceived(k, before int) {
	assert(c.state.k == max(k, before), InvariantNewest, "client %d goes by v̂_%d after v̂_%d and v̂_%d", c.id,
		c.state.k, before, k)
}

// assertAwake checks what holds of a client after anything has happened to it.
func (v *Virtual) assertAwake(c *Client) {
	assert(!c.CanBegin(), InvariantWakeUp, "client %d waits at round %d with v̂_%d", c.id, c.state.i, c.state.k)
}

// assertLetGo checks what holds of a vector that a reader has let go of. Nobody
// can mistake the content of a free one for a model.
func (v *Vector) assertLetGo(left int32) {
	assert(left >= 0, InvariantReaders, "a vector was let go of %d times too often", -left)
	if left == 0 {
		poison(v.X)
	}
}

// poison overwrites a vector that is not to be read before it is written.
func poison(x []float32) {
	for i := range x {
		x[i] = float32(math.NaN())
	}
}

// assertEnded checks what holds at the end of training.
func assertEnded(server *Server, clients []*Client, staleness Staleness) {
	rounds, largest := server.sched.rounds, 0
	assert(server.state.applied == rounds*len(clients), InvariantOnce, "%d updates applied of %d clients and %d rounds",
		server.state.applied, len(clients), rounds)
	for _, c := range clients {
		assert(c.Done() && !c.state.busy, InvariantNoDeadlock, "client %d is at round %d of %d", c.id, c.state.i,
			rounds)
		assert(c.state.ledger.Run().Rounds == rounds, InvariantLedgers,
			"the ledger of client %d counts %d rounds of %d", c.id, c.state.ledger.Run().Rounds, rounds)
		tau, bounded := largestLag(c.delay)
		if !bounded {
			tau = rounds
		}
		largest = max(largest, tau)
	}
	assert(staleness.Max() <= largest, InvariantMeasured, "a round was %d behind, Υ allows %d", staleness.Max(),
		largest)
	measured := 0
	for _, n := range staleness {
		measured += n
	}
	assert(measured == rounds*len(clients), InvariantMeasured, "the staleness of %d rounds was measured, there were %d",
		measured, rounds*len(clients))
}
