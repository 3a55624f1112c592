package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/wire"
)

// Clients send each short release directly to the server, in order and once, in addition to the stream.
// Longer releases are only published to the stream.
func TestShortReleasesGoPastTheStream(t *testing.T) {
	for _, features := range []int{20, 5000} {
		b, err := broker.Engine{Listen: "127.0.0.1:0", StoreDir: t.TempDir()}.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		c, err := b.Connect(t.Context(), broker.Peer{Name: "listener", Inbox: inbox(broker.Client, 0)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		heard, err := c.SubscribeSync(subjectRoot + ".*." + earlyKind + ".>")
		if err := errors.Join(err, c.Flush()); err != nil {
			t.Fatal(err)
		}
		r := newTestRun(t, smallSpec(30), wide(features))
		r.serve = func(o *ServeOptions) { o.Engine = broker.Engine{URL: b.URL()} }
		r.run(t.Context())
		next := map[int]int{} // by client
		for left := 90; isShort(features) && left > 0; {
			m, err := heard.NextMsg(enough)
			if err != nil {
				t.Fatalf("rounds by client: %v: %v", next, err)
			}
			for data := m.Data; len(data) > 0; left-- {
				h, _, rest, err := wire.MaxChunk.Next(data)
				if err != nil || h.Number != next[h.Client] {
					t.Fatalf("%s: round %d of client %d, after %v: %v", m.Subject, h.Number, h.Client, next, err)
				}
				next[h.Client]++
				data = rest
			}
		}
		if n, _, err := heard.Pending(); n > 0 || err != nil {
			t.Errorf("%d features: %d messages more: %v", features, n, err)
		}
	}
}

// If the broker does not allow clients to send directly to the server, as with an older configuration, the
// server gets the updates from the stream.
func TestWithoutLeaveToGoPastTheStream(t *testing.T) {
	r := newTestRun(t, smallSpec(10), drawn())
	keys := r.secure()
	ring, err := broker.ReadKeyring(keys)
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Engine{Listen: "127.0.0.1:0", StoreDir: t.TempDir(), Keyring: ring,
		Allow: func(u broker.User) broker.Permissions {
			may := Allow(u)
			may.Publish = slices.DeleteFunc(may.Publish, func(s string) bool { return strings.Contains(s, earlyKind) })
			return may
		}}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	r.serve = func(o *ServeOptions) { o.Engine, o.Creds = broker.Engine{URL: b.URL()}, r.creds(keys, "server") }
	join := r.join
	r.join = func(o *JoinOptions) {
		join(o)
		o.connect = func(ctx context.Context, p broker.Peer) (*nats.Conn, error) { return broker.Dial(ctx, b.URL(), p) }
	}
	report, _ := r.run(t.Context())
	r.checkFold(report)
	if len(report.Refused) > 0 {
		t.Errorf("refused: %v", report.Refused)
	}
}

// Short releases are collected until there are enough for one message, or until they have waited long
// enough. A long release does not wait.
func TestTheStreamGetsShortReleasesTogether(t *testing.T) {
	for params, enough := range map[int]int{68: 512, 4096: 31, 4097: 1} {
		s := newSender(&client{about: &Announcement{Params: params, Chunk: int(wire.MaxChunk)}})
		for n := 1; n < enough; n++ {
			if s.wait(make([]outgoing, 1)) || s.due == nil {
				t.Fatalf("%d parameters: %d releases do not wait, or for ever", params, n)
			}
		}
		if !s.wait(make([]outgoing, 1)) || len(s.waiting) != enough {
			t.Errorf("%d parameters: %d releases wait on", params, len(s.waiting))
		}
		if most := wire.MaxChunk.Together(params); enough > most || enough > s.room {
			t.Errorf("%d parameters: %d wait, a message takes %d, there are %d vectors", params, enough, most, s.room)
		}
	}
	r := newTestRun(t, smallSpec(8), drawn())
	r.listen = "127.0.0.1:0"
	m, _ := r.serveAlone(t.Context())
	js, err := jetstream.New(m.conn)
	if err != nil {
		t.Fatal(err)
	}
	c := m.sending(1, js)
	all := releasesOf(m.message(1, 0, 1, 2, 3, 4), c.about.Params)
	for _, one := range all {
		if c.out.wait([]outgoing{one}) {
			t.Error("five releases do not wait")
		}
	}
	<-c.out.due
	flying, err := c.out.launchWaiting(t.Context(), nil)
	if err != nil || len(flying) != 1 || len(flying[0].releases) != 5 || c.out.due != nil || len(c.out.waiting) != 0 {
		t.Fatalf("%d messages: %v", len(flying), err)
	}
	if _, err := c.out.land(t.Context(), flying, nil); err != nil || len(c.acked) != 5 {
		t.Errorf("%v, acknowledged %v", err, c.acked)
	}
	if s := m.untilIn(t.Context(), 5); s.Clients[1].Next != 5 || len(s.Refused) > 0 {
		t.Errorf("%+v", s)
	}
}

// The server applies a short update as soon as the client has sent it. In this test no stream ever
// contains it. A message that no honest client sends is not applied this way, and is only counted when it
// is read from the stream.
func TestAShortUpdateDoesNotWaitForTheStream(t *testing.T) {
	r := newTestRun(t, smallSpec(4), drawn())
	r.listen = "127.0.0.1:0"
	ctx, stop := context.WithTimeout(t.Context(), enough)
	defer stop()
	ended := make(chan error, 1)
	o := r.serveOptions()
	go func() {
		_, err := Serve(ctx, o)
		ended <- err
	}()
	<-r.ready
	m := newPuppet(ctx, t, r)
	defer m.conn.Close()
	if err := m.js.DeleteStream(ctx, m.names.upStream()); err != nil {
		t.Fatal(err)
	}
	operator, err := Operate(ctx, r.broker.URL(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	u := make([]float32, m.config.Model.NumParams())
	send := func(client, round int, h wire.Header) {
		h.Kind, h.Run, h.Client, h.Number, h.Size, h.Digest = wire.Update, m.id, client, round, 6, wire.Digest(u)
		if err := m.conn.Publish(m.names.early(client, round), wire.MaxChunk.Append(nil, h, u)); err != nil {
			t.Fatal(err)
		}
	}
	send(0, 0, wire.Header{Newest: 1}) // k behind the round
	send(0, 1, wire.Header{})
	send(1, 0, wire.Header{})
	var s *Status
	for s == nil || s.Updates < 2 && ctx.Err() == nil {
		if s, err = operator.Status(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if s.Clients[0].Next != 0 || s.Clients[1].Next != 1 || s.Updates != 2 || s.Received != 2*wire.MaxChunk.Bytes(len(u)) ||
		len(s.Refused) != 0 {
		t.Errorf("%+v", s)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
