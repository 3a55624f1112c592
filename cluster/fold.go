package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/internal/wire"
	"proactivedp/internal/f32"
	"proactivedp/models"
)

// Refusal is a reason for which the server refuses a client's message, such as a damaged one. [Report] and [Status]
// count the refused messages by reason.
type Refusal string

// These are the reasons to refuse a message. They show a fault or an attack: honest clients send no such message,
// with one exception. By chance, noise can make an update TooLong. The probability that this happens in a whole run
// is at most 10⁻¹². An update that is too long for one message of the broker is sent in several messages, its parts.
const (
	// NoUpdate is for a message that is damaged or not in this package's format, or for an automatic answer of the
	// broker.
	NoUpdate Refusal = "no update"
	OtherRun Refusal = "other run" // an update of another run, for example of an earlier one at the same broker
	// OtherSubject is for an update whose client, round or part differs from those in its address at the broker (its
	// NATS subject).
	OtherSubject Refusal = "other subject"
	// OutOfRange is for an update with the number of a client, a round or a global model, or a size, that the run
	// cannot have.
	OutOfRange   Refusal = "out of range"
	OtherVector  Refusal = "other vector"   // parts of one round that do not belong to the same update
	NotFinite    Refusal = "not finite"     // an update with NaN or an infinity
	TooLong      Refusal = "norm too large" // an update whose norm is larger than clipping, batch size and noise allow
	FromExpelled Refusal = "expelled"       // a message from a client that was expelled
)

// refusalTail bounds the probability that a run with only honest clients has an update that is
// refused for its norm.
const refusalTail = 1e-12

// fold handles a message of the stream: it applies those of its updates that the server does not
// have yet.
func (s *server) fold(ctx context.Context, m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		s.log.Warn("a message without a number", "error", err)
		return
	}
	at := meta.Sequence.Stream
	headers, data := m.Headers(), m.Data()
	if s.about.headed() {
		length := headers.Get(lengthHeader)
		headers.Del(lengthHeader)
		if len(headers) == 0 && s.isIn(m.Subject(), length) {
			s.processed = max(s.processed, at)
			return
		}
		got, err := s.stored(ctx, fmt.Sprintf(`{"seq":%d}`, at))
		if err != nil { // the message must not count as folded, so the stream is read again
			s.log.Warn("the broker", "error", err)
			s.retry()
			return
		}
		if got == nil { // it has been deleted
			s.processed = max(s.processed, at)
			return
		}
		data = got.Data
	}
	h, refusal, err := s.take(upKind, m.Subject(), headers, data, at)
	s.processed = max(s.processed, at)
	if refusal == "" {
		return
	}
	s.record.refuse(refusal)
	client, _, _, ok := s.names.parsePart(upKind, m.Subject())
	if ok && client < len(s.clients) {
		s.clients[client].refused++
	}
	s.log.Warn("refused", "why", string(refusal), "subject", m.Subject(), "round", h.Number, "error", err)
	ctx, cancel := context.WithTimeout(ctx, upkeep)
	defer cancel()
	// If somebody else sent the message, the honest client can use the subject again after this.
	if err := s.up.stream.DeleteMsg(ctx, at); err != nil {
		s.log.Warn("a refused message was not deleted", "error", err)
	}
}

// leastHeaded is the smallest size in bytes of updates for which the stream first delivers only
// headers. By the message's length, the server then recognises an update that it already has, and
// skips it. A broker can be made to publish messages in another's name, but these are shorter or
// have headers. So such a message is not skipped: it is read and refused.
const leastHeaded = 4 << 10

// headed reports whether the stream delivers only the headers of the run's updates.
// The server already has most of these updates directly, see takeEarly. It asks for the others.
func (a *Announcement) headed() bool { return a.chunks() == 1 && 4*a.Params >= leastHeaded }

// lengthHeader is the header in which the broker gives the length of a message if it sends only
// headers.
const lengthHeader = "Nats-Msg-Size"

// parseLength reads a length. It returns 0 if the text is not a length.
func parseLength(text string) int {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int(n)
}

// isIn reports whether all updates of a message with this subject and length are already in.
func (s *server) isIn(subject, length string) bool {
	client, round, chunk, ok := s.names.parsePart(upKind, subject)
	n, each := parseLength(length), wire.HeaderSize+4*s.about.Params
	if !ok || chunk > 0 || n <= 0 || n%each != 0 || n > s.about.chunk().MaxMessage() {
		return false
	}
	for i := range n / each {
		if !s.machine.Has(client, round+i) {
			return false
		}
	}
	return true
}

// take applies the updates of a message: one or more, or a part of a long one. kind is the kind of
// the message's subject, and at its number in the stream. If an update is refused, the updates after
// it are not read.
func (s *server) take(kind, subject string, headers nats.Header, data []byte, at uint64) (wire.Header, Refusal, error) {
	client, round, chunk, ok := s.names.parsePart(kind, subject)
	if !ok {
		return wire.Header{}, OtherSubject, nil
	}
	if len(headers) > 0 { // clients send no headers, but a broker's answers have them
		return wire.Header{}, NoUpdate, errors.New("it has headers")
	}
	for {
		h, floats, rest, err := s.about.chunk().Next(data)
		if err != nil {
			return h, NoUpdate, err
		}
		if len(rest) > 0 && s.about.chunk().Chunks(h.Params) > 1 {
			return h, NoUpdate, errors.New("a part of a long update is in one message with others")
		}
		if h.Kind == wire.Update && h.Run == s.run && (h.Client != client || h.Number != round || h.Chunk != chunk) {
			return h, OtherSubject, nil
		}
		if refusal, err := s.add(h, floats, at); refusal != "" || len(rest) == 0 {
			return h, refusal, err
		}
		data = rest
		round++
	}
}

// add adds an update or a part of one. It applies the update when all parts are there.
func (s *server) add(h wire.Header, floats []byte, at uint64) (Refusal, error) {
	switch {
	case h.Kind != wire.Update:
		return NoUpdate, nil
	case h.Run != s.run:
		return OtherRun, nil
	case h.Client >= len(s.clients) || h.Number >= s.about.Rounds || h.Params != s.about.Params ||
		h.Size != s.mech.Sizes.At(h.Number) || h.Newest > h.Number:
		return OutOfRange, nil
	case s.machine.Has(h.Client, h.Number):
		return "", nil
	case s.record.Clients[h.Client].Expelled:
		return FromExpelled, nil
	}
	a := s.assemblies[h.Client]
	if a == nil {
		a = &assembly{Assembly: wire.Assembly{Chunk: s.about.chunk()}}
		s.assemblies[h.Client] = a
	}
	if about, begun := a.About(); !begun {
		a.first = at
	} else if about.Number != h.Number {
		// A client sends its updates one after the other. So the update that it began before will
		// come again: from the stream when the server reads it again, or from the client's journal.
		a.Reset()
		a.first = at
	}
	whole, err := a.Add(h, floats)
	if err != nil {
		return OtherVector, err
	}
	if !whole {
		return "", nil
	}
	if refusal, err := s.judge(h, a.X); refusal != "" {
		return refusal, err
	}
	if err := s.apply(h, a.X); err != nil {
		return OutOfRange, err
	}
	return "", nil
}

// judge refuses a vector that no honest client can have released.
func (s *server) judge(h wire.Header, u []float32) (Refusal, error) {
	norm := math.Sqrt(f32.SumSquares(u)) // in float64, so it is finite if u is
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return NotFinite, models.CheckFinite(u)
	}
	tail := refusalTail / float64(s.about.Rounds) / float64(len(s.clients))
	most, err := s.mech.LargestRelease(h.Size, s.about.Params, tail)
	if err != nil {
		return TooLong, err
	}
	if !(norm <= most) {
		return TooLong, fmt.Errorf("its norm is %.4g, must be at most %.4g", norm, most)
	}
	return "", nil
}
