package cluster

import (
	"bytes"
	"fmt"
	"slices"
)

// pinned returns the text that binds a client's journal to a run and to records: the run's
// announcement, a newline, and the digest of the client's records. The journal itself has only
// rounds and sample sizes. If the client could continue with more or fewer records, its earlier
// rounds would be accounted for with a wrong sample rate.
func pinned(run []byte, records string) []byte {
	return append(append(slices.Clone(run), '\n'), records...)
}

// readPinned parses the text that pinned returns.
func readPinned(text []byte) (a *Announcement, run []byte, records string, err error) {
	run, digest, _ := bytes.Cut(text, []byte("\n"))
	a, err = parseAnnouncement(run)
	return a, run, string(digest), err
}

// pin binds the journal to the run and the records. It returns an error if the journal is bound to
// others.
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
			return fmt.Errorf("the records have the digest %s, but the journal in %s is for records with %s: a client "+
				"must continue with the records that it began with, because its ledger is for them", records, c.Dir, held)
		}
	}
	return c.journal.Pin(pinned(run, records), c.Client, c.about.Params)
}
