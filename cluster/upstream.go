package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/broker"
)

// upstream is the server's subscription to the stream of updates.
type upstream struct {
	stream   jetstream.Stream
	messages chan jetstream.Msg
	failed   chan struct{} // closed when no more messages can come
	stop     func()
	done     sync.WaitGroup // of the goroutine that reads
	purging  atomic.Bool
	purges   sync.WaitGroup
}

// resubscribe creates the streams, if they do not exist, and reads the stream of updates from its
// beginning. It cannot continue at the last number: a broker that lost its newest messages gives
// their numbers to others.
func (s *server) resubscribe(ctx context.Context) error {
	s.unsubscribe()
	allowed, end := broker.UntilRefused(ctx, s.conn)
	defer end()
	limited, cancel := context.WithTimeout(allowed, min(patience, upkeep<<s.failures))
	defer cancel()
	err := s.subscribe(limited)
	s.failures = failuresAfter(s.failures, err)
	return cmp.Or(broker.Refused(allowed, err), err)
}

// failuresAfter returns how many attempts to subscribe in a row had no answer, after one more with this error.
//
// If the leading broker stops, a question to it is lost. So the first attempts have a short timeout, and are repeated
// with longer ones. An answer that refuses, such as that the brokers have no leader now, begins the count again: they
// are about to choose one, and the next question may be lost.
func failuresAfter(failures int, err error) int {
	if !errors.Is(err, context.DeadlineExceeded) {
		return 0
	}
	return min(failures+1, mostFailures)
}

func (s *server) subscribe(ctx context.Context) error {
	_, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: s.names.downStream(), Subjects: []string{s.names.subject("down", ">")}, Storage: jetstream.MemoryStorage,
		MaxMsgsPerSubject: 1, MaxMsgSize: int32(s.about.chunk().MaxMessage()), AllowDirect: true, Replicas: s.Engine.Replicas(),
	})
	if err != nil {
		return fmt.Errorf("stream of broadcasts: %w", err)
	}
	stream, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: s.names.upStream(), Subjects: []string{s.names.subject(upKind, ">")}, Storage: jetstream.FileStorage,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
		MaxMsgSize: int32(s.about.chunk().MaxMessage()), AllowDirect: true, Replicas: s.Engine.Replicas(),
	})
	if err != nil {
		return fmt.Errorf("stream of updates: %w", err)
	}
	s.offered = -1
	for _, a := range s.assemblies {
		if a != nil {
			a.Reset()
		}
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverAllPolicy, InactiveThreshold: 30 * time.Second,
		HeadersOnly: s.about.headed(),
	})
	if err != nil {
		return fmt.Errorf("stream of updates: %w", err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(readAhead(s.about)), jetstream.PullHeartbeat(heartbeat(s.about)))
	if err != nil {
		return fmt.Errorf("stream of updates: %w", err)
	}
	s.processed = 0
	s.up = &upstream{stream: stream, messages: make(chan jetstream.Msg, window), failed: make(chan struct{})}
	s.up.read(messages)
	return nil
}

// mostFailures is the number of attempts without an answer after which an attempt may take as long as any other answer.
const mostFailures = 3

// readAhead is how many messages the server asks for at a time. It is small if they are long.
func readAhead(a *Announcement) int {
	if a.chunks() > 1 {
		return 2 * window
	}
	return 500
}

// heartbeat is the time after which the stream shows that it still has the server's question for messages. If two
// heartbeats are missing, the library asks again. The question may be lost:
//
//  1. Brokers tell each other who listens where, and forward questions, over several connections.
//  2. If a packet is lost, the question overtakes the news that the server listens for the answer.
//  3. The broker that has the stream finds nobody who listens, and drops the question.
//
// By default the library notices this after 30 s, and a client that joins waits for so long. For long messages the time
// is longer, because a heartbeat arrives only after the messages before it.
func heartbeat(a *Announcement) time.Duration {
	if isShort(a.Params) {
		return 2 * beat
	}
	return patience / 2
}

// read passes messages on until stop is called or no more can come.
func (u *upstream) read(messages jetstream.MessagesContext) {
	stopped := make(chan struct{})
	u.stop = func() {
		close(stopped)
		messages.Stop()
	}
	u.done.Go(func() {
		defer close(u.failed)
		for {
			m, err := messages.Next()
			if errors.Is(err, jetstream.ErrNoHeartbeat) {
				continue // the consumer asks again by itself
			}
			if err != nil {
				return
			}
			select {
			case u.messages <- m:
			case <-stopped:
				return
			}
		}
	})
}

// unsubscribe stops reading, if the server reads. It waits for a purge, so that the purge cannot delete messages that get
// the same numbers later. It does not wait for the library: if a broker stops while the library asks it for a consumer,
// the library waits ten seconds for the answer, and its Stop waits, too.
func (s *server) unsubscribe() {
	if up := s.up; up != nil && up.stop != nil {
		s.stopping.Go(func() {
			up.stop()
			up.done.Wait()
		})
		up.purges.Wait()
	}
	s.up = &upstream{}
}
