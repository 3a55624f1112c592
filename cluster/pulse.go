package cluster

import "time"

// A client is silent if the server listens and does not hear it. A server that was stopped, starved
// or disconnected hears nobody, and must not expel clients for that. Without precautions it would:
//
//   1. The server is suspended for an hour.
//   2. It resumes. By its clocks, all clients were silent for an hour.
//   3. It expels them before it reads their messages.
//
// So the server sends itself a heartbeat through the broker. When a heartbeat returns, the
// connection works, and all messages before it were read, because heartbeats and hellos are in one
// queue. Only the time between two returned heartbeats counts as silence. If more than two
// heartbeats are missing, the silence of all clients starts again from zero, because a client may
// need as long to notice that the server is back. The same silence decides whether a journal may be
// replaced, see replace.go.

// mostMissed is the longest time between two returned heartbeats that counts as silence.
const mostMissed = 3 * beat

// clock is the clock that measures silence. It stops while the state is saved: then the server reads
// nothing, although it is there.
func (s *server) clock() time.Time { return s.now().Add(-s.deaf) }

// silence returns how long a client had been silent when the last heartbeat returned.
func (s *server) silence(client int) time.Duration {
	since := s.listens
	if heard := s.clients[client].heard; heard.After(since) {
		since = heard
	}
	return s.pulsed.Sub(since)
}

// pulse publishes the server's heartbeat, which returns to the server itself, about once per beat.
func (s *server) pulse() {
	now := s.now()
	if now.Sub(s.sent) < beat {
		return
	}
	s.sent = now
	_ = s.conn.Publish(s.names.pulse(), nil) // a heartbeat that is lost counts as missing
}

// listened handles a heartbeat that returned to the server. It expels clients that were silent for
// longer than ExpelAfter.
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
			s.listens = now // try again after the same time
		}
	}
}
