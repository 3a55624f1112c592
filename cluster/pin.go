package cluster

import (
	"bytes"
	"fmt"
	"slices"
)

// pinned returns what binds a client's journal to a run and to records: the run's announcement, a
// newline, and the digest of the client's records. The journal itself has only rounds and sample
// sizes. If the client continued with more or fewer records, its earlier rounds would be accounted
// for at a sample rate at which they were not drawn.
func pinned(run []byte, records string) []byte {
	return append(append(slices.Clone(run), '\n'), records...)
}

// readPinned reads what pinned wrote.
func readPinned(text []byte) (a *Announcement, run []byte, records string, err error) {
	run, digest, _ := bytes.Cut(text, []byte("\n"))
	a, err = parseAnnouncement(run)
	return a, run, string(digest), err
}

// pin binds the journal to the run and the records, and refuses a journal that is bound to others.
func (c *client) pin() error {
	run, err := c.about.bytes()
	if err != nil {
		return err
	}
	records := c.prepared.DataSHA256()
	if before, _ := c.journal.Pinned(); before != nil {
		_, was, held, err := readPinned(before)
		if err != nil {
			return fmt.Errorf("the journal's run: %w", err)
		}
		if bytes.Equal(was, run) && held != records {
			return fmt.Errorf("the records have the digest %s, those of the journal in %s have %s: a client "+
				"goes on with those that it began with, on which its rounds are accounted for", records, c.Dir, held)
		}
	}
	return c.journal.Pin(pinned(run, records), c.Client, c.about.Params)
}
