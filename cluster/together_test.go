package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/journal"
	"proactivedp/cluster/internal/wire"
)

// serveAlone serves a run without clients until stop is called or the test ends.
func (r *testRun) serveAlone(ctx context.Context) (m *puppet, stop func()) {
	r.t.Helper()
	t := r.t.(*testing.T)
	ctx, cancel := context.WithTimeout(ctx, enough)
	ended := make(chan error, 1)
	r.ready = make(chan struct{})
	o := r.serveOptions()
	o.SaveEvery = time.Hour // nothing is purged
	go func() {
		_, err := Serve(ctx, o)
		ended <- err
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	<-r.ready
	m = newPuppet(ctx, t, r)
	t.Cleanup(m.conn.Close)
	return m, stop
}

// message returns a message of a client's updates of the rounds, of which number is said.
func (m *puppet) message(client int, rounds ...int) []byte {
	var all []byte
	for _, round := range rounds {
		u := make([]float32, m.config.Model.NumParams())
		u[0] = float32(round) / 1000
		h := wire.Header{Kind: wire.Update, Run: m.id, Client: client, Number: round, Size: 6, Digest: wire.Digest(u)}
		all = wire.MaxChunk.Append(all, h, u)
	}
	return all
}

// untilIn waits until so many updates are in.
func (m *puppet) untilIn(ctx context.Context, updates int) *Status {
	m.t.Helper()
	operator, err := Operate(ctx, m.server.broker.URL(), "", nil)
	if err != nil {
		m.t.Fatal(err)
	}
	defer operator.Close()
	for {
		s, err := operator.Status(ctx)
		if err != nil {
			m.t.Fatal(err)
		}
		if s.Updates >= updates {
			return s
		}
	}
}

// Several updates may be in one message. Each is applied once. If one is refused, those after it are
// ignored, and the message is counted once and removed. The same holds if the stream delivers only the
// headers of messages.
func TestUpdatesTravelTogether(t *testing.T) {
	for _, features := range []int{20, 2000} {
		r := newTestRun(t, smallSpec(8), wide(features))
		r.listen = "127.0.0.1:0"
		m, _ := r.serveAlone(t.Context())
		if got := (&Announcement{Params: m.config.Model.NumParams(), Chunk: int(wire.MaxChunk)}).headed(); got != (features > 1000) {
			t.Fatalf("%d features: headers alone: %v", features, got)
		}
		publish := func(client, first int, parts ...[]byte) {
			if _, err := m.js.Publish(t.Context(), m.names.up(client, first, 0), slices.Concat(parts...)); err != nil {
				t.Fatal(err)
			}
		}
		publish(0, 0, m.message(0, 0, 1, 2))
		publish(0, 2, m.message(0, 2, 3))                                // 2 is in
		publish(1, 0, m.message(1, 0), m.message(2, 1), m.message(1, 2)) // 0 is in
		publish(1, 1, m.message(1, 1), m.message(1, 3))                  // 1 is in, then a round is left out
		publish(1, 7, m.message(1, 7), m.message(1, 8))                  // 7 is in, 8 is not of the run
		publish(2, 0, m.message(2, 0), []byte("no update"))              // 0 is in
		publish(2, 5, make([]byte, len(m.message(2, 5))))                // as long as an update
		if _, err := m.js.PublishMsg(t.Context(), &nats.Msg{Subject: m.names.up(0, 1, 0), Data: m.message(0, 1),
			Header: nats.Header{"Made": {"by a broker"}}}); err != nil { // of a round that is in
			t.Fatal(err)
		}
		m.untilRefused(t.Context(), 6)
		s := m.untilIn(t.Context(), 8)
		if s.Updates != 8 || s.Clients[0].Next != 4 || s.Clients[1].Next != 2 || s.Clients[2].Next != 1 {
			t.Errorf("%d features: %+v", features, s)
		}
		want := map[string]int{string(OtherSubject): 2, string(OutOfRange): 1, string(NoUpdate): 3}
		if !maps.Equal(s.Refused, want) {
			t.Errorf("%d features: refused %v, want %v", features, s.Refused, want)
		}
	}
}

// Messages that arrive at a broker in another process while the server is away are read from the stream
// later.
func TestWhatCameWhileTheServerWasAway(t *testing.T) {
	t.Parallel()
	for _, features := range []int{20, 2000} {
		b, err := broker.Engine{Listen: "127.0.0.1:0", StoreDir: t.TempDir()}.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		r := newTestRun(t, smallSpec(8), wide(features))
		r.serve = func(o *ServeOptions) { o.Engine = broker.Engine{URL: b.URL()} }
		m, stop := r.serveAlone(t.Context())
		stop()
		for client, first := range []int{0, 0, 3} {
			text := m.message(client, first, first+1)
			if _, err := m.js.Publish(t.Context(), m.names.up(client, first, 0), text); err != nil {
				t.Fatal(err)
			}
		}
		m, stop = r.serveAlone(t.Context())
		s := m.untilIn(t.Context(), 6)
		if s.Updates != 6 || s.Clients[0].Next != 2 || s.Clients[2].Next != 0 || len(s.Refused) > 0 {
			t.Errorf("%d features: %+v", features, s)
		}
		stop()
	}
}

// A client that is started again may combine other rounds into a message than before. Once it has
// published the missing ones, the stream has all rounds. If the stream has another vector for one of its
// rounds, the client ends.
func TestAnotherLifePutsOtherRoundsTogether(t *testing.T) {
	r := newTestRun(t, smallSpec(8), drawn())
	r.listen = "127.0.0.1:0"
	m, _ := r.serveAlone(t.Context())
	before := map[int][]int{0: {0}, 1: {0, 1, 2, 3}, 2: {0, 7}} // by client, what the first life sent together
	for client, rounds := range before {
		if _, err := m.js.Publish(t.Context(), m.names.up(client, 0, 0), m.message(client, rounds...)); err != nil {
			t.Fatal(err)
		}
	}
	m.untilRefused(t.Context(), 1) // of client 2, whose place is free again
	js, err := jetstream.New(m.conn)
	if err != nil {
		t.Fatal(err)
	}
	for client := range before {
		c := m.sending(client, js)
		if err := c.sendAll(t.Context(), m.message(client, 0, 1, 2)); err != nil || len(c.acked) != 3 {
			t.Errorf("client %d: %v, acknowledged %v", client, err, c.acked)
		}
	}
	s := m.untilIn(t.Context(), 10)
	if s.Clients[0].Next != 3 || s.Clients[1].Next != 4 || s.Clients[2].Next != 3 {
		t.Errorf("%+v", s)
	}
	// Client 0 has sent 0 alone and {1, 2}; of client 1 the stream has {0, 1, 2, 3}.
	for client, first := range map[int]int{0: 1, 1: 0} {
		c := m.sending(client, js)
		c.folded = 1 << 20
		text := m.message(client, first, first+1)
		text[len(text)-4] ^= 1 // of the second vector's last number
		if err := c.sendAll(t.Context(), text); !errors.Is(err, ErrSecondRelease) {
			t.Errorf("client %d sends another vector in the place of one: %v", client, err)
		}
	}
}

// sending is a client that only sends.
func (m *puppet) sending(number int, js jetstream.JetStream) *client {
	c := &client{JoinOptions: JoinOptions{Client: number, at: func(point) {}},
		about: &Announcement{Params: m.config.Model.NumParams(), Chunk: int(wire.MaxChunk)}, id: m.id, names: m.names, conn: m.conn, js: js,
		acked: map[int]ack{}}
	c.out = newSender(c)
	return c
}

// sendAll sends the updates of messages that travel together, until the stream has them.
func (c *client) sendAll(ctx context.Context, messages []byte) error {
	flying, err := c.out.launch(ctx, nil, releasesOf(messages, c.about.Params))
	for err == nil && len(flying) > 0 {
		flying, err = c.out.land(ctx, flying, nil)
	}
	return err
}

// releasesOf returns the releases of messages that travel together.
func releasesOf(messages []byte, params int) (all []outgoing) {
	for n := wire.HeaderSize + 4*params; len(messages) > 0; messages = messages[n:] {
		u := make([]float32, params)
		wire.Floats(u, messages[wire.HeaderSize:n])
		r := journal.Release{Round: int(messages[20]), Size: 6, Digest: wire.Digest(u)}
		all = append(all, outgoing{r, u})
	}
	return all
}
