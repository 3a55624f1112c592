package privacy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
)

func newAsk() *cobra.Command {
	return &cobra.Command{
		Use:   "ask",
		Short: "Answer questions of other programs: a line of JSON each, from stdin to stdout",
		Long: fmt.Sprintf(`Read a question as JSON from each line of stdin, and write its answer as a line of JSON
to stdout, until stdin ends. A question has one key, plan, account, calibrate or tradeoff.
The answer has the same key, with what this command prints for --json, or the key error,
with the kind of the error and all problems. Unknown keys are errors. A line has at most
%d bytes. Package answer documents the keys.

The Python package asks in this way, so that only its first question starts a process.`, answer.MaxQuestionBytes),
		Example: `  echo '{"plan": {"n": 50000, "epochs": 20, "epsilon": 3, "delta": 1e-5}}' | proactivedp ask`,
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// ask answers each line of in with a line of out. It ends when in ends or ctx is done.
func ask(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := make(chan line)
	go readLines(ctx, in, lines)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx) // the reader ends with what it reads: a read of stdin cannot be interrupted
		case l := <-lines:
			if len(l.text) > 0 || l.err == nil {
				text := append(answer.JSON(ctx, l.text), '\n')
				if _, err := out.Write(text); err != nil {
					return fmt.Errorf("stdout: %w", err)
				}
			}
			if errors.Is(l.err, io.EOF) {
				return nil
			}
			if l.err != nil {
				return fmt.Errorf("stdin: %w", l.err)
			}
		}
	}
}

// line is a line of input without its end. If err is set, no line follows.
type line struct {
	text []byte
	err  error
}

// readLines sends the lines of in, also a last one that has no end. Of a line that is too long for a question, it
// sends enough for the answer to say so.
func readLines(ctx context.Context, in io.Reader, to chan<- line) {
	r := bufio.NewReader(in)
	for {
		var l line
		for more := true; more; {
			var part []byte
			part, more, l.err = r.ReadLine()
			if room := answer.MaxQuestionBytes + 1 - len(l.text); len(part) > room {
				part = part[:room]
			}
			l.text = append(l.text, part...)
		}
		select {
		case to <- l:
		case <-ctx.Done():
			return
		}
		if l.err != nil {
			return
		}
	}
}
