package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// patience is how long the processes of a script may hold its output after the script has ended.
const patience = 2 * time.Second

// run runs the script on the task. It also returns what was reported before an error.
func (t *Trainer) run(ctx context.Context, task Task, name string, rounds func([]Rounds) error) (Result, error) {
	path, remove, err := t.writeTask(task, name)
	if err != nil {
		return Result{}, err
	}
	defer remove()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	limited, cancel := context.WithTimeoutCause(ctx, t.o.Limit, fmt.Errorf("the script ran for %v, which is the time limit",
		t.o.Limit))
	defer cancel()
	cmd := exec.CommandContext(limited, t.command[0], append(t.command[1:len(t.command):len(t.command)], path)...)
	inGroup(cmd)
	cmd.WaitDelay = patience
	out := &output{rounds: rounds, stop: stop}
	cmd.Stdout = out
	if t.o.Stderr != nil {
		cmd.Stderr = &limitedWriter{w: t.o.Stderr, left: MaxStderr}
	}
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("the command of the trainer: %w", err)
	}
	err = cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		endGroup(cmd)
		err = errors.New("the script ended, but a process that it started did not close its output")
	}
	result, wrong := out.finish()
	if cause := context.Cause(limited); cause != nil {
		return result, cause // it is why the script was ended
	}
	if err != nil {
		wrong = err
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			wrong = fmt.Errorf("the script ended with %s", exit.ProcessState)
		}
	}
	if wrong != nil && t.o.Dir != "" && task.Role == Public { // a private task must not run unaccounted
		wrong = fmt.Errorf("%w\nto see it again: %s %s", wrong, strings.Join(t.command, " "), path)
	}
	return result, wrong
}

// limitedWriter passes on a limited number of bytes, and then says that the rest is dropped.
type limitedWriter struct {
	w    io.Writer
	left int
}

// Write never fails: a script must not fail because its messages cannot be shown.
func (l *limitedWriter) Write(text []byte) (int, error) {
	shown := text[:min(len(text), l.left)]
	if _, err := l.w.Write(shown); err != nil {
		l.left = 0
		return len(text), nil
	}
	if len(shown) < len(text) && l.left > 0 {
		fmt.Fprintf(l.w, "\nproactivedp: the script printed more to stderr, which is not shown\n")
	}
	l.left -= len(shown)
	return len(text), nil
}
