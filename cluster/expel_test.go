package cluster

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The other clients wait for a client that is away. Once it is expelled, they go on, even if a restarted
// server expels it. The expelled client cannot come back.
func TestTheOthersGoOnWithoutAnExpelledClient(t *testing.T) {
	t.Parallel()
	r := newTestRun(t, smallSpec(30), drawn())
	r.listen = "127.0.0.1:0"
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	away, leave := context.WithCancel(ctx)
	told := make(chan struct{}) // is closed when the client that was expelled has tried to come back
	r.join = func(o *JoinOptions) {
		o.connect = nil
		<-r.ready
		o.URL = r.broker.URL()
		o.Watch = func(round, _ int) {
			switch {
			case o.Client == 2 && round == 5:
				leave()
			case o.Client != 2 && round == 25: // else the training may end before it has tried
				select {
				case <-told:
				case <-ctx.Done():
				}
			}
		}
	}
	var all sync.WaitGroup
	for c := range 3 {
		all.Go(func() {
			ctx := ctx
			if c == 2 {
				ctx = away
			}
			_, err := Join(ctx, r.joinOptions(c))
			if c == 2 && !errors.Is(err, context.Canceled) || c != 2 && err != nil {
				t.Errorf("client %d: %v", c, err)
			}
		})
	}
	var url string
	first, stop := context.WithCancel(ctx)
	all.Go(func() {
		defer stop()
		<-away.Done()
		url = r.broker.URL()
		o, err := Operate(ctx, url, "", nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer o.Close()
		if err := o.Expel(ctx, 7); err == nil || !strings.Contains(err.Error(), "must be in [0, 2]") {
			t.Errorf("expelled client 7: %v", err)
		}
		if err := o.Expel(ctx, 2); err != nil {
			t.Error(err)
		}
		s, err := o.Status(ctx)
		if err != nil || !s.Clients[2].Expelled || s.Clients[0].Expelled || s.K < 3 {
			t.Errorf("status %+v, %v", s, err)
		}
		var text strings.Builder
		if err := s.WriteText(&text); err != nil || !strings.Contains(text.String(), "expelled") {
			t.Errorf("%v: %s", err, &text)
		}
	})
	if _, err := Serve(first, r.serveOptions()); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first server ended with %v", err)
	}
	again := r.serveOptions()
	again.Engine.Listen, again.started = strings.TrimPrefix(url, "nats://"), nil
	expelled := make(chan error, 1)
	again.Started = func(string) {
		go func() {
			_, err := Join(ctx, r.joinOptions(2))
			expelled <- err
			close(told)
		}()
	}
	report, err := Serve(ctx, again)
	if err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if err := <-expelled; !errors.Is(err, ErrExpelled) {
		t.Errorf("the client that was expelled comes back: %v", err)
	}
	// To begin round 4 with τ = 1, client 2 had v̂_3, which has its first three rounds.
	noted := func(n string) bool {
		return strings.Contains(n, "expelled: 1 client (2)") && strings.Contains(n,
			"holds fewer pays more")
	}
	if !slices.Equal(report.Expelled, []int{2}) || report.Updates >= 90 || report.Updates < 63 ||
		!slices.ContainsFunc(report.Notes, noted) {
		t.Errorf("%+v", report)
	}
	if n := report.Privacy.PerRecord.Rounds; n != 90 {
		t.Errorf("(ε, δ) is stated of %d rounds, must be of all 90 that may have been released", n)
	}
	r.checkFold(report)
}

// A client that has ended is not expelled. Otherwise the plan would replace the client's own account of
// its releases in the privacy statement, and that account may be for fewer records than planned.
func TestAClientThatHasEndedIsNotExpelled(t *testing.T) {
	s := newTestRun(t, smallSpec(12), drawn()).newServer()
	s.record.Clients[1].Ledger = &clientLedger{Records: 20}
	if got := s.expelAsked([]byte(`{"client":1}`)); !strings.Contains(got.Error, "client 1 has finished") {
		t.Errorf("expelled after its end: %+v", got)
	}
	if got := s.expelAsked([]byte(`{"client":2}`)); got.Error != "" {
		t.Errorf("client 2: %+v", got)
	}
	if of := s.record.Clients; of[1].Expelled || !of[2].Expelled {
		t.Errorf("%+v", of)
	}
}

// A client that is silent for too long is expelled, but never the last one.
func TestASilentClientIsExpelled(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel()
	r := newTestRun(t, smallSpec(12), drawn())
	silent, leave := context.WithCancel(t.Context())
	defer leave()
	r.serve = func(o *ServeOptions) { o.ExpelAfter = LeastSilence }
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	var all sync.WaitGroup
	for c := range 3 {
		all.Go(func() {
			o := r.joinOptions(c)
			if c == 1 {
				o.Watch = func(round, _ int) {
					if round == 4 {
						leave()
					}
				}
				if _, err := Join(silent, o); err == nil {
					t.Error("the silent one ended")
				}
				return
			}
			if _, err := Join(ctx, o); err != nil {
				t.Error(err)
			}
		})
	}
	report, err := Serve(ctx, r.serveOptions())
	all.Wait()
	if err != nil || !slices.Equal(report.Expelled, []int{1}) {
		t.Fatalf("expelled %v, %v", report, err)
	}
	r.checkFold(report)
}

// If the server cannot write an expulsion to disk, the operator is told that it failed, however often it
// is repeated. A server that is started again would still wait for the client.
func TestExpulsionThatCannotBeKeptFails(t *testing.T) {
	s := endedRun(t)
	file := s.record.path(stateFile)
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil { // in its place nothing can be written
		t.Fatal(err)
	}
	for asked := range 3 {
		if asked == 2 {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.expelAsked([]byte(`{"client":2}`)); (got.Error == "") != (asked == 2) {
			t.Errorf("asked %d times: error %q", asked+1, got.Error)
		}
	}
	if !slices.Equal(s.record.tally.Expelled, []int{2}) {
		t.Errorf("written down as expelled: %v", s.record.tally.Expelled)
	}
}
