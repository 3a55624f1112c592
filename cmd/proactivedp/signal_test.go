//go:build unix && !race

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"proactivedp/train"
)

// ending is how long a program may take to end that promises two seconds: many times as long,
// for a machine that has much other work, and far from the minutes after which it is killed.
const ending = 30 * time.Second

// The first signal ends a training within two seconds while its checkpoint is being
// written, too, and leaves the old checkpoint or the new one whole, and nothing beside it.
func TestFirstSignalDuringACheckpoint(t *testing.T) {
	const wide = "1 1:1 300000:1\n0 2:1\n1 3:1\n0 4:1\n1 5:1\n0 6:1\n1 7:1\n0 8:1\n1 9:1\n0 10:1\n"
	dir := t.TempDir()
	rows, kept := filepath.Join(dir, "wide.libsvm"), filepath.Join(dir, "run.checkpoint")
	if err := os.WriteFile(rows, []byte(wide), 0o666); err != nil {
		t.Fatal(err)
	}
	begin := strings.Fields("train --checkpoint-every 1 --grad-computations 100000 --sample-size 1 --delta 1e-3 " +
		"--data " +
		rows + " --checkpoint " + kept)
	before := 0
	for try := range 2 {
		args := begin
		if try > 0 {
			args = []string{"train", "--checkpoint-every", "1", "--resume", kept}
		}
		cmd := exec.Command("proactivedp", args...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		over := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
		// The first checkpoint is the one that it begins with, or from.
		for written := ""; ; {
			temps, err := filepath.Glob(filepath.Join(dir, ".run.checkpoint.*.tmp"))
			if err != nil {
				t.Fatal(err)
			}
			if len(temps) == 1 && written != "" && temps[0] != written {
				break
			}
			if len(temps) == 1 {
				written = temps[0]
			}
			if cmd.Process.Signal(syscall.Signal(0)) != nil {
				t.Fatalf("it ended by itself: %s", out.String())
			}
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err := cmd.Wait()
		over.Stop()
		if took := time.Since(start); took > ending || cmd.ProcessState.ExitCode() != exitFailure {
			t.Errorf("it ended after %v with %v: %s", took, err, out.String())
		}
		c, err := train.OpenCheckpoint(kept, nil)
		if err != nil {
			t.Fatalf("after %d updates: %v", before, err)
		}
		if c.Updates < before || c.Finished {
			t.Errorf("%d updates in the checkpoint, there were %d; finished %v", c.Updates, before, c.Finished)
		}
		before = c.Updates
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		givenUp := strings.Contains(out.String(), "is given up") // as after a kill, on a machine that is so slow
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 && !givenUp {
			t.Errorf("left behind: %v, %v", entries, err)
		}
		removeTemps(t, dir)
	}
}

func removeTemps(t *testing.T, dir string) {
	t.Helper()
	temps, err := filepath.Glob(filepath.Join(dir, ".run.checkpoint.*.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, temp := range temps {
		if err := os.Remove(temp); err != nil {
			t.Fatal(err)
		}
	}
}

// The first signal ends the program within two seconds, whatever is under way: a
// pipe that nobody opens, an accountant, a gradient of a large network.
func TestFirstSignalEndsTheProgram(t *testing.T) {
	for name, args := range map[string]string{
		"pipe of events":  "account --delta 1e-5 --events PIPE",
		"pipe of a trace": "train --data synth-phishing --compute-time trace:PIPE",
		"pipe as a file":  "plan --n 10000 --epochs 5 --epsilon 0.5 --frontier --points 2 --csv PIPE",
		"pipe as data":    "train --data PIPE",
		"network":         "train --data synth-cifar10:300 --model alexnet --sample-size 250 --grad-computations 2500 --workers 1",
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
			if took := time.Since(start); took > ending {
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
