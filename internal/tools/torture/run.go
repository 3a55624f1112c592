//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// How long a program may take before it is asked to end, when it reads what makes
// it wait and when it does what is known to end, and how long it then may take to
// end. It promises two seconds; a machine that does other work gets some more.
const (
	mayTake = 5 * time.Second
	mayWait = time.Second // for a pipe that nobody opens
	mayWork = 3 * time.Minute
	mayEnd  = 20 * time.Second
)

// maxOutput is as much of what a program says as is kept.
const maxOutput = 1 << 20

// crash is what Go's runtime writes when a program comes to grief; a page of help may
// speak of goroutines, too, but of none by its number.
var crash = regexp.MustCompile(`panic:|fatal error:|goroutine \d+ \[|runtime error|runtime:|SIGSEGV`)

// ended is how a program ended.
type ended struct {
	command string
	status  int // -1: killed by a signal
	killed  bool
	stopped bool // it was asked to end, in time
	stdout  bytes.Buffer
	stderr  bytes.Buffer
}

// run runs the program in dir. It is killed after kill, if that is not 0; asked to
// end after may, and killed if it does not, which is an error, as a panic is
// and an exit status that the program does not have.
func (a *attacker) run(dir string, may, kill time.Duration, args ...string) (*ended, error) {
	return a.shell(dir, may, kill, "", args...)
}

// shell is run after commands of a shell, such as ulimit; "" is none.
func (a *attacker) shell(dir string, may, kill time.Duration, before string, args ...string) (*ended, error) {
	cmd := exec.Command(a.program, args...)
	if before != "" {
		cmd = exec.Command("sh", append([]string{"-c", before + ` && exec "$0" "$@"`, a.program}, args...)...)
	}
	e := &ended{command: before + " proactivedp " + strings.Join(args, " ")}
	cmd.Dir = dir
	cmd.Env = append(
		os.Environ(),
		"GOMEMLIMIT=3GiB",
		"XDG_CACHE_HOME="+dir,
		"HTTPS_PROXY=http://127.0.0.1:9",
		"HTTP_PROXY=http://127.0.0.1:9",
	)
	cmd.Stdout, cmd.Stderr = &limited{w: &e.stdout}, &limited{w: &e.stderr}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", e.command, err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var err error
	timer := time.NewTimer(may)
	defer timer.Stop()
	if kill > 0 {
		timer.Reset(kill)
	}
	select {
	case err = <-done:
	case <-a.ctx.Done():
		_ = cmd.Process.Kill()
		<-done
		return e, context.Cause(a.ctx)
	case <-timer.C:
		if kill > 0 {
			_ = cmd.Process.Kill()
			err = <-done
			if e.killed = cmd.ProcessState.ExitCode() < 0; e.killed {
				a.killed.Add(1)
			}
			break
		}
		e.stopped = true
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case err = <-done:
		case <-time.After(mayEnd):
			_ = cmd.Process.Kill()
			<-done
			return e, e.fault("HANG: it does not end when it is asked to")
		}
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return e, fmt.Errorf("%s: %w", e.command, err)
	}
	e.status = cmd.ProcessState.ExitCode()
	text := e.stderr.String() + e.stdout.String()
	if crash.MatchString(text) {
		return e, e.fault("PANIC")
	}
	if !e.killed && (e.status < 0 || e.status > 3) {
		return e, e.fault("an exit status that there is not")
	}
	if e.status == 0 && e.stopped {
		e.stopped = false // it was just done
	}
	return e, nil
}

// fault is an error that tells all.
func (e *ended) fault(format string, args ...any) error {
	said := e.stderr.String()
	if len(said) > 2000 {
		said = said[:2000] + "…"
	}
	return fmt.Errorf("%s\n\t%.1000s\n\tstatus %d, stderr: %s", fmt.Sprintf(format, args...), e.command, e.status, said)
}

// limited keeps the first bytes and takes all.
type limited struct{ w *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxOutput - l.w.Len(); room > 0 {
		_, _ = l.w.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
