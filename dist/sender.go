package dist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"proactivedp/dist/internal/journal"
	"proactivedp/dist/internal/wire"
)

// sender sends a client's releases, in order, each until the stream has it.
type sender struct {
	c     *client
	queue chan outgoing // carries new releases
	more  chan []journal.Release
	free  chan []float32 // carries vectors that may be written
	made  int
	room  int
	u     []float32 // what is read from the journal
}

// outgoing is a release to be sent; its vector is nil if it is to be read from the journal.
type outgoing struct {
	journal.Release
	u []float32
}

// flight is a release on its way: its messages, and what has it.
type flight struct {
	outgoing
	sent []sending
}

// memoryOut is about how many bytes of releases a client holds in memory to be sent.
const memoryOut = 16 << 20

func newSender(c *client) *sender {
	room := max(2, min(4*window, memoryOut/(4*c.about.Params)))
	return &sender{c: c, queue: make(chan outgoing, room), more: make(chan []journal.Release, 1),
		free: make(chan []float32, room), room: room}
}

// vector returns a vector that the client may write.
func (s *sender) vector(ctx context.Context) ([]float32, error) {
	if s.made < s.room && len(s.free) == 0 {
		s.made++
		return make([]float32, s.c.about.Params), nil
	}
	select {
	case u := <-s.free:
		return u, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// send hands a release over.
func (s *sender) send(ctx context.Context, r journal.Release, u []float32) error {
	select {
	case s.queue <- outgoing{r, u}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// again asks to send a release from the journal.
func (s *sender) again(r journal.Release) {
	var all []journal.Release
	select {
	case all = <-s.more:
	default:
	}
	s.more <- append(all, r)
}

// run sends until the context ends.
func (s *sender) run(ctx context.Context) error {
	var flying []flight
	land := func() error {
		f := flying[0]
		flying = flying[1:]
		return s.land(ctx, f)
	}
	for {
		var next []outgoing
		var landed <-chan time.Time
		if len(flying) > 0 {
			landed = time.After(0)
		}
		select {
		case <-ctx.Done():
			return nil
		case all := <-s.more:
			for _, r := range all {
				next = append(next, outgoing{r, nil})
			}
		case o := <-s.queue:
			next = append(next, o)
		case <-landed:
			if err := land(); err != nil {
				return ended(ctx, err)
			}
			continue
		}
		for _, o := range next {
			f, err := s.launch(ctx, o)
			if err != nil {
				return ended(ctx, err)
			}
			flying = append(flying, f)
			// A long update is whole before the next begins.
			for len(flying) > 0 && (len(flying) >= s.room || len(f.sent) == 0 || wire.Chunks(s.c.about.Params) > 1) {
				if err := land(); err != nil {
					return ended(ctx, err)
				}
			}
		}
	}
}

// ended leaves out errors that come of the context's end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// header is a release's, of its first message.
func (s *sender) header(r journal.Release) wire.Header {
	return wire.Header{Kind: wire.Update, Run: s.c.id, Client: s.c.Client, Number: r.Round, Newest: r.Newest,
		Size: r.Size, Params: s.c.about.Params, Digest: r.Digest}
}

// launch sends a release of one message and does not wait; of a long one nothing is sent
// yet.
func (s *sender) launch(ctx context.Context, o outgoing) (flight, error) {
	f := flight{outgoing: o}
	if wire.Chunks(s.c.about.Params) > 1 {
		return f, nil
	}
	u, err := s.floats(o)
	if err != nil {
		return f, err
	}
	s.c.at(beforePublish)
	message := s.header(o.Release).Append(nil, u)
	one, err := publish(s.c.js, s.c.names.up(s.c.Client, o.Round, 0), message)
	if err != nil { // land tries again
		one = sending{subject: s.c.names.up(s.c.Client, o.Round, 0), data: message}
	}
	s.count(len(message))
	f.sent = []sending{one}
	return f, ctx.Err()
}

func (s *sender) count(bytes int) {
	s.c.mu.Lock()
	s.c.sent += int64(bytes)
	s.c.mu.Unlock()
}

// floats returns a release's vector.
func (s *sender) floats(o outgoing) ([]float32, error) {
	if o.u != nil {
		return o.u, nil
	}
	if s.u == nil {
		s.u = make([]float32, s.c.about.Params)
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.u, s.c.journal.Read(o.Release, s.u)
}

// land waits until the stream has a release, and sends again what it has not.
func (s *sender) land(ctx context.Context, f flight) error {
	last := uint64(0)
	var err error
	if len(f.sent) == 1 {
		last, err = s.settle(ctx, f.Release, f.sent[0])
	} else {
		last, err = s.long(ctx, f.outgoing)
	}
	if err != nil {
		return err
	}
	s.c.at(afterAck)
	s.c.mu.Lock()
	s.c.acked[f.Round] = ack{last, time.Now()}
	s.c.mu.Unlock()
	if f.u != nil {
		s.free <- f.u
	}
	return nil
}

// long sends a release of many messages, some at a time.
func (s *sender) long(ctx context.Context, o outgoing) (last uint64, err error) {
	u, err := s.floats(o)
	if err != nil {
		return 0, err
	}
	h, chunks := s.header(o.Release), wire.Chunks(len(u))
	s.c.at(beforePublish)
	var flying []sending
	for chunk := 0; chunk < chunks || len(flying) > 0; {
		if chunk < chunks && len(flying) < window {
			h.Chunk = chunk
			message := h.Append(nil, u)
			subject := s.c.names.up(s.c.Client, o.Round, chunk)
			one, err := publish(s.c.js, subject, message)
			if err != nil {
				one = sending{subject: subject, data: message}
			}
			s.count(len(message))
			flying = append(flying, one)
			if chunk++; chunk == chunks/2 {
				s.c.at(insidePublish)
			}
			continue
		}
		message, err := s.settle(ctx, o.Release, flying[0])
		if err != nil {
			return 0, err
		}
		last = max(last, message)
		flying = flying[1:]
	}
	return last, nil
}

// settle waits until the stream has a message, and sends it again until then.
func (s *sender) settle(ctx context.Context, r journal.Release, one sending) (uint64, error) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, beat) {
		var err error = nats.ErrDisconnected
		if one.ack != nil {
			var message uint64
			if message, err = one.wait(ctx); err == nil {
				return message, nil
			}
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if errors.Is(err, errTaken) {
			same, err := s.same(ctx, r, one)
			if same || err != nil {
				return 0, err
			}
		}
		if err := pause(ctx, wait); err != nil {
			return 0, err
		}
		again, err := publish(s.c.js, one.subject, one.data)
		if err != nil {
			one.ack = nil
			continue
		}
		one = again
		s.count(len(one.data))
	}
}

// same reports whether what the stream has is the message. Another one that the server
// has folded and left there is the end: somebody has released the round as well. What is
// not the client's the server deletes when it comes to it.
func (s *sender) same(ctx context.Context, r journal.Release, one sending) (bool, error) {
	s.c.mu.Lock()
	folded := s.c.folded
	s.c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m, err := s.c.conn.RequestWithContext(ctx, direct(s.c.names.upStream(), one.subject), nil)
	if err != nil || m.Header.Get("Status") != "" {
		return false, nil // it is away, or nobody answers: then it is sent again
	}
	if bytes.Equal(m.Data, one.data) {
		return true, nil
	}
	at, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err == nil && at <= folded {
		return false, fmt.Errorf("%w: round %d of client %d is there with another vector", ErrSecondRelease, r.Round,
			s.c.Client)
	}
	return false, nil
}
