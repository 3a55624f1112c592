package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"proactivedp/cluster/internal/wire"
)

// The last message that the server has seen may be one that it refused. A server that is started again
// does not wait for the number of that message, so it still hears the clients.
func TestNobodyWaitsForWhatWasRefused(t *testing.T) {
	r := newTestRun(t, smallSpec(4), drawn())
	r.listen = "127.0.0.1:0"
	for life := range 2 {
		r.ready = make(chan struct{})
		ctx, stop := context.WithTimeout(t.Context(), enough)
		o := r.serveOptions()
		o.SaveEvery = time.Hour // nothing is purged
		ended := make(chan error, 1)
		go func() {
			_, err := Serve(ctx, o)
			ended <- err
		}()
		<-r.ready
		m := newPuppet(ctx, t, r)
		if life == 0 {
			u := make([]float32, m.config.Model.NumParams())
			good := wire.Header{Kind: wire.Update, Run: m.id, Size: 6, Digest: wire.Digest(u)}
			for client, text := range [][]byte{wire.MaxChunk.Append(nil, good, u), []byte("refused")} {
				if _, err := m.js.Publish(ctx, m.names.up(client, 0, 0), text); err != nil {
					t.Fatal(err)
				}
			}
			m.untilRefused(ctx, 1)
		} else {
			h := hello{Journal: "secret:00", Life: 1, Instance: "x", First: true}
			var a answer
			if err := ask(ctx, m.conn, m.names.hello(0), h, &a, patience); err != nil || a.Next != 1 {
				t.Errorf("%v, answer %+v", err, a)
			}
		}
		m.conn.Close()
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// untilRefused waits until the server has refused so many messages and they are away.
func (m *puppet) untilRefused(ctx context.Context, n uint64) {
	m.t.Helper()
	for ctx.Err() == nil {
		stream, err := m.js.Stream(ctx, m.names.upStream())
		if err != nil {
			m.t.Fatal(err)
		}
		if s := stream.CachedInfo().State; s.Msgs == s.LastSeq-n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	m.t.Fatal("nothing was refused")
}
