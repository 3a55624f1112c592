package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"proactivedp/cluster/internal/journal"
)

// writer writes a client's releases to its journal, and hands them to the sender when they
// are on disk. A flush takes about as long for several as for one. So the client computes on
// while one is under way, as far as Υ lets it, and the next one is of all that came meanwhile.
type writer struct {
	c       *client
	held    []journal.Entry      // not handed over; of the goroutine that computes
	most    int                  // so many are not held
	groups  chan []journal.Entry // carries what is to be written, of rounds in order
	took    atomic.Int64         // nanoseconds of the last flush
	message []byte               // the last that was sent past the stream
}

const (
	// mostHeld is about how many bytes of releases are held.
	mostHeld = 1 << 20
)

func newWriter(c *client) *writer {
	most := min(2*window, c.out.room/2, max(1, mostHeld/(4*c.about.Params)))
	return &writer{c: c, most: most, groups: make(chan []journal.Entry, 1)}
}

// hold takes a release that took so long to compute. It is handed over at once where the
// next one would keep it for a good part of a flush, else with those after it: see handOver.
func (w *writer) hold(e journal.Entry, took time.Duration) {
	w.held = append(w.held, e)
	if len(w.held) >= w.most || took > time.Duration(w.took.Load())/4 {
		w.handOver()
	}
}

// patience returns how long what is held may wait for a broadcast, which lets the client begin
// another round: about as long as a flush that is saved so. It is 0 where no broadcast can come
// but for what is held, newest being the k of the newest.
func (w *writer) patience(newest int) time.Duration {
	if len(w.held) == 0 || w.held[0].Round <= newest || !isShort(w.c.about.Params) {
		return 0
	}
	return time.Duration(w.took.Load())
}

// handOver hands over what is held. It must be called before the client waits for anything.
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
	w.groups <- group // there is room: nobody else hands over
}

// run writes until the context ends.
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

// write writes releases by one flush and hands them to the sender.
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
