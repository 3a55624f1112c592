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

// Refusal says why a message was refused.
type Refusal string

// The refusals. What an honest client sends is in none of them, but for TooLong with the
// probability refusalTail in a whole run.
const (
	NoUpdate     Refusal = "no update"      // not of the format, damaged, or of the broker's own making
	OtherRun     Refusal = "other run"      // an update of another run
	OtherSubject Refusal = "other subject"  // it says another client, round or chunk than its subject
	OutOfRange   Refusal = "out of range"   // a client, round, size or k that the run does not have
	OtherVector  Refusal = "other vector"   // chunks that do not make the vector that they say
	NotFinite    Refusal = "not finite"     // NaN or an infinity
	TooLong      Refusal = "norm too large" // longer than clipping, sampling and noise allow
	FromExpelled Refusal = "expelled"       // of a client that was expelled
)

// refusalTail is with which probability an update of a run in which all clients are honest
// is refused for its norm.
const refusalTail = 1e-12

// fold takes a message of the stream.
func (s *server) fold(ctx context.Context, m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		s.log.Warn("a message without a number", "error", err)
		return
	}
	at := meta.Sequence.Stream
	headers, data := m.Headers(), m.Data()
	if headed(s.about.Params) {
		length := headers.Get(lengthHeader)
		headers.Del(lengthHeader)
		if len(headers) == 0 && s.isIn(m.Subject(), length) {
			s.processed = max(s.processed, at)
			return
		}
		got, err := s.stored(ctx, fmt.Sprintf(`{"seq":%d}`, at))
		if err != nil { // what is not folded must not count as such: it is read again
			s.log.Warn("the broker", "error", err)
			s.retry()
			return
		}
		if got == nil { // it was taken away since
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
	// The place is the honest sender's again, if it was not that one.
	if err := s.up.stream.DeleteMsg(ctx, at); err != nil {
		s.log.Warn("what was refused was not deleted", "error", err)
	}
}

// leastHeaded is how many bytes updates have at least of which the stream first hands on the
// headers alone. What a broker may be made to publish in another's name is shorter, or has
// headers, and is so never taken for an update that is in: it is read, and refused.
const leastHeaded = 4 << 10

// headed reports whether of updates of so many parameters the stream hands on the headers: most
// have come past it before, see takeEarly, and the others are asked for.
func headed(params int) bool { return wire.Chunks(params) == 1 && 4*params >= leastHeaded }

// lengthHeader is the broker's header that says how long a message is whose headers come alone.
const lengthHeader = "Nats-Msg-Size"

// parseLength reads a length; 0 if it is none.
func parseLength(text string) int {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int(n)
}

// isIn reports whether all updates are in that a message of the subject and the length has.
func (s *server) isIn(subject, length string) bool {
	client, round, chunk, ok := s.names.parsePart(upKind, subject)
	n, each := parseLength(length), wire.HeaderSize+4*s.about.Params
	if !ok || chunk > 0 || n <= 0 || n%each != 0 || n > wire.MaxMessage {
		return false
	}
	for i := range n / each {
		if !s.machine.Has(client, round+i) {
			return false
		}
	}
	return true
}

// take takes the updates of a message under a subject of that kind, of that number in the
// stream: one or more, or a part of a long one. What is behind an update that is refused is
// not looked at.
func (s *server) take(kind, subject string, headers nats.Header, data []byte, at uint64) (wire.Header, Refusal, error) {
	client, round, chunk, ok := s.names.parsePart(kind, subject)
	if !ok {
		return wire.Header{}, OtherSubject, nil
	}
	if len(headers) > 0 { // no client sends any; a broker's answers have them
		return wire.Header{}, NoUpdate, errors.New("it has headers")
	}
	for {
		h, floats, rest, err := wire.Next(data)
		if err != nil {
			return h, NoUpdate, err
		}
		if len(rest) > 0 && wire.Chunks(h.Params) > 1 {
			return h, NoUpdate, errors.New("a part of a long update travels with others")
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

// add adds a part of an update, or all of it, which is applied if that makes it whole.
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
		a = new(assembly)
		s.assemblies[h.Client] = a
	}
	if about, begun := a.About(); !begun {
		a.first = at
	} else if about.Number != h.Number {
		// A client sends one update after the other. What it began before comes again,
		// from the stream or from its journal, when the server or the client looks next.
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

// judge refuses a vector that no honest client releases.
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
