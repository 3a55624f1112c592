package cluster

import (
	"errors"
	"fmt"
	"time"
)

// ErrLost reports that a run cannot continue: the server lacks rounds of a client, and the client's
// journal no longer has them.
//
// It happens like this: 1. the server saves a round, and the client's journal forgets it, 2. the
// server's folder is replaced by an older copy, and the broker's messages are gone too, 3. nobody
// has the round. Each hello of a client names the oldest round that the client can still send. If
// the server lacks an older one, the client asks again with First. The server answers that when it
// has folded the whole stream. If the round was not there either, it is lost, and both sides know.
var ErrLost = errors.New("rounds are lost")

// roundsText names the rounds from first to end − 1.
func roundsText(first, end int) string {
	if end == first+1 {
		return fmt.Sprintf("round %d", first)
	}
	return fmt.Sprintf("rounds %d to %d", first, end-1)
}

// lost reports rounds that the server lacks, according to its answer, and that the journal has
// forgotten.
func (c *client) lost(next, oldest int) error {
	c.log.Error("rounds are lost", "client", c.Client, "first", next, "next", oldest)
	return fmt.Errorf("%w: neither the server nor the journal in %[4]s has %[2]s of client %[3]d, which the server "+
		"had saved. So its folder is an older copy. Restore a newer copy of the server's folder, or expel the client: "+
		"proactivedp expel %[3]d", ErrLost, roundsText(next, oldest), c.Client, c.Dir)
}

// noteLost notes whether rounds of a client are lost, when a hello comes.
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

// checkLost returns an error if clients whose rounds are lost hold up the run, and nobody else has
// gone on for longer than linger. Until then the status shows the rounds, and an operator may expel
// the client, or start it again with a journal that has them. That rounds are lost is the client's
// word, which the server cannot verify: an older copy of its folder does not say what was saved
// later. So a client that says it has no more power than one that sends nothing.
func (s *server) checkLost() error {
	last, at := s.first.Add(s.trained), -1 // when an update was applied last, and who holds up the run
	for c, r := range s.record.Clients {
		if r.Expelled || s.machine.Next(c) > s.machine.K() {
			continue
		}
		if s.lostRounds(c) == 0 || time.Since(s.clients[c].lost) <= linger || time.Since(last) <= linger {
			return nil
		}
		if at < 0 {
			at = c
		}
	}
	if at < 0 {
		return nil
	}
	next := s.machine.Next(at)
	return fmt.Errorf("%w, and the run cannot go on without them: neither the folder %s nor the broker nor the client's "+
		"journal has %s of client %[4]d. The client says that they were saved in this folder, so it seems to be an older "+
		"copy. Restore a newer copy, or begin a new run in another folder, or start this server again and expel the "+
		"client: proactivedp expel %[4]d", ErrLost, s.Dir, roundsText(next, next+s.lostRounds(at)), at)
}
