package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"time"
)

// mostTries is how often a target is run whose time ran out as golang/go#75804 describes.
// One run in some hundreds does, so four in a row are something else.
const mostTries = 4

// A run fuzzes one target for a time; it returns what was printed, and an error if the
// target failed.
type run func(t target, each time.Duration) (output []byte, err error)

// fuzz runs the targets in order until one fails.
func fuzz(targets []target, each time.Duration, r run, out io.Writer) error {
	for _, t := range targets {
		if err := try(t, each, r, out); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "fuzz: %d targets, %v each, nothing found\n", len(targets), each)
	return nil
}

func try(t target, each time.Duration, r run, out io.Writer) error {
	for n := 1; ; n++ {
		output, err := r(t, each)
		if _, printErr := out.Write(output); printErr != nil {
			return printErr
		}
		if err == nil {
			return nil
		}
		if n == mostTries || !outOfTime(output) {
			return fmt.Errorf("%s of %s: %w", t.name, t.folder, err)
		}
		fmt.Fprintf(out, "fuzz: %s ran out of time and found nothing (golang/go#75804), once more\n", t.name)
	}
}

var (
	deadline = regexp.MustCompile(`(?m)^--- FAIL: Fuzz\w+ \([0-9.]+s\)\n    context deadline exceeded\nFAIL$`)
	found    = regexp.MustCompile(`(?m)^ *Failing input written to `)
)

// outOfTime reports whether a failed run says of its target no more than that the time was
// over. One that found a failing input has written it, and says where.
func outOfTime(output []byte) bool {
	return deadline.Match(output) && !found.Match(output)
}

func goTest(t target, each time.Duration) ([]byte, error) {
	output, err := exec.Command("go", "test", t.folder, "-run", "^$",
		"-fuzz", "^"+t.name+"$", "-fuzztime", each.String()).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return output, fmt.Errorf("starting go test: %w", err)
	}
	return output, err
}
