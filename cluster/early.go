package cluster

import "github.com/nats-io/nats.go"

// The server applies an update of one message as soon as it receives it, before the stream has
// written it to disk. Nothing can be lost by that: the update stays in the client's journal until
// the server's saved state has it.
//
// A short update is sent twice: immediately and directly to the server, under the kind early, and a
// little later to the stream, together with others in one message. The reason is that each message
// costs the stream a flush to disk, however short it is. A longer update is sent once, to the
// stream. The server listens to the same subject.

// mostShort is the size in bytes of the largest vector of a short update. Flushing and sending two
// vectors of this size takes about as long as one.
const mostShort = 16 << 10

// isShort reports whether updates with this many parameters are short.
func isShort(params int) bool { return 4*params <= mostShort }

// sendEarly sends short releases of consecutive rounds directly to the server. If the server misses
// a release, it gets it from the stream.
func (w *writer) sendEarly(all []outgoing) {
	c := w.c
	if !isShort(c.about.Params) {
		return
	}
	for most := c.out.most; len(all) > 0; all = all[min(most, len(all)):] {
		message := w.message[:0]
		for _, o := range all[:min(most, len(all))] {
			c.at(beforePublish)
			message = c.about.chunk().Append(message, c.out.header(o.Release), o.u)
		}
		w.message = message
		if c.conn.Publish(c.names.early(c.Client, all[0].Round), message) == nil { // Publish copies the message
			c.out.count(len(message))
		}
	}
}

// At most mostEarly messages wait for the server, or fewer if that many would be longer than
// earlyBytes together. A client may send messages up to the broker's limit.
const (
	earlyBytes = 16 << 20
	mostEarly  = 64
)

// earlyRoom returns how many direct updates of the run may wait for the server. The result is 0 if an
// update needs several messages.
func (a *Announcement) earlyRoom() int {
	if a.chunks() > 1 {
		return 0
	}
	return min(mostEarly, earlyBytes/(4*a.Params))
}

// earlyKind is the kind of subjects under which the server receives updates before the stream has
// them.
func (s *server) earlyKind() string {
	if isShort(s.about.Params) {
		return earlyKind
	}
	return upKind
}

// takeEarly handles a message with updates that came before the stream had them. When the stream
// delivers them later, they are in already. If an update is refused here, or missed because there
// was no room, the server refuses or takes it when the stream delivers it.
func (s *server) takeEarly(m *nats.Msg) {
	if h, refusal, err := s.take(s.earlyKind(), m.Subject, m.Header, m.Data, 0); refusal != "" {
		s.log.Debug("not taken early", "why", string(refusal), "subject", m.Subject, "round", h.Number, "error", err)
	}
}

// takeEarlies handles all messages that wait in early.
func (s *server) takeEarlies() {
	for more := len(s.early); more > 0; more-- {
		s.takeEarly(<-s.early)
	}
}
