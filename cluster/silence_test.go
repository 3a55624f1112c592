package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/broker"
)

// Clients end if their server has stopped or was never there, and say what they have released. Their
// releases stay in their journals, so the same training can continue to its end.
func TestClientsGiveUpASilentServer(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel()
	r := newTestRun(t, smallSpec(30), drawn())
	ctx, cancel := context.WithTimeout(t.Context(), enough)
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
		if !errors.Is(err, ErrSilent) || !strings.Contains(fmt.Sprint(err), "Nothing was released this time") {
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
	report, joined := r.run(t.Context())
	r.checkFold(report)
	r.checkEndedAgain(joined)
}

// checkEndedAgain checks that clients whose part has ended report it again without a server,
// and that nobody takes it for another's or another run's.
func (r *testRun) checkEndedAgain(joined []*JoinReport) {
	r.t.Helper()
	errAsked := errors.New("the broker was asked")
	again := func(client int, run string) (*JoinReport, error) {
		o := r.joinOptions(client)
		o.Dir, o.Run = r.clientDir(1), run
		o.connect = func(context.Context, broker.Peer) (*nats.Conn, error) { return nil, errAsked }
		return Join(r.t.Context(), o)
	}
	text := func(r *JoinReport) string { // what JSON says is all that is shown of it
		b, err := json.Marshal(r)
		return fmt.Sprint(string(b), err)
	}
	if got, err := again(1, ""); err != nil || text(got) != text(joined[1]) {
		r.t.Errorf("a client that has ended says %s, %v, and said %s", text(got), err, text(joined[1]))
	}
	if _, err := again(1, joined[1].Run); err != nil {
		r.t.Errorf("the run by its name: %v", err)
	}
	if _, err := again(0, ""); err == nil || !strings.Contains(err.Error(), "client = 0, must be 1") {
		r.t.Errorf("another client in its folder: %v", err)
	}
	if _, err := again(1, "0123456789abcdef"); !errors.Is(err, errAsked) {
		r.t.Errorf("another run in its folder: %v", err)
	}
}

// A client without the function that prepares its part of the data gets an error before it contacts a
// broker.
func TestAClientNeedsItsPart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "client")
	o := JoinOptions{Dir: dir}
	o.connect = func(context.Context, broker.Peer) (*nats.Conn, error) {
		return nil, errors.New("the broker was asked")
	}
	if _, err := Join(t.Context(), o); err == nil || !strings.Contains(err.Error(), "prepare = nil") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("its folder was made")
	}
}

func TestAClientRefusesToGiveUpAtOnce(t *testing.T) {
	for _, d := range []time.Duration{-1, 1, LeastSilence - 1} {
		_, err := Join(t.Context(), JoinOptions{Dir: t.TempDir(), GiveUpAfter: d})
		if err == nil || !strings.Contains(err.Error(), "must be at least 5s, or 0 for never") {
			t.Errorf("give up after %v: %v", d, err)
		}
	}
}
