package cluster

import (
	"github.com/nats-io/nats.go"

	"proactivedp/cluster/internal/wire"
)

// The server takes an update of one message as soon as it hears it, before the stream has it on
// disk. Nothing is lost by that: the update stays in its client's journal until the server's
// saved state has it.
//
// A short update is sent twice: at once past the stream, under the kind early, and a little later
// to the stream, in one message with others. For a message costs the stream a flush to disk
// however short it is. A longer update is sent once, to the stream, and the server listens to
// the same subject.

// mostShort is the largest vector of a short update in bytes. Flushing and sending two of that size
// takes about as long as one.
const mostShort = 16 << 10

// isShort reports whether updates of so many parameters are short.
func isShort(params int) bool { return 4*params <= mostShort }

// sendEarly sends short releases, of rounds in a row, to the server past the stream. If the server does
// not hear one, it comes from the stream.
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

// At most mostEarly messages wait for the server, and fewer if as many updates were longer than
// earlyBytes together. A client may send messages up to the broker's limit of 1 MiB.
const (
	earlyBytes = 16 << 20
	mostEarly  = 64
)

// earlyRoom returns how many updates of so many parameters may wait that came past the stream. It is 0
// for updates of several messages.
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

// takeEarly takes updates that came past the stream. When they come from the stream, they are in
// already. An update that is refused here, or is not heard because there was no room, counts as
// refused or is taken only when it comes from the stream.
func (s *server) takeEarly(m *nats.Msg) {
	if h, refusal, err := s.take(s.earlyKind(), m.Subject, m.Header, m.Data, 0); refusal != "" {
		s.log.Debug("not taken early", "why", string(refusal), "subject", m.Subject, "round", h.Number, "error", err)
	}
}

// takeEarlies takes all updates that wait in early.
func (s *server) takeEarlies() {
	for more := len(s.early); more > 0; more-- {
		s.takeEarly(<-s.early)
	}
}
