package dist

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A lost folder is counted though the server does not remember it, as one that is restored from an
// older copy, and though the flag is not given again: the journal keeps the number.
func TestALostJournalThatTheServerForgotIsCounted(t *testing.T) {
	const rounds, stopped = 12, 4
	r := newTestRun(t, smallSpec(rounds), drawn())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	served := make(chan *Report, 1)
	all.Go(func() {
		report, err := Serve(ctx, r.serveOptions())
		if err != nil {
			t.Errorf("server: %v", err)
			cancel()
		}
		served <- report
	})
	for c := 1; c < 3; c++ {
		all.Go(func() {
			if _, err := Join(ctx, r.joinOptions(c)); err != nil {
				t.Errorf("client %d: %v", c, err)
			}
		})
	}
	o := r.joinOptions(0)
	first, stop := context.WithCancel(ctx)
	o.Replace = true // the server, which is new, answers that nothing was replaced
	o.Watch = func(round, _ int) {
		if round == stopped {
			stop()
		}
	}
	if _, err := Join(first, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first life ends with %v", err)
	}
	joined, err := Join(ctx, r.joinOptions(0))
	if err != nil {
		t.Fatal(err)
	}
	report := <-served
	if joined.Rounds != rounds {
		t.Errorf("the new journal has %d rounds", joined.Rounds)
	}
	checkClaim(t, "per client", joined.Privacy.Certified.PerClient, report.Privacy.Certified.PerClient, 2*rounds)
	for _, notes := range [][]string{joined.Notes, report.Notes} {
		if !slices.ContainsFunc(notes, func(n string) bool {
			return strings.Contains(n, "client 0 has replaced 1 lost journal")
		}) {
			t.Errorf("notes %q", notes)
		}
	}
}

// The number of lost journals that the server has said is counted from then on, whatever it says
// later, and a number that nobody can have is refused.
func TestTheMostLostJournalsThatWereHeardOfAreCounted(t *testing.T) {
	r := newTestRun(t, smallSpec(12), drawn())
	for _, said := range []struct{ server, want int }{{0, 0}, {2, 2}, {0, 2}, {1, 2}, {3, 3}} {
		c, err := newClient(r.joinOptions(0))
		if err != nil {
			t.Fatal(err)
		}
		c.about = &Announcement{Rounds: 12}
		err = errors.Join(c.journal.Pin([]byte("run"), 0, 3), c.takeOver(&answer{Replaced: said.server, Highest: -1}))
		if got := c.journal.Replaced(); err != nil || got != said.want {
			t.Errorf("the server says %d: %d are counted, want %d; %v", said.server, got, said.want, err)
		}
		if err := c.journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
