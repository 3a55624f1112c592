package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/internal/journal"
	"proactivedp/cluster/internal/wire"
)

// sender sends a client's releases in order. It sends each until the stream has it.
type sender struct {
	c       *client
	queue   chan []outgoing // new releases
	more    chan []journal.Release
	free    chan []float32   // vectors that may be written
	made    int              // the number of vectors
	room    int              // the most vectors
	most    int              // the most releases in a message
	waiting []outgoing       // short releases that will go to the stream in one message
	due     <-chan time.Time // fires when they must be sent; nil if none waits
	u       []float32        // buffer for a release read from the journal
	spare   [][]byte         // buffers of messages that the stream has
}

// outgoing is a release to send. If its vector is nil, it is read from the journal.
type outgoing struct {
	journal.Release
	u []float32
}

// flight is a message on its way. It has releases of consecutive rounds.
type flight struct {
	releases []outgoing
	sending
}

const (
	// memoryOut is about how many bytes of unsent releases a client holds in memory, in addition to
	// two releases. mostOut is the largest number of them, which matters if they are short.
	memoryOut = 16 << 20
	mostOut   = 1024
	// mostFlying is how many messages may be on their way at a time. It is less if they are long.
	mostFlying = 4 * window
	// gather is how long a short release waits for others to share its message to the stream.
	gather = 20 * time.Millisecond
)

func newSender(c *client) *sender {
	room := mostFlying
	if isShort(c.about.Params) {
		room = mostOut
	}
	room = max(2, min(room, memoryOut/(4*c.about.Params)))
	return &sender{c: c, queue: make(chan []outgoing, 1), more: make(chan []journal.Release, 1),
		free: make(chan []float32, room), room: room, most: c.about.chunk().Together(c.about.Params)}
}

// vector returns a vector that the client may write, or nil if none is free yet.
func (s *sender) vector() []float32 {
	select {
	case u := <-s.free:
		return u
	default:
	}
	if s.made == s.room {
		return nil
	}
	s.made++
	return make([]float32, s.c.about.Params)
}

// waitVector returns a vector that the client may write as soon as one is free.
func (s *sender) waitVector(ctx context.Context) ([]float32, error) {
	select {
	case u := <-s.free:
		return u, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// send queues releases, in the order of their rounds.
func (s *sender) send(ctx context.Context, all []outgoing) error {
	select {
	case s.queue <- all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// again makes run send the release r, which the journal has, again.
func (s *sender) again(r journal.Release) {
	var all []journal.Release
	select {
	case all = <-s.more:
	default:
	}
	s.more <- append(all, r)
}

// run sends the queued releases until the context ends.
func (s *sender) run(ctx context.Context) error {
	var flying []flight
	for {
		queue := s.queue
		if s.full(flying) {
			queue = nil // wait until the stream has taken some
		}
		taken, refused := coming(flying)
		var err error
		select {
		case <-ctx.Done():
			return nil
		case all := <-s.more:
			old := make([]outgoing, len(all))
			for i, r := range all {
				old[i].Release = r
			}
			flying, err = s.launch(ctx, flying, old)
		case all := <-queue:
			if s.wait(all) {
				flying, err = s.launchWaiting(ctx, flying)
			}
		case <-s.due:
			flying, err = s.launchWaiting(ctx, flying)
		case ack := <-taken:
			s.landed(flying[0].releases, ack.Sequence)
			s.spare = append(s.spare, flying[0].data)
			flying = flying[1:]
		case failure := <-refused:
			flying, err = s.land(ctx, flying, flying[0].failed(failure))
		}
		if err != nil {
			return ended(ctx, err)
		}
	}
}

// wait adds short releases to those that go to the stream in one message. A message costs the stream
// about the same however many releases it has, and the server already has these releases directly.
// wait reports whether it is time to send the message. Releases that are not short never wait.
func (s *sender) wait(all []outgoing) (enough bool) {
	s.waiting = append(s.waiting, all...)
	if !isShort(s.c.about.Params) || len(s.waiting) >= min(s.most, s.room/2) {
		return true
	}
	if s.due == nil {
		s.due = time.After(gather)
	}
	return false
}

// launchWaiting sends the releases that wait.
func (s *sender) launchWaiting(ctx context.Context, flying []flight) ([]flight, error) {
	flying, err := s.launch(ctx, flying, s.waiting)
	clear(s.waiting)
	s.waiting, s.due = s.waiting[:0], nil
	return flying, err
}

// full reports whether the largest allowed number of messages is on its way, so that no other may
// be sent yet.
func (s *sender) full(flying []flight) bool { return len(flying) >= min(s.room, mostFlying) }

// coming returns the channels that receive the answer to the oldest message on its way.
func coming(flying []flight) (taken <-chan *jetstream.PubAck, refused <-chan error) {
	if len(flying) == 0 {
		return nil, nil
	}
	ack := flying[0].ack
	if ack == nil { // it was not sent
		failed := make(chan error, 1)
		failed <- nats.ErrDisconnected
		return nil, failed
	}
	return ack.Ok(), ack.Err()
}

// ended returns nil if the context has ended, and otherwise err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// header returns the header of a release's first message.
func (s *sender) header(r journal.Release) wire.Header {
	return wire.Header{Kind: wire.Update, Run: s.c.id, Client: s.c.Client, Number: r.Round, Newest: r.Newest,
		Size: r.Size, Params: s.c.about.Params, Digest: r.Digest}
}

// launch sends releases, as many in a message as fit. It does not wait for answers, except for long
// releases: the stream has all their parts when launch returns.
func (s *sender) launch(ctx context.Context, flying []flight, all []outgoing) ([]flight, error) {
	for len(all) > 0 {
		if s.c.about.chunks() > 1 {
			if err := s.long(ctx, all[0]); err != nil {
				return flying, err
			}
			all = all[1:]
			continue
		}
		releases, message, rest, err := s.pack(all)
		if all = rest; err != nil {
			return flying, err
		}
		if len(releases) == 0 {
			continue
		}
		for s.full(flying) {
			if flying, err = s.land(ctx, flying, nil); err != nil {
				return flying, err
			}
		}
		one := s.publish(s.c.names.up(s.c.Client, releases[0].Round, 0), message)
		flying = append(flying, flight{releases, one})
	}
	return flying, ctx.Err()
}

// pack puts the first releases, of consecutive rounds, into a message. It leaves out those that need
// not be sent again. rest has the remaining releases.
func (s *sender) pack(all []outgoing) (packed []outgoing, message []byte, rest []outgoing, err error) {
	if n := len(s.spare); n > 0 {
		message, s.spare = s.spare[n-1][:0], s.spare[:n-1]
	}
	for len(all) > 0 && len(packed) < s.most {
		if n := len(packed); n > 0 && all[0].Round != packed[n-1].Round+1 {
			break
		}
		o := all[0]
		all = all[1:]
		u, err := s.floats(o)
		if err != nil {
			return nil, nil, nil, err
		}
		if u == nil {
			continue
		}
		if isShort(s.c.about.Params) {
			s.c.at(beforeStream)
		} else {
			s.c.at(beforePublish)
		}
		message = s.c.about.chunk().Append(message, s.header(o.Release), u)
		packed = append(packed, o)
	}
	return packed, message, all, nil
}

// publish sends a message. If sending fails, the result has no ack.
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

// floats returns a release's vector, or nil if the release need not be sent again.
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

// land waits until the stream has the oldest message on its way, and sends it again until it does.
// If failure is not nil, the stream has already refused the message.
func (s *sender) land(ctx context.Context, flying []flight, failure error) ([]flight, error) {
	f := flying[0]
	var last uint64
	var err error
	if failure == nil {
		last, err = s.settle(ctx, f)
	} else {
		last, err = s.insist(ctx, f, failure)
	}
	if err != nil {
		return flying, err
	}
	s.landed(f.releases, last)
	return flying[1:], nil
}

// landed records that the stream has these releases.
func (s *sender) landed(all []outgoing, last uint64) {
	for _, o := range all {
		s.c.at(afterAck)
		s.c.mu.Lock()
		s.c.acked[o.Round] = ack{last, time.Now()}
		s.c.mu.Unlock()
		if o.u != nil {
			s.free <- o.u
		}
	}
}

// long sends a release that needs many messages, one window of them at a time.
func (s *sender) long(ctx context.Context, o outgoing) error {
	u, err := s.floats(o)
	if u == nil || err != nil {
		return err
	}
	var last uint64
	h, chunks := s.header(o.Release), s.c.about.chunks()
	s.c.at(beforePublish)
	var flying []sending
	for chunk := 0; chunk < chunks || len(flying) > 0; {
		if chunk < chunks && len(flying) < window {
			h.Chunk = chunk
			flying = append(flying, s.publish(s.c.names.up(s.c.Client, o.Round, chunk), s.c.about.chunk().Append(nil, h, u)))
			if chunk++; chunk == chunks/2 {
				s.c.at(insidePublish)
			}
			continue
		}
		message, err := s.settle(ctx, flight{[]outgoing{o}, flying[0]})
		if err != nil {
			return err
		}
		last = max(last, message)
		flying = flying[1:]
	}
	s.landed([]outgoing{o}, last)
	return nil
}

// settle waits until the stream has a message, and sends it again until it does.
func (s *sender) settle(ctx context.Context, f flight) (uint64, error) {
	message, err := f.wait(ctx)
	if err != nil {
		return s.insist(ctx, f, err)
	}
	return message, nil
}

// insist handles a message that the stream refused with err. It sends the message again until the
// stream has all its releases.
func (s *sender) insist(ctx context.Context, f flight, err error) (uint64, error) {
	for wait, told := 10*time.Millisecond, false; ; wait = min(2*wait, beat) {
		if wait == beat && !told {
			told = true
			s.c.log.Warn("an update was not taken", "round", f.releases[0].Round, "error", err)
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if errors.Is(err, errTaken) {
			n, err := s.same(ctx, f)
			if err != nil || n == len(f.releases) {
				return 0, err
			}
			if n > 0 {
				f = s.without(f, n)
			}
		}
		if err := pause(ctx, wait); err != nil {
			return 0, err
		}
		f.sending = s.publish(f.subject, f.data)
		var message uint64
		if message, err = f.wait(ctx); err == nil {
			return message, nil
		}
	}
}

// without returns the message without its first n releases.
func (s *sender) without(f flight, n int) flight {
	rest := f.releases[n:]
	return flight{rest, sending{subject: s.c.names.up(s.c.Client, rest[0].Round, 0), data: f.data[n*f.each():]}}
}

// each returns how many bytes of the message belong to one release.
func (f flight) each() int { return len(f.data) / len(f.releases) }

// same returns how many of the message's releases, from the first on, the stream already has under
// the message's subject. An earlier life of the client may have put another number of releases into
// its message:
//
//  1. Life 1 sends rounds 4 and 5 in one message, under the subject of round 4. It stops.
//  2. Life 2 sends rounds 4 to 6 in one message. The stream refuses it, because it already has a
//     message with that subject.
//  3. same compares the bytes and returns 2. Life 2 sends round 6 separately.
//
// If the stream has other bytes, somebody else sent them. When the server reads such a message it
// deletes it, unless the vector is a valid release of the round. So if the message is still there
// after the server has read it, the round was released twice.
func (s *sender) same(ctx context.Context, f flight) (int, error) {
	s.c.mu.Lock()
	folded := s.c.folded
	s.c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m, err := s.c.conn.RequestWithContext(ctx, direct(s.c.names.upStream(), f.subject), nil)
	if err != nil || m.Header.Get("Status") != "" {
		return 0, nil // the message is gone or nobody answers, so it is sent again
	}
	there := m.Data[:min(len(m.Data), len(f.data))]
	if n := len(there) / f.each(); n > 0 && len(there)%f.each() == 0 && bytes.HasPrefix(f.data, there) {
		return n, nil
	}
	at, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err == nil && at <= folded {
		return 0, fmt.Errorf("%w: one of the rounds from %d to %d of client %d is there with another vector",
			ErrSecondRelease, f.releases[0].Round, f.releases[len(f.releases)-1].Round, s.c.Client)
	}
	return 0, nil
}
