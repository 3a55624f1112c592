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

// mayTake, mayWait and mayWork are how long a program may run before it is asked to end: in general,
// if it waits for input, and if its work is known to end. mayEnd is how long it may then take to
// end. The program promises two seconds, but a busy machine gets more.
const (
	mayTake = 5 * time.Second
	mayWait = time.Second // for a pipe that nobody opens
	mayWork = 3 * time.Minute
	mayEnd  = 20 * time.Second
)

// maxOutput is how many bytes of a program's output are kept.
const maxOutput = 1 << 20

// crash matches what Go's runtime writes when a program crashes. A help text may contain the word
// goroutine, but not with a number.
var crash = regexp.MustCompile(`panic:|fatal error:|goroutine \d+ \[|runtime error|runtime:|SIGSEGV`)

// ended is how a program ended.
type ended struct {
	command string
	status  int // -1 if it was killed by a signal
	killed  bool
	stopped bool // it was asked to end, and ended in time
	stdout  bytes.Buffer
	stderr  bytes.Buffer
}

// run runs the program in dir. The program is killed after the time kill, unless that is 0. It is
// asked to end after the time may, and killed if it does not. That is an error. So is a panic, and
// an exit status that the program does not document.
func (a *attacker) run(dir string, may, kill time.Duration, args ...string) (*ended, error) {
	return a.shell(dir, may, kill, "", args...)
}

// shell is like run, after shell commands such as ulimit. before may be "".
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
		return e, e.fault("an undocumented exit status")
	}
	if e.status == 0 && e.stopped {
		e.stopped = false // it had just finished
	}
	return e, nil
}

// fault returns an error with the command, its status and its output.
func (e *ended) fault(format string, args ...any) error {
	said := e.stderr.String()
	if len(said) > 2000 {
		said = said[:2000] + "…"
	}
	return fmt.Errorf("%s\n\t%.1000s\n\tstatus %d, stderr: %s", fmt.Sprintf(format, args...), e.command, e.status, said)
}

// limited keeps the first bytes and accepts all.
type limited struct{ w *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxOutput - l.w.Len(); room > 0 {
		_, _ = l.w.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
