package cluster

import (
	"github.com/nats-io/nats.go"

	"proactivedp/cluster/internal/wire"
)

// An update of one message is in as soon as the server hears it, which is before the stream
// has it on disk: a round need not wait for that, since the update is in its client's journal
// until the server's state is saved with it. Short updates come under a subject of their own,
// past the stream, and the stream gets many of them together, a little later, since a message
// costs it a flush to disk however short it is. Others would be twice on the network so: of
// them the server hears what the stream is sent.

// mostShort is how many bytes the vector of a short update has at most: two of them take about
// as long to be flushed, and to be sent, as one.
const mostShort = 16 << 10

// isShort reports whether updates of so many parameters are short.
func isShort(params int) bool { return 4*params <= mostShort }

// sendEarly sends short releases, of rounds in a row, to the server past the stream. What the
// server does not hear so comes from the stream.
func (w *writer) sendEarly(all []outgoing) {
	c := w.c
	if !isShort(c.about.Params) {
		return
	}
	for most := c.out.most; len(all) > 0; all = all[min(most, len(all)):] {
		message := w.message[:0]
		for _, o := range all[:min(most, len(all))] {
			c.at(beforePublish)
			message = c.out.header(o.Release).Append(message, o.u)
		}
		w.message = message
		if c.conn.Publish(c.names.early(c.Client, all[0].Round), message) == nil { // which copies it
			c.out.count(len(message))
		}
	}
}

// Updates that the server has heard may wait in earlyBytes, and be mostEarly: a client may send
// messages as long as the broker takes them, of 1 MiB.
const (
	earlyBytes = 16 << 20
	mostEarly  = 64
)

// earlyRoom is how many updates of so many parameters may wait that came past the stream;
// none of updates of several messages.
func earlyRoom(params int) int {
	if wire.Chunks(params) > 1 {
		return 0
	}
	return min(mostEarly, earlyBytes/(4*params))
}

// earlyKind is the kind of subjects under which the server hears updates before they come from
// the stream.
func (s *server) earlyKind() string {
	if isShort(s.about.Params) {
		return earlyKind
	}
	return upKind
}

// takeEarly takes updates that the server has heard. When they come from the stream they are
// in. What is refused here, or is not heard because there was no room, is judged when it comes
// from the stream.
func (s *server) takeEarly(m *nats.Msg) {
	if h, refusal, err := s.take(s.earlyKind(), m.Subject, m.Header, m.Data, 0); refusal != "" {
		s.log.Debug("not taken early", "why", string(refusal), "subject", m.Subject, "round", h.Number, "error", err)
	}
}

// takeEarlies takes the updates that wait to be taken early.
func (s *server) takeEarlies() {
	for more := len(s.early); more > 0; more-- {
		s.takeEarly(<-s.early)
	}
}
