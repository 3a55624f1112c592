package report

import (
	"fmt"
	"io"
	"time"
)

// Count tells from time to time how much of something is done, from when it has lasted a while:
// for a search, of which no bar can be shown, as what comes next depends on what was found.
type Count struct {
	w           io.Writer
	what        string
	start, told time.Time
}

// NewCount returns a count that is told on w; nil tells nothing.
func NewCount(w io.Writer, what string) *Count {
	now := time.Now()
	return &Count{w, what, now, now}
}

// everySoOften is the least time between two lines of a count.
const everySoOften = 5 * time.Second

// Done says how much is done so far.
func (c *Count) Done(n int) {
	now := time.Now()
	if c.w == nil || now.Sub(c.told) < everySoOften {
		return
	}
	c.told = now
	fmt.Fprintf(c.w, "%s: %d done after %v\n", c.what, n, now.Sub(c.start).Round(time.Second))
}
