package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// upstream is the server's subscription to the stream of updates.
type upstream struct {
	stream   jetstream.Stream
	messages chan jetstream.Msg
	failed   chan struct{} // closed when no more messages can come
	stop     func()
	purging  atomic.Bool
	done     sync.WaitGroup
}

// resubscribe creates the streams, if they do not exist, and reads the stream of updates from its
// beginning. It cannot continue at the last number: a broker that lost its newest messages gives
// their numbers to others.
func (s *server) resubscribe(ctx context.Context) error {
	s.unsubscribe()
	// If the leading broker stops, a question to it is lost. So the first attempts after a success
	// have a short timeout and are repeated.
	ctx, cancel := context.WithTimeout(ctx, min(patience, upkeep<<s.failures))
	defer cancel()
	s.failures = min(s.failures+1, mostFailures)
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
	messages, err := consumer.Messages(jetstream.PullMaxMessages(readAhead(s.about)))
	if err != nil {
		return fmt.Errorf("stream of updates: %w", err)
	}
	s.processed, s.failures = 0, 0
	s.up = &upstream{stream: stream, messages: make(chan jetstream.Msg, window), failed: make(chan struct{})}
	s.up.read(messages)
	return nil
}

// mostFailures is the number of failures after which an attempt may take as long as any other
// answer.
const mostFailures = 3

// readAhead is how many messages the server asks for at a time. It is small if they are long.
func readAhead(a *Announcement) int {
	if a.chunks() > 1 {
		return 2 * window
	}
	return 500
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

// unsubscribe stops reading, if the server reads, and waits for the goroutine to end.
func (s *server) unsubscribe() {
	if s.up != nil && s.up.stop != nil {
		s.up.stop()
		s.up.done.Wait()
	}
	s.up = &upstream{}
}
