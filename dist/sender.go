package dist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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

// flight is a release on its way, in one message.
type flight struct {
	outgoing
	sending
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
	for {
		queue := s.queue
		if len(flying) >= s.room {
			queue = nil // first the stream must have some
		}
		taken, refused := coming(flying)
		var err error
		select {
		case <-ctx.Done():
			return nil
		case all := <-s.more:
			for _, r := range all {
				if flying, err = s.launch(ctx, flying, outgoing{r, nil}); err != nil {
					break
				}
			}
		case o := <-queue:
			flying, err = s.launch(ctx, flying, o)
		case ack := <-taken:
			s.landed(flying[0].outgoing, ack.Sequence)
			flying = flying[1:]
		case failure := <-refused:
			flying, err = s.land(ctx, flying, flying[0].failed(failure))
		}
		if err != nil {
			return ended(ctx, err)
		}
	}
}

// coming returns what brings the answer to the oldest release on its way.
func coming(flying []flight) (taken <-chan *jetstream.PubAck, refused <-chan error) {
	if len(flying) == 0 {
		return nil, nil
	}
	ack := flying[0].ack
	if ack == nil { // it did not leave
		failed := make(chan error, 1)
		failed <- nats.ErrDisconnected
		return nil, failed
	}
	return ack.Ok(), ack.Err()
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

// launch sends a release of one message and does not wait for an answer; of a long one all
// is there when it returns.
func (s *sender) launch(ctx context.Context, flying []flight, o outgoing) ([]flight, error) {
	u, err := s.floats(o)
	if u == nil || err != nil {
		return flying, err
	}
	if wire.Chunks(len(u)) > 1 {
		last, err := s.long(ctx, o.Release, u)
		if err == nil {
			s.landed(o, last)
		}
		return flying, err
	}
	for err == nil && len(flying) >= s.room {
		flying, err = s.land(ctx, flying, nil)
	}
	if err != nil {
		return flying, err
	}
	s.c.at(beforePublish)
	message := s.header(o.Release).Append(nil, u)
	one := s.publish(s.c.names.up(s.c.Client, o.Round, 0), message)
	return append(flying, flight{o, one}), ctx.Err()
}

// publish sends a message; one that does not leave has no ack.
func (s *sender) publish(subject string, message []byte) sending {
	one, err := publish(s.c.js, subject, message)
	if err != nil {
		return sending{subject: subject, data: message}
	}
	s.count(len(message))
	return one
}

func (s *sender) count(bytes int) {
	s.c.mu.Lock()
	s.c.sent += int64(bytes)
	s.c.mu.Unlock()
}

// floats returns a release's vector; nil if it need not be sent any more.
func (s *sender) floats(o outgoing) ([]float32, error) {
	if o.u != nil {
		return o.u, nil
	}
	if s.u == nil {
		s.u = make([]float32, s.c.about.Params)
	}
	s.c.disk.Lock()
	defer s.c.disk.Unlock()
	r, ok := s.c.journal.Release(o.Round)
	if !ok {
		return nil, nil
	}
	return s.u, s.c.journal.Read(r, s.u)
}

// land waits until the stream has the oldest release, and sends again what it has not, at
// once if its answer was an error.
func (s *sender) land(ctx context.Context, flying []flight, failure error) ([]flight, error) {
	f := flying[0]
	var last uint64
	var err error
	if failure == nil {
		last, err = s.settle(ctx, f.Release, f.sending)
	} else {
		last, err = s.insist(ctx, f.Release, f.sending, failure)
	}
	if err != nil {
		return flying, err
	}
	s.landed(f.outgoing, last)
	return flying[1:], nil
}

// landed notes that the stream has a release.
func (s *sender) landed(o outgoing, last uint64) {
	s.c.at(afterAck)
	s.c.mu.Lock()
	s.c.acked[o.Round] = ack{last, time.Now()}
	s.c.mu.Unlock()
	if o.u != nil {
		s.free <- o.u
	}
}

// long sends a release of many messages, some at a time.
func (s *sender) long(ctx context.Context, r journal.Release, u []float32) (last uint64, err error) {
	h, chunks := s.header(r), wire.Chunks(len(u))
	s.c.at(beforePublish)
	var flying []sending
	for chunk := 0; chunk < chunks || len(flying) > 0; {
		if chunk < chunks && len(flying) < window {
			h.Chunk = chunk
			flying = append(flying, s.publish(s.c.names.up(s.c.Client, r.Round, chunk), h.Append(nil, u)))
			if chunk++; chunk == chunks/2 {
				s.c.at(insidePublish)
			}
			continue
		}
		message, err := s.settle(ctx, r, flying[0])
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
	message, err := one.wait(ctx)
	if err != nil {
		return s.insist(ctx, r, one, err)
	}
	return message, nil
}

// insist sends a message that the stream did not take, for the reason err, until it has it.
func (s *sender) insist(ctx context.Context, r journal.Release, one sending, err error) (uint64, error) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, beat) {
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
		one = s.publish(one.subject, one.data)
		var message uint64
		if message, err = one.wait(ctx); err == nil {
			return message, nil
		}
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
