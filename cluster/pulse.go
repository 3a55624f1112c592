package cluster

import "time"

// A client is silent while the server listens and does not hear it. A server that was stopped,
// starved or disconnected hears nobody. It must not expel anybody for that, as it otherwise would:
// 1. the server stops for an hour, 2. it resumes, and its clocks say that all clients were silent
// for an hour, 3. it expels them before it reads their messages. So the server sends itself a
// heartbeat through the broker. When a heartbeat comes back, the connection is up and all messages
// before it were read, because heartbeats and hellos wait in one queue. The time between two
// returned heartbeats counts as silence. If more than two are missing between them, the silence of
// all clients starts again from zero, because a client may need as long to notice that the server
// is back. The same silence decides whether a journal may be replaced, see replace.go.

// mostMissed is the longest time between two heartbeats that counts as silence.
const mostMissed = 3 * beat

// clock is the time by which silence is counted. It stands still while the state is saved: the server
// reads nothing then, but is not away.
func (s *server) clock() time.Time { return s.now().Add(-s.deaf) }

// silence returns for how long a client was silent when the last heartbeat came back.
func (s *server) silence(client int) time.Duration {
	since := s.listens
	if heard := s.clients[client].heard; heard.After(since) {
		since = heard
	}
	return s.pulsed.Sub(since)
}

// pulse sends the server's heartbeat, about once in a beat.
func (s *server) pulse() {
	now := s.now()
	if now.Sub(s.sent) < beat {
		return
	}
	s.sent = now
	_ = s.conn.Publish(s.names.pulse(), nil) // a heartbeat that is lost counts as missing
}

// listened takes a heartbeat that came back, and expels clients that were silent for too long.
func (s *server) listened() {
	now := s.clock()
	passed := now.Sub(s.pulsed)
	s.pulsed = now
	if passed > mostMissed {
		s.log.Warn("heartbeats are missing", "seconds", passed.Seconds())
		s.listens = now
	}
	for c := range s.clients {
		r := &s.record.Clients[c]
		if s.ExpelAfter == 0 || r.Expelled || r.Ledger != nil || s.silence(c) < s.ExpelAfter {
			continue
		}
		if err := s.expelClient(c, "silent"); err != nil {
			s.log.Error("a silent client", "client", c, "error", err)
			s.listens = now // it is tried again when as long has passed
		}
	}
}
