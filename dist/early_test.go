package dist

import (
	"context"
	"errors"
	"testing"
	"time"

	"proactivedp/dist/internal/wire"
)

// A short update is in as soon as it is published: here no stream ever has it. What no honest
// client sends is not in, and is counted by the stream alone.
func TestAShortUpdateDoesNotWaitForTheStream(t *testing.T) {
	r := newTestRun(t, smallSpec(4), drawn())
	r.listen = "127.0.0.1:0"
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	o := r.serveOptions()
	go func() {
		_, err := Serve(ctx, o)
		ended <- err
	}()
	<-r.ready
	m := newPuppet(ctx, t, r)
	defer m.conn.Close()
	if err := m.js.DeleteStream(ctx, m.names.upStream()); err != nil {
		t.Fatal(err)
	}
	operator, err := Operate(ctx, r.broker.URL(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	u := make([]float32, m.config.Model.NumParams())
	send := func(client, round int, h wire.Header) {
		h.Kind, h.Run, h.Client, h.Number, h.Size, h.Digest = wire.Update, m.id, client, round, 6, wire.Digest(u)
		if err := m.conn.Publish(m.names.up(client, round, 0), h.Append(nil, u)); err != nil {
			t.Fatal(err)
		}
	}
	send(0, 0, wire.Header{Newest: 1}) // k behind the round
	send(0, 1, wire.Header{})
	send(1, 0, wire.Header{})
	var s *Status
	for s == nil || s.Updates < 2 && ctx.Err() == nil {
		if s, err = operator.Status(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if s.Clients[0].Next != 0 || s.Clients[1].Next != 1 || s.Updates != 2 || s.Received != 0 || len(s.Refused) != 0 {
		t.Errorf("%+v", s)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
