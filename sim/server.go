package sim

import (
	"fmt"
	"slices"

	"proactivedp/internal/f32"
)

// Server holds the global model v and records which updates it has applied (the paper's server in ISRReceive). A
// Server is not safe for concurrent use.
//
// Use NewServer to make one. The methods of a zero Server return an error or, if they have no error result, may
// panic.
type Server struct {
	frame frame
	gone  []bool // whether each client was expelled; nil if none was
	state serverState
}

// serverState is everything about a server that changes. An update "is in" if the server has applied it to v.
type serverState struct {
	v       []float32
	u       []float32  // the velocity, if there is momentum; else nil
	k       int        // all updates of rounds < k of all clients are in
	applied int        // how many updates have been applied
	clients []progress // which rounds of each client are in
	// at has how many clients have r as their first round that is not in (by schedule.ends), at r modulo its length,
	// which is a power of two. The length is above r − k for all these r.
	at []int32
}

// progress records which rounds of a client are in: all below next, and those in ahead, which is in
// increasing order.
type progress struct {
	next  int32
	ahead []int32
}

func newServer(f frame, initial []float32) *Server {
	s := &Server{frame: f, state: serverState{
		v:       slices.Clone(initial),
		clients: make([]progress, f.clients),
	}}
	s.state.count(&f)
	if f.momentum != 0 {
		s.state.u = make([]float32, f.params)
	}
	return s
}

// Receive applies an update U of round i to the global model, v ← v − η̄_i·U with the step size η̄_i of the client's
// round, unless this update was applied before. If it returns true, the caller must send v to all clients as the broadcast
// v̂_k with k = K(). It returns an error, and changes nothing, for a message that no client of this server can have sent.
//
// With momentum M, a velocity V, at first 0, replaces U (the heavy ball method of Polyak 1964): V ← M·V + U and
// v ← v − η̄_i·V, for each update in the order of arrival, whatever its client and round. A client's
// own steps have no momentum.
func (s *Server) Receive(u Update) (broadcast bool, err error) {
	if err := s.made(); err != nil {
		return false, err
	}
	st := &s.state
	if u.Client < 0 || u.Client >= len(st.clients) {
		return false, fmt.Errorf("update from client %d, must be from a client in [0, %d)", u.Client, len(st.clients))
	}
	sched := s.frame.schedOf(u.Client)
	switch {
	case u.Round < 0 || u.Round >= sched.rounds:
		return false, fmt.Errorf("update of client %d for round %d, must be in [0, %d)", u.Client, u.Round,
			sched.rounds)
	case len(u.U) != len(st.v):
		return false, fmt.Errorf("update of client %d has %d parameters, the model has %d", u.Client, len(u.U),
			len(st.v))
	case s.expelled(u.Client):
		return false, fmt.Errorf("update of client %d, but that client was expelled", u.Client)
	}
	p := &st.clients[u.Client]
	before := p.next
	if invariants {
		defer s.assertReceived(u, p.has(int32(u.Round)), st.applied, st.k)
	}
	if !p.add(int32(u.Round)) {
		return false, nil
	}
	step := u.U
	if m := s.frame.momentum; m != 0 {
		step = st.u
		for i, x := range u.U {
			step[i] = float32(m*step[i]) + x
		}
	}
	f32.Axpy(-sched.eta(u.Round), step, st.v)
	st.applied++
	if p.next == before {
		return false, nil
	}
	*st.waiting(sched.ends(int(before)))--
	*st.waiting(sched.ends(int(p.next)))++
	return st.advance(s.frame.rounds), nil
}

// waiting returns the number of clients that have r ≥ k as their first round that is not in. The caller may change it.
func (s *serverState) waiting(r int) *int32 {
	for r-s.k >= len(s.at) {
		longer := make([]int32, 2*len(s.at))
		for i := s.k; i < s.k+len(s.at); i++ {
			longer[i&(len(longer)-1)] = s.at[i&(len(s.at)-1)]
		}
		s.at = longer
	}
	return &s.at[r&(len(s.at)-1)]
}

// advance sets k to the largest k such that all updates of rounds below k are in. It reports
// whether k grew.
func (s *serverState) advance(rounds int) bool {
	old := s.k
	for s.k < rounds && *s.waiting(s.k) == 0 {
		s.k++
	}
	return s.k > old
}

// Expel removes a client (a number from 0), so that the run continues without it. The updates that the server has
// applied stay in the global model v. Later updates of the client are refused, and the server no longer waits for
// them. If Expel returns true, the caller must send the global model to all clients, as after Receive. Save does not
// write which clients were expelled: call Expel for them again after Restore.
func (s *Server) Expel(client int) (broadcast bool) {
	if s.expelled(client) {
		return false
	}
	if s.gone == nil {
		s.gone = make([]bool, len(s.state.clients))
	}
	s.gone[client] = true
	*s.state.waiting(s.frame.schedOf(client).ends(s.Next(client)))--
	return s.state.advance(s.frame.rounds)
}

func (s *Server) expelled(client int) bool { return s.gone != nil && s.gone[client] }

// add records a round and reports whether it is new.
func (p *progress) add(round int32) bool {
	if round < p.next {
		return false
	}
	if round > p.next {
		j, found := slices.BinarySearch(p.ahead, round)
		if !found {
			p.ahead = slices.Insert(p.ahead, j, round)
		}
		return !found
	}
	p.next++
	if len(p.ahead) == 0 {
		return true
	}
	n := 0
	for n < len(p.ahead) && p.ahead[n] == p.next {
		p.next++
		n++
	}
	p.ahead = slices.Delete(p.ahead, 0, n)
	return true
}

// has reports whether a round is in.
func (p *progress) has(round int32) bool {
	_, ahead := slices.BinarySearch(p.ahead, round)
	return ahead || round < p.next
}

// highest returns the highest round that is in, or −1 if none is.
func (p *progress) highest() int {
	if n := len(p.ahead); n > 0 {
		return int(p.ahead[n-1])
	}
	return int(p.next) - 1
}

// Has reports whether the server has applied the client's update of a round. It returns false for a
// client or a round that does not exist.
func (s *Server) Has(client, round int) bool {
	return client >= 0 && client < len(s.state.clients) && round >= 0 && round < s.frame.schedOf(client).rounds &&
		s.state.clients[client].has(int32(round))
}

// Next returns the first round of the client (a number from 0) whose update the server has not applied. It returns the
// client's number of rounds if all its updates are applied. If no client was expelled, and clients do not have their own
// sizes, Server.K is the smallest Next of all clients.
func (s *Server) Next(client int) int { return int(s.state.clients[client].next) }

// Highest returns the highest round of the client (a number from 0) whose update the server has applied, or −1 before
// its first update. Updates of rounds between Next and Highest may be missing: see Has.
func (s *Server) Highest(client int) int { return s.state.clients[client].highest() }

// Updates returns the number of updates that the server has applied to the global model, of all clients together.
func (s *Server) Updates() int { return s.state.applied }

// K returns the number k of the newest global model that was sent to the clients: the model contains every update of
// rounds below k. When training is complete, K returns the number of rounds T (the largest of any client).
func (s *Server) K() int { return s.state.k }

// Done reports whether training is complete: the server has applied the updates of all rounds of every client that was
// not expelled.
func (s *Server) Done() bool { return s.state.k == s.frame.rounds }

// Model returns the parameters of the global model v. The slice is the server's own memory: read it before the next
// call of Receive, and do not write to it.
func (s *Server) Model() []float32 { return s.state.v }
