package dist

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
	"time"
)

// A process that is started by mistake with another client's number and a folder of its own is
// refused, before the first round and later, however often it is retried, and the client that has the
// number goes on.
func TestASecondJournalDoesNotDisplaceTheFirst(t *testing.T) {
	for _, round := range []int{0, 5} {
		r := newTestRun(t, smallSpec(30), drawn())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
				ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
				_, err := Join(ctx, o)
				cancel()
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

// A client whose folder is lost goes on with a new one by Replace alone, behind the rounds that the
// server has, when nobody uses the lost one. Both are counted, and the lost one stays refused.
func TestALostJournalIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	const rounds, stopped = 30, 6
	r := newTestRun(t, smallSpec(rounds), drawn())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
		if _, err := Join(ctx, o); !errors.Is(err, ErrSecondRelease) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s with replace = %v ends with %v, want %q", filepath.Base(dir), replace, err, why)
		}
	}
	refused(r.clientDir(0), "from a new folder with --replace", false)
	refused(r.clientDir(0), "may be in use", true)
	select {
	case <-time.After(LeastSilence):
	case <-ctx.Done():
	}
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
	if _, err := Join(second, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("the second journal ends with %v", err)
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
	counted := joined.Rounds + rounds
	checkClaim(t, "per client", joined.Privacy.Certified.PerClient, report.Privacy.Certified.PerClient, counted)
	for _, notes := range [][]string{joined.Notes, report.Notes} {
		if !slices.ContainsFunc(notes, func(n string) bool {
			return strings.Contains(n, "client 0 has replaced 1 lost journal")
		}) {
			t.Errorf("notes %q", notes)
		}
	}
	r.checkFold(report)
}
