package sweep

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A broker that takes a question and never answers, as one does that is killed at that moment, is given up after a
// time: by who reads an object (a checkpoint, a data set), and by who writes one.
func TestAnUnansweredQuestionIsGivenUp(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	asked := make(chan *nats.Msg, 10)
	if _, err := conn.ChanSubscribe("$JS.API.>", asked); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	// Far more than the time that a question may take, far less than ctx lasted before this was a rule.
	ctx, cancel := context.WithTimeout(t.Context(), 20*patience)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := openObject(ctx, js, savedBucket, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("reading: %v", err)
		}
	})
	both.Go(func() {
		if err := putObject(ctx, js, savedBucket, "a", strings.NewReader("b"), 1); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("writing: %v", err)
		}
	})
	both.Wait()
	if ctx.Err() != nil {
		t.Errorf("a question waited for its caller's context, %v", 20*patience)
	}
	if len(asked) != 2 {
		t.Errorf("%d questions arrived, want 2", len(asked))
	}
}

// The longest object has a time that does not overflow, and the shortest one some.
func TestTransfersHaveATime(t *testing.T) {
	if got := transfer(0); got != patience {
		t.Errorf("an empty object: %v", got)
	}
	if got := transfer(maxSaved); got < 30*time.Minute || got > time.Hour {
		t.Errorf("the longest: %v", got)
	}
}
