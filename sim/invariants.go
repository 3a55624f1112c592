package sim

import (
	"fmt"
	"math"
	"strings"
)

// Invariant is a rule, in words, that must hold in every state of a run, for example that each update is applied
// exactly once. Tests check these rules.
type Invariant string

// These are the values of [Invariant]. In them, v̂_k is the global model that the server sends when it has all
// updates of rounds below k, ŵ is a client's own model, Υ is the permissible delay (see [Delay]: "Υ is true" means
// that a client may compute), and the lag of a round i that was computed with v̂_k is i − k. A broadcast v̂_k
// promises the updates of all rounds below k. The measured lag is that of [Client.Lag] and [Staleness]. A ledger is a
// client's list of its rounds, from which ε is computed (dp.Ledger). A client is away while it has left the training
// for some time (see clock.Churn). The readers of a vector are the clients that hold it and the messages that carry it.
// "Nothing fails" means that no step of the run panics or returns an error.
//
// InvariantLocal means: if a broadcast has come, ŵ is the newest one, less the steps of the client's rounds that ended
// after it came. Otherwise ŵ is the initial model, less the steps of all rounds that have ended.
const (
	InvariantOnce        Invariant = "each update is applied exactly once"
	InvariantComplete    Invariant = "v̂_k holds every update of rounds below k"
	InvariantNewest      Invariant = "a client uses the newest broadcast that it received"
	InvariantLocal       Invariant = "ŵ is the newest v̂, or the ŵ before, minus the steps of the rounds that ended since"
	InvariantPromised    Invariant = "a client computes with every update that its newest broadcast promises"
	InvariantPermitted   Invariant = "no client computes while Υ is false"
	InvariantMeasured    Invariant = "the measured lag is the true lag"
	InvariantAbsent      Invariant = "no client computes while it is away"
	InvariantWakeUp      Invariant = "no client waits while Υ is true"
	InvariantLedgers     Invariant = "a ledger counts each round once"
	InvariantReaders     Invariant = "a vector counts its readers correctly"
	InvariantNoFailure   Invariant = "nothing fails"
	InvariantNoDeadlock  Invariant = "events happen until training is complete"
	InvariantTermination Invariant = "every run ends"
)

// Violation is the error for a state of a run that breaks an [Invariant], a rule of the protocol. It means a bug in
// this package. With the build tag "invariants", a run that reaches such a state panics with the Violation.
// Tests also search all states of small runs for violations.
type Violation struct {
	Invariant Invariant
	Detail    string   // what is wrong in this state
	Trace     []string // events that led to the state, in order; from the tests' search, the shortest such sequence
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

// The explorer tests the invariants in every state of small runs. With the build tag "invariants",
// the functions below assert them in all other runs too. An assertion costs no more than the
// operation that it checks.

func assert(holds bool, i Invariant, format string, args ...any) {
	if !holds {
		panic(violated(i, format, args...))
	}
}

// assertReceived checks the server after it received u. had says whether it already had that update;
// updates and k are its counts before.
func (s *Server) assertReceived(u Update, had bool, updates, k int) {
	st := &s.state
	if !had {
		updates++
	}
	assert(st.applied == updates, InvariantOnce, "update of client %d, round %d: %d applied, not %d", u.Client, u.Round,
		st.applied, updates)
	assert(st.clients[u.Client].has(int32(u.Round)), InvariantOnce, "update of client %d, round %d is not recorded",
		u.Client, u.Round)
	if st.k == k {
		return
	}
	in, least := 0, s.frame.rounds
	for i := range st.clients {
		p := &st.clients[i]
		in += int(p.next) + len(p.ahead)
		if !s.expelled(i) {
			least = min(least, s.frame.schedOf(i).ends(int(p.next)))
		}
	}
	assert(st.applied == in, InvariantOnce, "%d updates applied, %d recorded", st.applied, in)
	assert(st.k == least, InvariantComplete, "k = %d, but the server has all rounds below %d of all clients", st.k, least)
}

// assertBegun checks a client whose round has just begun.
func (c *Client) assertBegun() {
	s := &c.state
	assert(c.permits(), InvariantPermitted, "client %d begins round %d with v̂_%d", c.id, s.i, s.k)
	lag := max(0, c.sched.begins(s.i)-s.k)
	assert(s.lag == lag, InvariantMeasured, "client %d measured a lag of %d rounds, it was %d", c.id, s.lag, lag)
}

// assertFinished checks a client whose round has just ended.
func (c *Client) assertFinished() {
	s := &c.state
	assert(s.ledger.Run().Rounds == s.i, InvariantLedgers, "client %d did %d rounds, its ledger counts %d", c.id, s.i,
		s.ledger.Run().Rounds)
	assert(s.shared == nil && s.newer == nil, InvariantLocal, "client %d has no local model after a step", c.id)
}

// assertReceived checks a client that has just received broadcast k. before is the newest k that it
// had until then.
func (c *Client) assertReceived(k, before int) {
	assert(c.state.k == max(k, before), InvariantNewest, "client %d uses v̂_%d after v̂_%d and v̂_%d", c.id,
		c.state.k, before, k)
}

// assertAwake checks that a client does not wait although it may begin a round.
func (v *Virtual) assertAwake(c *Client) {
	assert(!c.CanBegin(), InvariantWakeUp, "client %d waits at round %d with v̂_%d", c.id, c.state.i, c.state.k)
}

// assertLetGo checks a vector after one reader has released it. It overwrites a vector that no reader has any more, so that
// nobody can take its content for a model.
func (v *Vector) assertLetGo(left int32) {
	assert(left >= 0, InvariantReaders, "a vector was released %d times too often", -left)
	if left == 0 {
		poison(v.X)
	}
}

// poison overwrites a vector that must be written before it is read again.
func poison(x []float32) {
	for i := range x {
		x[i] = float32(math.NaN())
	}
}

// assertEnded checks the server and all clients at the end of training.
func assertEnded(server *Server, clients []*Client, staleness Staleness) {
	all, largest := 0, 0
	for _, c := range clients {
		all += c.sched.rounds
	}
	assert(server.state.applied == all, InvariantOnce, "%d updates applied of %d clients with %d rounds together",
		server.state.applied, len(clients), all)
	for _, c := range clients {
		rounds := c.sched.rounds
		assert(c.Done() && !c.state.busy, InvariantNoDeadlock, "client %d is at round %d of %d", c.id, c.state.i,
			rounds)
		assert(c.state.ledger.Run().Rounds == rounds, InvariantLedgers,
			"the ledger of client %d counts %d rounds of %d", c.id, c.state.ledger.Run().Rounds, rounds)
		tau, bounded := largestLag(c.delay)
		if !bounded {
			tau = c.rounds
		}
		largest = max(largest, tau)
	}
	assert(staleness.Max() <= largest, InvariantMeasured, "a round had a lag of %d, Υ allows %d", staleness.Max(),
		largest)
	measured := 0
	for _, n := range staleness {
		measured += n
	}
	assert(measured == all, InvariantMeasured, "the lag of %d rounds was measured, there were %d", measured, all)
}
