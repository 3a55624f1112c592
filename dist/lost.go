package dist

import (
	"errors"
	"fmt"
	"time"
)

// ErrLost reports that a run cannot go on: the server lacks rounds of a client that the client's
// journal cannot send any more.
//
// A client forgets a round when the server says that it is saved. If the server's folder is then
// replaced by an older copy, and the broker's messages are gone as well, nobody has the round. A
// client says in each hello which is the oldest round that it can still send. Where the server lacks
// an older one, the client asks again with First, which the server answers when it has folded all that
// the stream has. If the round is not there either, it is lost, and both know.
var ErrLost = errors.New("dist: rounds are lost")

// roundsText names the rounds from first to the one before end.
func roundsText(first, end int) string {
	if end == first+1 {
		return fmt.Sprintf("round %d", first)
	}
	return fmt.Sprintf("rounds %d to %d", first, end-1)
}

// lost reports rounds that the server lacks, by its answer, and the journal has forgotten.
func (c *client) lost(next, oldest int) error {
	c.log.Error("rounds are lost", "client", c.Client, "first", next, "next", oldest)
	return fmt.Errorf("%w: the server said that it had saved %s of client %d, and does not have them any more, nor "+
		"does the journal in %s. The server's folder must be an older copy: restore a newer one, or let an operator "+
		"expel the client", ErrLost, roundsText(next, oldest), c.Client, c.Dir)
}

// noteLost notes whether rounds of a client are lost, as it says hello.
func (s *server) noteLost(client int, h hello) {
	state, next := &s.clients[client], s.machine.Next(client)
	switch {
	case h.Oldest <= next:
		state.lost = time.Time{}
	case h.First && state.lost.IsZero(): // else the stream may have them
		state.lost = time.Now()
		s.log.Error("rounds are lost", "client", client, "first", next, "next", h.Oldest)
	}
}

// lostRounds returns how many rounds of a client from its Next on are lost.
func (s *server) lostRounds(client int) int {
	r, state := &s.record.Clients[client], &s.clients[client]
	if state.lost.IsZero() || r.Expelled || r.Ledger != nil {
		return 0
	}
	return max(0, state.oldest-s.machine.Next(client))
}

// checkLost returns an error when rounds of a client have been lost for a while. Until then the
// status shows them, and an operator may expel the client, or start it again with a journal that has
// them.
func (s *server) checkLost() error {
	for c := range s.clients {
		if n := s.lostRounds(c); n > 0 && time.Since(s.clients[c].lost) > linger {
			next := s.machine.Next(c)
			return fmt.Errorf("%w: neither the folder %s, the broker nor the client's journal has %s of client %d, "+
				"which were saved here once. The folder must be an older copy: restore a newer one, or begin a new "+
				"run in another folder. After a restart an operator may also expel the client", ErrLost, s.Dir,
				roundsText(next, next+n), c)
		}
	}
	return nil
}
