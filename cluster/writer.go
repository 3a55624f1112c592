package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"proactivedp/cluster/internal/journal"
)

// writer writes a client's releases to its journal, and gives them to the sender when they are on
// disk. A flush takes about as long for several releases as for one. So the client continues to
// compute during a flush, as far as Υ allows, and the next flush includes all releases since then.
type writer struct {
	c       *client
	held    []journal.Entry      // not handed over yet; only the goroutine that computes uses it
	most    int                  // as soon as there are this many, they are handed over
	groups  chan []journal.Entry // releases to be written, in the order of rounds
	took    atomic.Int64         // nanoseconds of the last flush
	message []byte               // buffer of the last message that was sent directly
}

const (
	// mostHeld is the approximate limit of held releases in bytes.
	mostHeld = 1 << 20
)

func newWriter(c *client) *writer {
	most := min(2*window, c.out.room/2, max(1, mostHeld/(4*c.about.Params)))
	return &writer{c: c, most: most, groups: make(chan []journal.Entry, 1)}
}

// hold adds the release e to the held ones. took is how long it took to compute. If the next release
// will probably take longer than a quarter of a flush, hold hands over the held releases at once.
// Otherwise e waits, to share the flush with the releases after it.
func (w *writer) hold(e journal.Entry, took time.Duration) {
	w.held = append(w.held, e)
	if len(w.held) >= w.most || took > time.Duration(w.took.Load())/4 {
		w.handOver()
	}
}

// patience returns how long the held releases may wait for a broadcast that lets the client begin
// another round. This is about the time of a flush, which the wait may save. It is 0 if the server
// needs the held releases for its next broadcast. newest is the k of the last broadcast.
func (w *writer) patience(newest int) time.Duration {
	if len(w.held) == 0 || w.held[0].Round <= newest || !isShort(w.c.about.Params) {
		return 0
	}
	return time.Duration(w.took.Load())
}

// handOver gives the held releases to the writer's goroutine. It must be called before the client
// waits for anything.
func (w *writer) handOver() {
	if len(w.held) == 0 {
		return
	}
	group := w.held
	w.held = nil
	select {
	case before := <-w.groups:
		group = append(before, group...)
	default:
	}
	w.groups <- group // does not block, because only this goroutine sends here
}

// run writes the groups of releases to the journal until the context ends.
func (w *writer) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case group := <-w.groups:
			if err := w.write(ctx, group); err != nil {
				return ended(ctx, err)
			}
		}
	}
}

// write writes releases with one flush and gives them to the sender.
func (w *writer) write(ctx context.Context, group []journal.Entry) error {
	c := w.c
	for range group {
		c.at(beforeJournal)
	}
	c.disk.Lock()
	begun := time.Now()
	releases, err := c.journal.Append(group...)
	w.took.Store(int64(time.Since(begun)))
	c.disk.Unlock()
	if err != nil {
		return err
	}
	out := make([]outgoing, len(group))
	for i, r := range releases {
		c.at(afterJournal)
		out[i] = outgoing{r, group[i].U}
		if c.JoinOptions.release != nil {
			c.JoinOptions.release(r, group[i].U)
		}
	}
	w.sendEarly(out)
	return c.out.send(ctx, out)
}
