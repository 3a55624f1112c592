//go:build unix && !race

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The first signal ends the program within two seconds, whatever is under way: a
// pipe that nobody opens, an accountant, a gradient of a large network.
func TestFirstSignalEndsTheProgram(t *testing.T) {
	for name, args := range map[string]string{
		"pipe of events":  "account --delta 1e-5 --events PIPE",
		"pipe of a trace": "train --data synth-phishing --compute-time trace:PIPE",
		"pipe as a file":  "plan --n 10000 --epochs 5 --epsilon 0.5 --frontier --points 2 --csv PIPE",
		"pipe as data":    "train --data PIPE",
		"network":         "train --data synth-cifar10:300 --model alexnet --sample-size 250 --grad-computations 2500",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A pipe of its own: a reader and a writer of one would free each other.
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o666); err != nil {
				t.Skip(err)
			}
			cmd := exec.Command("proactivedp", strings.Fields(strings.ReplaceAll(args, "PIPE", pipe))...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			over := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			err := cmd.Wait()
			over.Stop()
			// Two seconds, and some for a machine that has much other work.
			if took := time.Since(start); took > 8*time.Second {
				t.Errorf("it ended after %v", took)
			}
			if cmd.ProcessState.ExitCode() != exitFailure {
				t.Errorf("%v, want exit status %d: %s", err, exitFailure, out.String())
			}
			if strings.Contains(out.String(), "goroutine ") {
				t.Errorf("it panicked: %s", out.String())
			}
		})
	}
}
