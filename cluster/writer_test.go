package cluster

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"proactivedp/cluster/internal/journal"
	"proactivedp/cluster/internal/wire"
)

// No release is sent before it is in the journal, whether the permissible delay lets a client be one round
// ahead, a few, or any number. No client is further ahead than that.
func TestNothingIsSentBeforeItIsInTheJournal(t *testing.T) {
	t.Parallel()
	for delay, most := range map[string]int{"1": 1, "9": 9, "unlimited": 60} {
		s := smallSpec(60)
		s.Delay = delay
		r := newTestRun(t, s, drawn())
		r.join = func(o *JoinOptions) {
			var written, sent atomic.Int64
			note := o.release
			o.release = func(r journal.Release, u []float32) {
				note(r, u)
				written.Add(1)
			}
			o.at = func(p point) {
				if p == beforePublish && sent.Add(1) > written.Load() {
					t.Errorf("%d are sent, %d were written", sent.Load(), written.Load())
				}
			}
		}
		report, joined := r.run(t.Context())
		r.checkFold(report)
		for c, j := range joined {
			if j.Rounds != 60 || j.MaxLag > most {
				t.Errorf("delay %s: client %d: %+v", delay, c, j)
			}
		}
	}
}

// Releases are held back so that one flush writes several. They are passed on when there are enough, when
// the next round would take long, and when the client waits, unless a broadcast for earlier rounds may
// come soon.
func TestReleasesAreHeldForOneFlush(t *testing.T) {
	c := &client{about: &Announcement{Params: 68, Chunk: int(wire.MaxChunk)}}
	c.out = newSender(c)
	w := newWriter(c)
	rounds := func() (all []int) {
		select {
		case group := <-w.groups:
			for _, e := range group {
				all = append(all, e.Round)
			}
		default:
		}
		return all
	}
	next := 0
	hold := func(n int, took time.Duration) {
		for range n {
			w.hold(journal.Entry{Release: journal.Release{Round: next}}, took)
			next++
		}
	}
	expect := func(what string, from, to int) {
		t.Helper()
		var want []int
		for round := from; round < to; round++ {
			want = append(want, round)
		}
		if got := rounds(); !slices.Equal(got, want) {
			t.Errorf("%s: %v are handed over, want %v", what, got, want)
		}
	}
	hold(1, time.Microsecond)
	expect("no flush was yet", 0, 1)
	w.took.Store(int64(time.Millisecond))
	hold(2, time.Microsecond)
	expect("a flush takes longer than a round", 0, 0)
	if d := w.patience(1); d != 0 {
		t.Errorf("round 1 is held, k = 1: it may wait for %v, and nothing else comes", d)
	}
	if d := w.patience(0); d != time.Millisecond {
		t.Errorf("round 0 is out, k = 0: the others may wait for %v, want a flush", d)
	}
	hold(1, time.Millisecond)
	expect("a round takes as long", 1, 4)
	hold(w.most, time.Microsecond)
	hold(1, time.Microsecond)
	w.handOver()
	w.handOver()
	expect("enough are held, and one more", 4, 4+w.most+1)
	if d := w.patience(0); d != 0 {
		t.Errorf("nothing is held for %v", d)
	}
	c.about.Params = 1 << 20
	if w = newWriter(c); w.most != 1 {
		t.Errorf("%d releases of 4 MiB are held", w.most)
	}
}
