package report

import (
	"fmt"
	"io"
	"time"
)

// Count prints from time to time how many items are done, once the work has lasted a while. It is for
// searches, whose total is not known in advance.
type Count struct {
	w           io.Writer
	what        string
	start, told time.Time
}

// NewCount returns a Count that prints to w. If w is nil, it prints nothing.
func NewCount(w io.Writer, what string) *Count {
	now := time.Now()
	return &Count{w, what, now, now}
}

// everySoOften is the least time between two lines of a Count.
const everySoOften = 5 * time.Second

// Done sets the number of items that are done so far.
func (c *Count) Done(n int) {
	now := time.Now()
	if c.w == nil || now.Sub(c.told) < everySoOften {
		return
	}
	c.told = now
	fmt.Fprintf(c.w, "%s: %d done after %v\n", c.what, n, now.Sub(c.start).Round(time.Second))
}
