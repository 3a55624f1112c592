package sweep

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/train"
	"proactivedp/train/pool"
)

// A training whose clock is a file is computed where it is asked for, and a worker that is
// asked all the same opens nothing.
func TestFilesOfTracesAreNotReadElsewhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.csv")
	if err := os.WriteFile(file, []byte("client,duration\n0,1ms\n1,2ms\n2,3ms\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	traced := specs(1, 60)[0]
	traced.Compute = "trace:" + file
	o := pool.Options{Folder: t.TempDir(), Workers: 1, Elsewhere: nobody{t}}
	if _, spent, err := pool.Trials(t.Context(), train.NewSource(drawn()), []train.Spec{traced}, o); err != nil ||
		spent.Computed != 1 {
		t.Errorf("%d computed: %v", spent.Computed, err)
	}
	traced.Compute = "trace:/nowhere"
	spec, err := json.Marshal(map[string]any{"kind": "trial", "train": traced, "data_sha256": "x"})
	if err != nil {
		t.Fatal(err)
	}
	open := func(context.Context, train.Spec, string) (*train.Source, error) {
		t.Error("the data set is opened")
		return nil, errNotHere
	}
	_, err = pool.Job{Key: "k", Spec: spec}.Do(t.Context(), open, t.TempDir(), 1, nil)
	if err == nil || !strings.Contains(err.Error(), "trace:/nowhere is a file") {
		t.Errorf("%v", err)
	}
}

// nobody is who no job may be given.
type nobody struct{ t *testing.T }

func (n nobody) Compute(_ context.Context, jobs []pool.Job, _ func(int, json.RawMessage) error,
	_ func(int, float64)) error {
	if len(jobs) > 0 {
		n.t.Errorf("%d jobs are handed out", len(jobs))
	}
	return nil
}
