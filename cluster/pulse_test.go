package cluster

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/broker"
)

// silenceServer returns a server that expels after five seconds by a clock of the test's, without
// a broker.
func silenceServer(t *testing.T) (s *server, wait func(time.Duration), hear func(client int)) {
	t.Helper()
	r := newTestRun(t, smallSpec(12), drawn())
	clock := time.Now()
	r.serve = func(o *ServeOptions) { o.ExpelAfter, o.now = LeastSilence, func() time.Time { return clock } }
	s = r.newServer()
	hear = func(client int) {
		text, err := json.Marshal(hello{Journal: "secret:00", Life: 1, Instance: "0123456789abcdef"})
		if err != nil {
			t.Fatal(err)
		}
		s.reply(t.Context(), &nats.Msg{Subject: s.names.hello(client), Data: text,
			Reply: inbox(broker.Client, client) + ".x"})
	}
	return s, func(d time.Duration) { clock = clock.Add(d) }, hear
}

// echo lets the server's heartbeat come back.
func (s *server) echo(t *testing.T) { s.reply(t.Context(), &nats.Msg{Subject: s.names.pulse()}) }

func (s *server) checkExpelled(t *testing.T, when string, want ...int) {
	t.Helper()
	var got []int
	for c, of := range s.record.Clients {
		if of.Expelled {
			got = append(got, c)
		}
	}
	if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
		t.Errorf("%s: expelled %v, must be %v", when, got, want)
	}
}

// A client is expelled if the server hears nothing from it for five seconds in which the server listens.
// The other clients, which it hears, are not expelled.
func TestSilenceIsCountedWhileTheServerListens(t *testing.T) {
	s, wait, hear := silenceServer(t)
	for second := range 5 {
		s.checkExpelled(t, "before five seconds")
		hear(0)
		hear(2)
		wait(beat)
		if s.echo(t); second == 2 {
			wait(mostMissed) // two heartbeats are missing, which may be
			hear(0)
			hear(2)
			if s.echo(t); s.silence(0) != 0 || s.silence(1) != 6*beat {
				t.Errorf("silence of %v of a client that was heard just now, of %v of one that never was", s.silence(0),
					s.silence(1))
			}
			break
		}
	}
	s.checkExpelled(t, "after six seconds", 1)
}

// A server that was stopped, suspended, without processor time or cut off for an hour heard nobody in that
// time. It expels nobody, because its clocks start again.
func TestAServerThatWasAwayExpelsNobody(t *testing.T) {
	s, wait, hear := silenceServer(t)
	for range 4 {
		wait(beat)
		s.echo(t)
	}
	s.checkExpelled(t, "after four seconds")
	wait(time.Hour) // no heartbeat comes back
	s.checkExpelled(t, "while it is away")
	for range 10 { // those that were on their way come at once, before the clients' hellos
		s.echo(t)
	}
	s.checkExpelled(t, "when it is back")
	for range 4 {
		wait(beat)
		s.echo(t)
	}
	s.checkExpelled(t, "four seconds later")
	hear(0)
	hear(1)
	wait(beat)
	s.echo(t)
	s.checkExpelled(t, "five seconds later", 2)
}

// The time in which the server saves its state does not count as silence of the clients, and does not
// reset their clocks.
func TestSavingIsNoSilence(t *testing.T) {
	s, wait, _ := silenceServer(t)
	for range 4 {
		wait(beat)
		s.echo(t)
	}
	s.at = func(p point) {
		if p == afterSave {
			wait(time.Minute)
		}
	}
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	s.at = func(point) {} // expelling saves, too
	wait(beat / 2)
	s.echo(t)
	s.checkExpelled(t, "after 4.5 seconds and a minute of saving")
	wait(beat / 2)
	s.echo(t)
	if s.checkExpelled(t, "after five seconds", 0, 1); s.record.Clients[2].Expelled {
		t.Error("the last client is expelled")
	}
}
