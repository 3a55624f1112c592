package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/wire"
)

// The client's journal keeps the number of lost journals. So a lost folder still counts if the server has
// forgotten it, as after it was restored from an older copy, and if the flag is not given again.
func TestALostJournalThatTheServerForgotIsCounted(t *testing.T) {
	t.Parallel()
	const rounds, stopped = 12, 4
	r := newTestRun(t, smallSpec(rounds), drawn())
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	served := r.startOthers(ctx, cancel)
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
	checkReplaced(t, joined, report, 2*rounds)
}

// The client counts the largest number of lost journals that the server has ever announced, even if the
// server later announces fewer. An impossible number is refused.
func TestTheMostLostJournalsThatWereHeardOfAreCounted(t *testing.T) {
	r := newTestRun(t, smallSpec(12), drawn())
	for _, said := range []struct{ server, want int }{{0, 0}, {2, 2}, {0, 2}, {1, 2}, {3, 3}} {
		c, err := newClient(r.joinOptions(0))
		if err != nil {
			t.Fatal(err)
		}
		c.about = &Announcement{Rounds: 12, Chunk: int(wire.MaxChunk)}
		err = errors.Join(c.journal.Pin([]byte("run"), 0, 3), c.takeOver(&answer{Replaced: said.server, Highest: -1}))
		if got := c.journal.Replaced(); err != nil || got != said.want {
			t.Errorf("the server says %d: %d are counted, want %d; %v", said.server, got, said.want, err)
		}
		if err := c.journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// If a client says that its rounds are lost, the server cannot verify it, so this does not end the
// training of the others. The status shows it. The run ends only when nothing but that client holds it up.
func TestOneHelloDoesNotEndTheRun(t *testing.T) {
	s := newTestRun(t, smallSpec(12), drawn()).newServer()
	s.offered = 0 // as by the first broadcast
	s.hear(question{m: &nats.Msg{}, client: 1, hello: hello{Journal: "secret:0123456789abcdef0123456789abcdef", Life: 1,
		Instance: "x", First: true, Oldest: 5, Next: 9}})
	s.clients[1].lost = s.clients[1].lost.Add(-2 * linger)
	apply := func(client, round int) {
		t.Helper()
		h := wire.Header{Client: client, Number: round, Size: 6}
		if err := s.apply(h, make([]float32, s.about.Params)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, ends bool) {
		t.Helper()
		err := s.checkLost()
		if ends != errors.Is(err, ErrLost) || !ends && err != nil {
			t.Errorf("%s: %v", when, err)
		}
		if n := s.status().Clients[1].Lost; n != 5 {
			t.Errorf("%s: the status says that %d rounds are lost, want 5", when, n)
		}
	}
	check("others have not begun", false)
	apply(0, 0)
	s.first = s.first.Add(-2 * linger)
	check("client 2 has not begun", false)
	apply(2, 0)
	check("the others go on", false)
	s.first = s.first.Add(-2 * linger)
	check("the others wait", true)
	s.record.Clients[1].Expelled = true
	s.machine.Expel(1)
	if err := s.checkLost(); err != nil {
		t.Errorf("expelled: %v", err)
	}
}

// A client's first message (hello) with a number that the run cannot have is refused, and the error names
// that number.
func TestHellosOfImpossibleRoundsAreRefused(t *testing.T) {
	s := newTestRun(t, smallSpec(12), drawn()).newServer()
	for want, change := range map[string]func(h *hello){
		"":                               func(*hello) {},
		"next = 13, must be in [0, 12]":  func(h *hello) { h.Next = 13 },
		"next = 92":                      func(h *hello) { h.Next = math.MaxInt64 },
		"newest = 13, must be in [0, 12": func(h *hello) { h.Newest = 13 },
		"newest = -1, must be":           func(h *hello) { h.Newest = -1 },
		"oldest = 10, must be in [0, 9]": func(h *hello) { h.Oldest = 10 },
		"life = 4294967296, must be":     func(h *hello) { h.Life = 1 << 32 },
	} {
		h := hello{Journal: "secret:0123456789abcdef0123456789abcdef", Life: 1, Instance: "x", Oldest: 5, Next: 9}
		change(&h)
		if got := s.refuses(1, h); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("refused as %q, want %q", got, want)
		}
	}
}

// A client that was expelled while its process was suspended reports the expulsion when it resumes. It
// does so even if, before the answer to its hello, it gets a broadcast that would be impossible for a
// client of the run.
func TestASuspendedClientSaysThatItWasExpelled(t *testing.T) {
	r := newTestRun(t, smallSpec(12), drawn())
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	b, err := broker.Engine{StoreDir: t.TempDir()}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	close(r.ready)
	r.broker = b
	for _, says := range []struct {
		answer answer
		want   error
		text   string
	}{
		{answer{Gone: true, Error: "it was expelled"}, ErrExpelled, "client 0"},
		{answer{Error: "another journal has replaced this one"}, ErrRefused, "replaced this one"},
		{answer{K: 9, Next: 9, Highest: 8}, ErrSecondRelease, "k = 9"},
	} {
		c, err := newClient(r.joinOptions(0))
		if err != nil {
			t.Fatal(err)
		}
		c.about = &Announcement{Run: "0123456789abcdef0123456789abcdef", Rounds: 12,
			Chunk: int(wire.MaxChunk)}
		c.names, c.prepared = c.about.names(), prepare(t, r.spec, r.data)
		if err := errors.Join(c.connectTo(ctx), c.build()); err != nil {
			t.Fatal(err)
		}
		_, c.server = newSilence(ctx, 0, c.log)
		text, err := json.Marshal(says.answer)
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.conn.Subscribe(c.names.hello(0), func(m *nats.Msg) { _ = m.Respond(text) })
		if err != nil {
			t.Fatal(err)
		}
		v := c.models.initial(c.prepared.Config)
		if err := c.received(ctx, broadcastOf{k: 9, v: v}); !errors.Is(err, says.want) ||
			!strings.Contains(err.Error(), says.text) {
			t.Errorf("the server answers %+v: %v", says.answer, err)
		}
		c.server.stop()
		if err := errors.Join(s.Unsubscribe(), c.journal.Close()); err != nil {
			t.Fatal(err)
		}
		c.conn.Close()
	}
}
