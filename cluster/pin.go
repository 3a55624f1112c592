package cluster

import (
	"bytes"
	"fmt"
	"slices"
)

// pinned says what a client's journal is of: the run, as its server announced it, and the
// records that the client holds, by their digest, behind the end of a line. The journal counts
// rounds and sample sizes alone: on other records, or another number of them, what was
// released would be accounted for at another sample rate than it was drawn at.
func pinned(run []byte, records string) []byte {
	return append(append(slices.Clone(run), '\n'), records...)
}

// readPinned reads what pinned wrote.
func readPinned(text []byte) (a *Announcement, run []byte, records string, err error) {
	run, digest, _ := bytes.Cut(text, []byte("\n"))
	a, err = parseAnnouncement(run)
	return a, run, string(digest), err
}

// pin writes down, in the journal, what it is of, and refuses what it is not of.
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
			return fmt.Errorf("dist: the records have the digest %s, those of the journal in %s have %s: a client "+
				"goes on with those that it began with, on which its rounds are accounted for", records, c.Dir, held)
		}
	}
	return c.journal.Pin(pinned(run, records), c.Client, c.about.Params)
}
