package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// scripted is a stream that gives the errors in turn, with a message where there is none, and
// then is closed.
type scripted struct {
	jetstream.MessagesContext
	errs []error
}

func (s *scripted) Stop() {}

func (s *scripted) Next(...jetstream.NextOpt) (jetstream.Msg, error) {
	if len(s.errs) == 0 {
		return nil, jetstream.ErrMsgIteratorClosed
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return nil, err
}

// If a broker is silent for a while, the server waits. Reading only ends with other errors.
func TestReadingOutlivesSilence(t *testing.T) {
	for _, c := range []struct {
		errs []error
		want int
	}{
		{[]error{nil, jetstream.ErrNoHeartbeat, nil, jetstream.ErrNoHeartbeat, jetstream.ErrNoHeartbeat, nil}, 3},
		{[]error{nil, errors.New("gone"), nil}, 1},
	} {
		u := &upstream{messages: make(chan jetstream.Msg, len(c.errs)), failed: make(chan struct{})}
		u.read(&scripted{errs: c.errs})
		<-u.failed
		u.done.Wait()
		if got := len(u.messages); got != c.want {
			t.Errorf("%v: %d messages are handed on, must be %d", c.errs, got, c.want)
		}
	}
}

// A server leaves a subscription at once, also while the library waits for a broker that has stopped: Stop waits for
// the lock that the library holds for as long as it asks the broker.
func TestLeavingASubscriptionDoesNotWait(t *testing.T) {
	answer := make(chan struct{})
	s := &server{up: &upstream{stop: func() { <-answer }}}
	purged := false
	s.up.purges.Go(func() {
		time.Sleep(10 * time.Millisecond)
		purged = true
	})
	s.unsubscribe() // the test would never end if it waited for the answer
	if !purged {
		t.Error("a purge is under way, and could delete messages that get the same numbers")
	}
	close(answer)
	s.stopping.Wait()
}

// Only questions without an answer make the server wait longer for the next one.
func TestAttemptsToSubscribe(t *testing.T) {
	lost, refused := fmt.Errorf("stream: %w", context.DeadlineExceeded), errors.New("JetStream system temporarily unavailable")
	failures, longest := 0, time.Duration(0)
	for i, c := range []struct {
		err  error
		want int
	}{{lost, 1}, {refused, 0}, {refused, 0}, {lost, 1}, {lost, 2}, {lost, 3}, {lost, 3}, {nil, 0}} {
		if failures = failuresAfter(failures, c.err); failures != c.want {
			t.Errorf("attempt %d: %d failures, want %d", i, failures, c.want)
		}
		longest = max(longest, upkeep<<failures)
	}
	if longest < patience {
		t.Errorf("an attempt never has more than %v, must have %v when a broker is slow", longest, patience)
	}
}
