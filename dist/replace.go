package dist

import (
	"fmt"
	"slices"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/rng"
)

// A journal is named by its secret, see journal.Root. The first journal that says hello takes the
// client's number, also if it has released nothing yet. A second process that is started by mistake in
// a folder of its own has another journal, and is refused, however often it is retried: if its
// journal could take the number, the honest client would be refused at its next hello.
//
// A client whose folder is lost may replace its journal by a new one (join --replace). The server
// does that only while nobody uses the old journal, and if it has all rounds up to the highest of
// which anything has come. The new journal begins at the round after that one: no two journals send
// a round that the server has. Nobody knows how many rounds the lost journal released that never
// came, so that privacy statements count all T rounds of it, beside those of the new one.

// check reports that no client says such a hello.
func (h hello) check() error {
	name := rng.Name{Root: h.Journal}
	if h.Life < 1 || len(h.Instance) == 0 || len(h.Instance) > 64 || h.Next < 0 || h.Newest < 0 || h.Oldest < 0 ||
		h.Oldest > h.Next {
		return fmt.Errorf("hello: life %d, rounds %d to %d, k = %d of instance %q", h.Life, h.Oldest, h.Next, h.Newest,
			h.Instance)
	}
	if name.Validate() != nil || name.Simulated() {
		return fmt.Errorf("hello: journal = %q, must be the name of a secret", h.Journal)
	}
	return nil
}

// refuses says why a client's hello is refused; "": it is not.
func (s *server) refuses(client int, h hello) string {
	r := &s.record.Clients[client]
	if err := h.check(); err != nil {
		return err.Error()
	}
	if r.Journal == "" {
		return ""
	}
	if r.Journal == h.Journal {
		return r.older(h)
	}
	next, free := s.machine.Next(client), LeastSilence-s.clients[client].silent
	switch {
	case slices.Contains(r.Replaced, h.Journal):
		return fmt.Sprintf("this journal was replaced by another one, which has the number %d now (join --replace). "+
			"It must not be used any more", client)
	case !h.Replace || !h.First:
		return fmt.Sprintf("another journal has the number %d. If this process was started by mistake, or in another "+
			"folder, stop it: the client with that journal goes on. If the folder of that journal is lost for good, "+
			"either join with --replace, or let an operator expel the client", client)
	case h.Next > 0:
		return fmt.Sprintf("--replace is for a new folder, this journal has rounds up to %d of client %d. Take a new "+
			"folder, or let an operator expel the client", h.Next-1, client)
	case r.Ledger != nil || next == s.about.Rounds:
		return fmt.Sprintf("all rounds of client %d are in, there is nothing to replace. If its folder is lost let an "+
			"operator expel it, which keeps its rounds", client)
	case free > 0:
		return fmt.Sprintf("the journal that has the number %d may be in use: the server has listened for less than "+
			"%v since it was heard, or since the server has begun. Stop the process that uses it, and try again", client, LeastSilence)
	case s.highest(client) >= next:
		return fmt.Sprintf("the server lacks round %d of client %d, which nobody has but the journal that is to be "+
			"replaced. Let an operator expel the client", next, client)
	}
	return ""
}

// admit notes the journal and the life of a client that is not refused.
func (s *server) admit(client int, h hello) error {
	r := &s.record.Clients[client]
	was := *r
	if r.Journal != "" && r.Journal != h.Journal {
		if err := s.save(); err != nil { // what is folded of the lost journal nobody can send again
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

// takeOver begins a new journal at the round that the server says, if it replaces another one. A
// journal of which the server has rounds, and which has none, is no new one: that is refused next.
func (c *client) takeOver(a *answer) error {
	c.disk.Lock()
	defer c.disk.Unlock()
	c.replaced = a.Replaced
	if a.First == 0 || c.journal.Next() > 0 || a.Highest >= a.First {
		return nil
	}
	if a.First >= c.about.Rounds {
		return fmt.Errorf("dist: the server has the journal begin at round %d of %d", a.First, c.about.Rounds)
	}
	c.log.Info("the journal replaces another one", "first", a.First)
	return c.journal.Begin(a.First)
}

// addReplaced adds the most that so many replaced journals can have released to a ledger.
func addReplaced(l *dp.Ledger, replaced int, m *dp.Mechanism, rounds int) {
	for range replaced {
		for _, e := range m.Events(rounds) {
			l.Record(e)
		}
	}
}

// replacedNote says how replaced journals are counted.
func replacedNote(client, replaced int) []string {
	if replaced == 0 {
		return nil
	}
	return []string{fmt.Sprintf("client %d has replaced %s (join --replace); (ε, δ) counts all rounds of each, since "+
		"nobody knows how many it released", client, decimal.Many(replaced, "lost journal"))}
}

// olderCopies says what no ledger counts.
func olderCopies(rounds int) []string {
	return []string{fmt.Sprintf("(ε, δ) counts each round of a client once. Each time a client's folder is returned "+
		"to an older copy, it may release up to %s again, with independent noise, which no ledger counts",
		decimal.Many(rounds, "round"))}
}
