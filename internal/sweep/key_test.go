package sweep

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/train"
	"proactivedp/train/pool"
)

// handed is a message to a worker, which counts how often it is refused for good.
type handed struct {
	jetstream.Msg
	text    []byte
	refused int
}

func (h *handed) Data() []byte { return h.text }

func (h *handed) Term() error {
	h.refused++
	return nil
}

// A job whose key leads out of the worker's folder is refused before anything is written.
func TestKeysDoNotLeadOutOfTheFolder(t *testing.T) {
	q := open(t)
	folder := t.TempDir()
	w := &worker{js: q.js, conn: q.conn, log: q.log}
	w.Dir = filepath.Join(folder, "worker")
	if err := os.Mkdir(w.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	store, err := q.js.ObjectStore(t.Context(), savedBucket)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "../stolen", "a/b", filepath.Join(folder, "stolen")} {
		if key != "" {
			if _, err := store.PutBytes(t.Context(), key, []byte("a file of the asker's")); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(pool.Job{Key: key, Spec: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		m := &handed{text: text}
		w.cell(t.Context(), m)
		if m.refused != 1 {
			t.Errorf("key %q: refused %d times, want once", key, m.refused)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "stolen.checkpoint")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was written beside the worker's folder: %v", err)
	}
}

// A training that is to be looked at less than once, or endlessly, is refused: it is an error
// of one job and not the end of the worker.
func TestViewsOfJobsAreBounded(t *testing.T) {
	source := train.NewSource(drawn())
	spec := specs(1, 60)[0]
	for _, c := range []struct{ kind, name, n string }{
		{"curve", "points", "0"}, {"curve", "points", "1000000000000"}, {"timed", "looks", "0"},
		{"timed", "looks", "-1"}, {"window", "rounds", "-1"},
	} {
		text, err := json.Marshal(map[string]any{"kind": c.kind, "train": spec, "data_sha256": source.Hash(),
			c.name: json.RawMessage(c.n)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = pool.Job{Key: "k", Spec: text}.Do(t.Context(), nil, t.TempDir(), 1, func(float64) {})
		if err == nil || !strings.Contains(err.Error(), c.name+" = "+c.n+", must be in [1, 1048576]") {
			t.Errorf("%s of %s %s: %v", c.kind, c.n, c.name, err)
		}
	}
}
