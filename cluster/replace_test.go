package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// By mistake, a second process is started with the number of a running client, but with another folder.
// The server refuses it, before the first round and later, however often it tries again. The first client
// goes on.
func TestASecondJournalDoesNotDisplaceTheFirst(t *testing.T) {
	t.Parallel()
	for _, round := range []int{0, 5} {
		r := newTestRun(t, smallSpec(30), drawn())
		ctx, cancel := context.WithTimeout(t.Context(), enough)
		defer cancel()
		there, refused := make(chan struct{}), make(chan struct{})
		hit := 0
		r.join = func(o *JoinOptions) {
			if o.Client != 0 {
				return
			}
			o.at = func(p point) {
				if p != beforeJournal {
					return
				}
				if hit == round {
					close(there)
					<-refused
				}
				hit++
			}
		}
		var all sync.WaitGroup
		all.Go(func() {
			defer close(refused)
			select {
			case <-there:
			case <-ctx.Done():
				return
			}
			for try := range 3 {
				o := r.joinOptions(0)
				o.Dir, o.at, o.release = filepath.Join(r.dir, "wrong"), func(point) {}, nil
				_, err := Join(ctx, o)
				if text := fmt.Sprint(err); !strings.Contains(text, "--replace") || !strings.Contains(text, "expel") {
					t.Errorf("before round %d the second process ends, tried %d times, with %v", round, try+1, err)
				}
			}
		})
		report, _ := r.run(ctx)
		all.Wait()
		r.checkFold(report)
	}
}

// A client whose folder is lost can only go on with a new folder if the option Replace is given and no
// process uses the lost folder. It continues after the rounds that the server has. The rounds of both
// journals count, and the lost one is refused from then on.
func TestALostJournalIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel()
	const rounds, stopped = 30, 6
	r := newTestRun(t, smallSpec(rounds), drawn())
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	lost := filepath.Join(r.dir, "lost")
	first, stop := context.WithCancel(ctx)
	r.join = func(o *JoinOptions) {
		if o.Client == 0 {
			o.Watch = func(round, _ int) {
				if round == stopped {
					stop()
				}
			}
		}
	}
	served := r.startOthers(ctx, cancel)
	if _, err := Join(first, r.joinOptions(0)); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first journal ends with %v", err)
	}
	if err := os.Rename(r.clientDir(0), lost); err != nil {
		t.Fatal(err)
	}
	refused := func(dir, why string, replace bool) {
		t.Helper()
		o := r.joinOptions(0)
		o.Dir, o.Replace, o.Watch = dir, replace, nil
		if _, err := Join(ctx, o); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s with replace = %v ends with %v, want %q", filepath.Base(dir), replace, err, why)
		}
	}
	refused(r.clientDir(0), "from a new folder with --replace", false)
	refused(r.clientDir(0), "may be in use", true)
	// The new journal is stopped as soon as it has the number, so that it begins by what the server
	// remembers, without being told to replace anything.
	o := r.joinOptions(0)
	second, stop := context.WithCancel(ctx)
	o.Replace, o.Watch = true, nil
	o.at = func(p point) {
		if p == beforeJournal {
			stop()
			refused(lost, "has replaced this one", true)
		}
	}
	agreed := 0 // rounds, of both journals
	o.Agree = func(_ *Announcement, s Statement) error {
		agreed = s.Certified.PerClient.Rounds
		return nil
	}
	_, err := Join(second, o)
	for ; errors.Is(err, ErrRefused) && strings.Contains(err.Error(), "may be in use"); _, err = Join(second, o) {
		_ = pause(ctx, beat/4)
	}
	if !errors.Is(err, context.Canceled) || ctx.Err() != nil {
		t.Fatalf("the second journal ends with %v", err)
	}
	if agreed != 2*rounds {
		t.Errorf("the client agrees to %d rounds, must be %d with those of the lost journal", agreed, 2*rounds)
	}
	o = r.joinOptions(0)
	o.Watch = nil
	joined, err := Join(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	report := <-served
	if joined.Rounds >= rounds || joined.Rounds < rounds-stopped-1 {
		t.Errorf("the new journal has %d rounds", joined.Rounds)
	}
	checkReplaced(t, joined, report, joined.Rounds+rounds)
	r.checkFold(report)
}

// checkReplaced checks that client and server count so many rounds of client 0, those of one lost
// journal included, and say so.
func checkReplaced(t *testing.T, joined *JoinReport, report *Report, rounds int) {
	t.Helper()
	checkClaim(t, "per client", joined.Privacy.Certified.PerClient, report.Privacy.Certified.PerClient, rounds)
	for _, notes := range [][]string{joined.Notes, report.Notes} {
		if !slices.ContainsFunc(notes, func(n string) bool {
			return strings.Contains(n, "client 0 has replaced 1 lost journal")
		}) {
			t.Errorf("notes %q", notes)
		}
	}
}
