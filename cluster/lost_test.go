package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A server that was restored from an older copy lacks some rounds. The clients have deleted them, because
// a later state of the server had them. So nobody can send them again. Server and clients say which rounds
// are lost, and end.
func TestRoundsThatNobodyHasEndTheRun(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel()
	r := newTestRun(t, smallSpec(60), drawn())
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	backup := filepath.Join(r.dir, "backup")
	var url string
	listening := make(chan struct{})
	// serve serves until it ends by itself, or meanwhile has returned true.
	serve := func(ctx context.Context, meanwhile func(o *Operator) bool) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		o := r.serveOptions()
		o.Engine.Listen, o.started = "127.0.0.1:0", nil
		if url != "" {
			o.Engine.Listen = strings.TrimPrefix(url, "nats://")
		}
		var all sync.WaitGroup
		defer all.Wait()
		o.Started = func(at string) {
			if url == "" {
				url = at
				close(listening)
			}
			all.Go(func() {
				who, err := Operate(ctx, url, "", nil)
				if err != nil {
					t.Error(err)
					stop()
					return
				}
				defer who.Close()
				if meanwhile(who) {
					stop()
				}
			})
		}
		_, err := Serve(ctx, o)
		return err
	}
	// until asks for the status until it is as is says of each client.
	until := func(who *Operator, is func(ClientStatus) bool) bool {
		for ctx.Err() == nil {
			s, err := who.Status(ctx)
			if err != nil {
				t.Error(err)
				return true
			}
			there := 0
			for _, c := range s.Clients {
				if is(c) {
					there++
				}
			}
			if there == len(s.Clients) {
				return true
			}
			_ = pause(ctx, beat/50)
		}
		t.Error("it does not come so far")
		return true
	}
	gates := map[int]chan struct{}{10: make(chan struct{}), 30: make(chan struct{})} // of client 0, by round
	ended := make([]error, 3)
	var clients sync.WaitGroup
	defer clients.Wait()
	for c := range ended {
		o := r.joinOptions(c)
		o.connect = nil
		o.Watch = func(round, _ int) {
			if gate := gates[round]; gate != nil && c == 0 {
				select {
				case <-gate:
				case <-ctx.Done():
				}
			}
		}
		clients.Go(func() {
			<-listening
			o.URL = url
			_, ended[c] = Join(ctx, o)
		})
	}
	err := serve(ctx, func(who *Operator) bool { return until(who, func(c ClientStatus) bool { return c.Next >= 7 }) })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := os.CopyFS(backup, os.DirFS(r.serverDir())); err != nil {
		t.Fatal(err)
	}
	close(gates[10])
	err = serve(ctx, func(who *Operator) bool {
		return until(who, func(c ClientStatus) bool { return c.Oldest >= 20 })
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(r.serverDir()), os.Rename(backup, r.serverDir())); err != nil {
		t.Fatal(err)
	}
	close(gates[30])
	var text strings.Builder
	err = serve(ctx, func(who *Operator) bool {
		until(who, func(c ClientStatus) bool { return c.Lost > 0 })
		s, err := who.Status(ctx)
		if err == nil {
			err = s.WriteText(&text)
		}
		if err != nil {
			t.Error(err)
		}
		return false
	})
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "of client 0") {
		t.Errorf("the server ends with %v", err)
	}
	clients.Wait()
	for c, err := range ended {
		if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "older copy") {
			t.Errorf("client %d ends with %v", c, err)
		}
	}
	if !strings.Contains(text.String(), "are lost") {
		t.Errorf("status:\n%s", &text)
	}
}
