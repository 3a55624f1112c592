package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// fullDisk is a writer to which nothing can be written.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// The trace is whole before the report is printed: a report that nobody takes does
// not cost it.
func TestTraceIsWrittenBeforeTheReport(t *testing.T) {
	t.Chdir(t.TempDir())
	var stderr bytes.Buffer
	args := []string{"train", "--data", "synth-phishing", "--grad-computations", "260", "--trace", "run.json"}
	if code := run(t.Context(), args, fullDisk{}, &stderr); code != exitFailure {
		t.Errorf("exit status %d, must be %d: %s", code, exitFailure, &stderr)
	}
	text, err := os.ReadFile("run.json")
	if err != nil || !json.Valid(text) {
		t.Errorf("the trace of %d bytes is not whole: %v", len(text), err)
	}
}
