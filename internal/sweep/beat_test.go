package sweep

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/train/pool"
)

// slow is a broker whose checkpoints come, and are taken, only when one is let through.
type slow struct {
	jetstream.JetStream
	asked, let chan struct{}
}

func (s *slow) ObjectStore(ctx context.Context, name string) (jetstream.ObjectStore, error) {
	s.asked <- struct{}{}
	<-s.let
	return s.JetStream.ObjectStore(ctx, name)
}

// beaten is a job that tells of every sign of life.
type beaten struct {
	handed
	beats chan struct{}
}

func (b *beaten) InProgress() error {
	select {
	case b.beats <- struct{}{}:
	default:
	}
	return nil
}

func (*beaten) Ack() error { return nil }

// While a checkpoint is on its way, to the worker or from it, however long that takes, the
// worker says that it lives: its cell is not given to another.
func TestAWorkerLivesWhileItMovesACheckpoint(t *testing.T) {
	t.Parallel()
	q := open(t)
	broker := &slow{q.js, make(chan struct{}), make(chan struct{})}
	w := &worker{js: broker, conn: q.conn, log: slog.New(slog.DiscardHandler)}
	w.Dir = t.TempDir()
	computed := make(chan struct{})
	w.Other = map[string]Maker{"slow": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		err := os.WriteFile(filepath.Join(w.Dir, "k.checkpoint"), []byte("state"), 0o666)
		<-computed
		return json.RawMessage("1"), err
	}}
	text, err := json.Marshal(pool.Job{Key: "k", Spec: []byte(`{"kind": "slow"}`)})
	if err != nil {
		t.Fatal(err)
	}
	m := &beaten{handed{text: text}, make(chan struct{})}
	var cell sync.WaitGroup
	cell.Go(func() { w.cell(t.Context(), m) })
	for range 2 { // what is fetched, and what is stored
		<-broker.asked
		<-m.beats
		broker.let <- struct{}{}
	}
	close(computed)
	ended := make(chan struct{})
	go func() {
		cell.Wait()
		close(ended)
	}()
	for {
		select {
		case <-broker.asked: // to remove what is stored, or to store it again
			broker.let <- struct{}{}
		case <-ended:
			return
		}
	}
}
