package dist

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Clients whose server is there no more, or never was, end and say what they have released;
// what they have is in their journals, and the same training goes on to its end.
func TestClientsGiveUpASilentServer(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	r := newTestRun(t, smallSpec(30), drawn())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	first, stop := context.WithCancel(ctx)
	r.join = func(o *JoinOptions) {
		o.GiveUpAfter = LeastSilence
		o.Watch = func(round, _ int) {
			if round == 8 {
				stop()
			}
		}
	}
	var all sync.WaitGroup
	for c := range 3 {
		all.Go(func() {
			_, err := Join(ctx, r.joinOptions(c))
			if !errors.Is(err, ErrSilent) || !strings.Contains(fmt.Sprint(err), "no answer for 5s") ||
				!strings.Contains(fmt.Sprint(err), "Of 30 rounds") {
				t.Errorf("client %d of a server that is gone: %v", c, err)
			}
		})
	}
	all.Go(func() {
		never := newTestRun(t, r.spec, r.data)
		never.join = r.join
		_, err := Join(ctx, never.joinOptions(0))
		if !errors.Is(err, ErrSilent) || !strings.Contains(fmt.Sprint(err), "Nothing was released now") {
			t.Errorf("a client of a server that never was: %v", err)
		}
	})
	go func() { // on a machine that stands still for seconds they may give up before round 8
		all.Wait()
		stop()
	}()
	if _, err := Serve(first, r.serveOptions()); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first server ended with %v", err)
	}
	all.Wait()
	if t.Failed() {
		return
	}
	r.join, r.ready = nil, make(chan struct{})
	report, _ := r.run(t.Context())
	r.checkFold(report)
}

func TestAClientRefusesToGiveUpAtOnce(t *testing.T) {
	for _, d := range []time.Duration{-1, 1, LeastSilence - 1} {
		_, err := Join(t.Context(), JoinOptions{Dir: t.TempDir(), GiveUpAfter: d})
		if err == nil || !strings.Contains(err.Error(), "must be at least 5s, or 0 for never") {
			t.Errorf("give up after %v: %v", d, err)
		}
	}
}
