package cluster

import (
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/rng"
)

// A journal is identified by its secret, see journal.Root. The first journal that says hello gets
// the client's number, even if it has released nothing yet. Suppose that a second process is started
// by mistake in another folder. It has another journal, so it is always refused. If its journal
// could take the number, the honest client would be refused at its next hello.
//
// A client whose folder is lost may replace its journal by a new one (join --replace). The server
// allows that only if nobody uses the old journal, and only if it has all rounds up to the newest
// one that it has received, even in part. The new journal begins with the round after that. So no two
// journals send a round that the server has.
//
// Nobody knows how many rounds the lost journal released that never arrived. So privacy statements
// count all T rounds for it, in addition to those of the new journal. The new journal records how
// many journals it replaces: the largest number that the user or a server has said. A server that is
// restored from an older copy may have forgotten them.

// check returns an error if no client of a run with this many rounds can have sent the hello.
func (h hello) check(rounds int) error {
	name := rng.Name{Root: h.Journal}
	for _, n := range []struct {
		name             string
		value, low, high int
	}{
		{"life", h.Life, 1, math.MaxInt32}, {"next", h.Next, 0, rounds}, {"newest", h.Newest, 0, rounds},
		{"oldest", h.Oldest, 0, h.Next}, {"length of instance", len(h.Instance), 1, 64},
	} {
		if err := dp.CheckCount(n.name, n.value, n.low, n.high); err != nil {
			return fmt.Errorf("hello: %w", err)
		}
	}
	if name.Validate() != nil || name.Simulated() {
		return fmt.Errorf("hello: journal = %q, must be the name of a secret", h.Journal)
	}
	return nil
}

// refuses returns the reason why the server refuses the client's hello, or "" if it accepts it.
func (s *server) refuses(client int, h hello) string {
	r := &s.record.Clients[client]
	if err := h.check(s.about.Rounds); err != nil {
		return err.Error()
	}
	if r.Journal == "" {
		return ""
	}
	if r.Journal == h.Journal {
		return r.older(h)
	}
	next, free := s.machine.Next(client), LeastSilence-s.silence(client)
	switch {
	case slices.Contains(r.Replaced, h.Journal):
		return fmt.Sprintf("another journal has replaced this one and now has the number %d (join --replace). "+
			"Do not use this journal again", client)
	case !h.Replace || !h.First:
		return fmt.Sprintf("another journal has the number %d. If you started this process by mistake or with the wrong "+
			"--dir, nothing is lost: the client with that journal continues. If the folder of that journal is lost for "+
			"good, either join from a new folder with --replace, or expel the client: proactivedp expel %[1]d", client)
	case h.Next > 0:
		return fmt.Sprintf("--replace needs a new folder, but this journal already has rounds up to %d of client %d. Use a new "+
			"folder, or expel the client: proactivedp expel %[2]d", h.Next-1, client)
	case r.Ledger != nil || next == s.about.Rounds:
		return fmt.Sprintf("the server has all rounds of client %d, so there is nothing to replace. If its folder is "+
			"lost, expel the client, which keeps its rounds: proactivedp expel %[1]d", client)
	case free > 0:
		return fmt.Sprintf("the journal that has the number %d may be in use: the server has listened for less than "+
			"%v since that journal was heard, or since the server started. Stop the process that uses it, and try again", client, LeastSilence)
	case s.highest(client) >= next:
		return fmt.Sprintf("the server lacks round %d of client %d, and only the journal that you want to replace "+
			"has it. Expel the client: proactivedp expel %[2]d", next, client)
	}
	return ""
}

// admit records the journal and the life of a client that is not refused.
func (s *server) admit(client int, h hello) error {
	r := &s.record.Clients[client]
	was := *r
	if r.Journal != "" && r.Journal != h.Journal {
		if err := s.save(); err != nil { // after this, nobody can send the rounds of the lost journal again
			return err
		}
		r.Replaced, r.First = append(slices.Clip(r.Replaced), r.Journal), s.machine.Next(client)
	}
	r.Journal, r.Life, r.Instance = h.Journal, h.Life, h.Instance
	if err := s.record.saveClients(); err != nil {
		*r = was
		return err
	}
	if len(r.Replaced) > len(was.Replaced) {
		s.log.Warn("a journal is replaced", "client", client, "first", r.First)
	}
	s.log.Info("a client is there", "client", client, "life", h.Life, "next", h.Next)
	return nil
}

// takeOver makes a new journal that replaces another one begin at the round that the server names.
// If the journal has no rounds although the server has rounds of it, the journal is an older copy,
// which the next check refuses.
func (c *client) takeOver(a *answer) error {
	c.disk.Lock()
	defer c.disk.Unlock()
	if err := c.journal.Replace(max(a.Replaced, min(a.First, 1))); err != nil {
		return err
	}
	if a.First == 0 || c.journal.Next() > 0 || a.Highest >= a.First {
		return nil
	}
	if a.First >= c.about.Rounds {
		return fmt.Errorf("the server says that the journal begins at round %d of %d", a.First, c.about.Rounds)
	}
	c.log.Info("the journal replaces another one", "first", a.First)
	return c.journal.Begin(a.First)
}

// addReplaced adds to a ledger the most that the replaced journals can have released.
func addReplaced(l *dp.Ledger, replaced int, m *dp.Mechanism, rounds int) {
	if replaced == 0 {
		return
	}
	for _, e := range m.Events(rounds) { // composition does not depend on the order
		e.Count *= replaced
		l.Record(e)
	}
}

// replacedNote returns a note about how replaced journals are counted.
func replacedNote(client, replaced int) []string {
	if replaced == 0 {
		return nil
	}
	return []string{fmt.Sprintf("client %d has replaced %s (join --replace); (ε, δ) counts all rounds of each, "+
		"because nobody knows how many it released", client, decimal.Many(replaced, "lost journal"))}
}

// olderCopies returns the note for reports which says that no ledger counts rounds that an older
// copy of a journal releases again.
func olderCopies(rounds int) string {
	return fmt.Sprintf("(ε, δ) counts each round of a client once. Each time a client's folder is restored "+
		"from an older copy, the client may release up to %s again, with independent noise, which no ledger counts",
		decimal.Many(rounds, "round"))
}
