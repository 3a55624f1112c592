package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// If a server is started again while an operator's question waits, the question is asked again. If the
// server has ended for good, the operator is told so, instead of getting an error of the connection.
func TestAnOperatorAsksAServerThatIsEnding(t *testing.T) {
	t.Parallel()
	r := newTestRun(t, smallSpec(8), drawn())
	r.listen = "127.0.0.1:0"
	m, stop := r.serveAlone(t.Context())
	o, err := Operate(t.Context(), r.broker.URL(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if s, err := o.Status(t.Context()); err != nil || s.Run != m.names.run {
		t.Fatal(s, err)
	}
	r.listen = strings.TrimPrefix(r.broker.URL(), "nats://")
	stop()
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("a second is over"))
	defer cancel()
	for what, err := range map[string]error{"status": second(o.Status(ctx)), "expel": o.Expel(ctx, 1)} {
		if !errors.Is(err, ErrNoServer) || !strings.HasSuffix(err.Error(), "run "+m.names.run+": a second is over") ||
			strings.Contains(err.Error(), "nats") {
			t.Errorf("%s of a server that has ended: %v", what, err)
		}
	}
	asked := make(chan error, 1)
	go func() { asked <- o.Expel(t.Context(), 1) }()
	r.serveAlone(t.Context())
	if err := <-asked; err != nil {
		t.Errorf("expel while the server is started again: %v", err)
	}
	if s, err := o.Status(t.Context()); err != nil || !s.Clients[1].Expelled {
		t.Error(s, err)
	}
}

func second[T any](_ T, err error) error { return err }
