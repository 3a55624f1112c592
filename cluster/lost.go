package cluster

import (
	"errors"
	"fmt"
	"time"
)

// ErrLost is wrapped by the error of [Serve] or [Join] if a run cannot continue: the server lacks rounds of a client,
// and the client's journal (its record of released rounds) no longer has them. Restore a newer copy of the server's
// folder, expel the client, or begin a new run.
//
// A round is lost in these steps:
//
//  1. The server saves a round, and the client's journal forgets it.
//  2. The server's folder is replaced by an older copy, and the broker's messages are gone too.
//  3. Nobody has the round.
//
// Both sides find out in these steps:
//
//  1. At its start and then regularly, a client sends a hello message, which names the oldest round that it can still
//     send. The server's answer names the first round of the client that the server does not have.
//  2. If the server lacks a round that is older than what the client can send, the round may still wait in the
//     broker's stream of updates. So the client sends another hello, in which the field First marks this case.
//  3. The server answers such a hello only after it has read the whole stream. If it then still lacks the round, the
//     round is lost.
var ErrLost = errors.New("rounds are lost")

// roundsText names the rounds from first to end − 1.
func roundsText(first, end int) string {
	if end == first+1 {
		return fmt.Sprintf("round %d", first)
	}
	return fmt.Sprintf("rounds %d to %d", first, end-1)
}

// lost returns an error about rounds that the server lacks, according to its answer, and that the
// journal has forgotten.
func (c *client) lost(next, oldest int) error {
	c.log.Error("rounds are lost", "client", c.Client, "first", next, "next", oldest)
	return fmt.Errorf("%w: neither the server nor the journal in %[4]s has %[2]s of client %[3]d, which the server "+
		"had saved. So its folder is an older copy. Restore a newer copy of the server's folder, or expel the client: "+
		"proactivedp expel %[3]d", ErrLost, roundsText(next, oldest), c.Client, c.Dir)
}

// noteLost records whether the hello h shows that rounds of the client are lost.
func (s *server) noteLost(client int, h hello) {
	state, next := &s.clients[client], s.machine.Next(client)
	switch {
	case h.Oldest <= next:
		state.lost = time.Time{}
	case h.First && state.lost.IsZero(): // without First, the stream may still have them
		state.lost = time.Now()
		s.log.Error("rounds are lost", "client", client, "first", next, "next", h.Oldest)
	}
}

// lostRounds returns how many rounds of a client are lost, from its Next on.
func (s *server) lostRounds(client int) int {
	r, state := &s.record.Clients[client], &s.clients[client]
	if state.lost.IsZero() || r.Expelled || r.Ledger != nil {
		return 0
	}
	return max(0, state.oldest-s.machine.Next(client))
}

// checkLost returns an error if the run waits for clients whose rounds are lost, and no other client
// has continued for longer than linger. Until then the status shows the lost rounds, and an operator
// may expel the client or start it again with a journal that has them.
//
// That rounds are lost is only the client's claim. The server cannot verify it: an older copy of its
// folder does not show what was saved later. So the claim must have no more effect than a client
// that sends nothing.
func (s *server) checkLost() error {
	last, at := s.first.Add(s.trained), -1 // when the last update was applied, and the client that the run waits for
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
	return fmt.Errorf("%w, and the run cannot continue without them: neither the folder %s nor the broker nor the client's "+
		"journal has %s of client %[4]d. The client says that they were saved in this folder, so it seems to be an older "+
		"copy. Restore a newer copy, or begin a new run in another folder, or start this server again and expel the "+
		"client: proactivedp expel %[4]d", ErrLost, s.Dir, roundsText(next, next+s.lostRounds(at)), at)
}
