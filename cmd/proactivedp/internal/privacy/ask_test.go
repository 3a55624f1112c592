package privacy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"proactivedp/answer"
)

// A line that is longer than a question may be is answered without being kept, and the next line is read
// from its beginning. The last line needs no end.
func TestAskBoundsLines(t *testing.T) {
	long := strings.Repeat("x", answer.MaxQuestionBytes+1)
	in := long + long + "\n" + `{"plan": {}}` + "\n" + long[:answer.MaxQuestionBytes]
	var out bytes.Buffer
	if err := ask(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(out.String(), "\n")
	if len(lines) != 4 || lines[3] != "" {
		t.Fatalf("%d lines, want 3: %q", len(lines)-1, lines)
	}
	for i, want := range []string{"the question has 262145 bytes, must be at most 262144", "one or two of them must be given",
		"line 1 is not JSON"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("answer %d is %s, want %q", i, lines[i], want)
		}
	}
}

// A question that is right gets the answer of its command, and so does the example of the help.
func TestAskAnswers(t *testing.T) {
	_, example, _ := strings.Cut(newAsk().Example, "'")
	example, _, _ = strings.Cut(example, "'")
	in := `{"calibrate": {"epsilon": 2, "delta": 1e-5, "sample_rate": 0.01, "steps": 10000}}` + "\n" + example + "\n"
	var out bytes.Buffer
	if err := ask(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], `{"calibrate":{`) || !strings.HasPrefix(lines[1], `{"plan":{`) {
		t.Errorf("%.300q", lines)
	}
}

// The command ends when it is interrupted while it waits for a question.
func TestAskEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	in, owner := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- ask(ctx, in, io.Discard) }()
	stopped := errors.New("stopped")
	cancel(stopped)
	if err := <-ended; !errors.Is(err, stopped) {
		t.Errorf("%v, want %v", err, stopped)
	}
	owner.Close()
}
