package cluster

import (
	"errors"
	"testing"

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

// A broker that is silent for a while is waited for: only another error ends the reading.
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
