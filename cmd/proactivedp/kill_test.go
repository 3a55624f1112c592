//go:build unix && !race

// These tests are of other processes, which the race detector does not see.

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"proactivedp/internal/testkit"
)

// killsEnv sets how many processes TestKilledRunsGoOnToTheSameBits and its twin for loops
// kill and resume.
const killsEnv = "PROACTIVEDP_KILLS"

// kept is a training run to be killed: the flags that say which, and how often
// it writes checkpoints.
type kept struct {
	flags []string
	every int
}

var keptRuns = []kept{
	{strings.Fields("--data synth-phishing --grad-computations 26000 --latency exponential:300us --delay 3"), 40},
	{strings.Fields("--data synth-phishing --grad-computations 26000 --clients 20 --delay unlimited --sample-size " +
		"linear:20,0.1"), 200},
	{strings.Fields("--data synth-phishing --grad-computations 13000 --compute-time pareto:10us,1.5 --latency " +
		"lognormal:1ms,1 --delay sqrt --loss 0.2 --resend 5ms --duplicate 0.2 --churn 20ms,5ms --adapt 4 --speeds " +
		"1,1,1,2,0.2 --partition dirichlet:0.5"), 40},
	{strings.Fields("--data synth-mnist:700 --model lenet --grad-computations 1000 --sample-size 20 --workers 2"), 5},
}

// trainingProcess is the real program about to train, and what it will have printed.
func trainingProcess(flags ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	cmd := exec.Command("proactivedp", slices.Concat([]string{"train", "--json"}, flags)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	return cmd, &stdout, &stderr
}

// reportOf runs it to its end and returns the report but for the seconds, which
// are no function of the run.
func reportOf(t *testing.T, flags ...string) map[string]any {
	t.Helper()
	cmd, stdout, stderr := trainingProcess(flags...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, stderr)
	}
	return parsed(t, stdout)
}

func parsed(t *testing.T, stdout *bytes.Buffer) map[string]any {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v in %q", err, stdout)
	}
	if s, ok := r["seconds"].(float64); !ok || s <= 0 {
		t.Errorf("seconds = %v", r["seconds"])
	}
	delete(r, "seconds")
	return r
}

// temporary lists what is beside a checkpoint.
func temporary(t *testing.T, path string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Processes killed with SIGKILL at random times, which leaves them no instant to
// do anything, go on from their checkpoints to the report of a run never killed:
// after each kill a copy of the checkpoint runs to its end, and the run itself
// goes on and is killed again, until it comes through.
func TestKilledRunsGoOnToTheSameBits(t *testing.T) {
	kills, _ := testkit.Times(t, killsEnv, 4)
	draw := rand.New(rand.NewPCG(5, 0))
	killed, resumed, writing, early, through := 0, 0, 0, 0, 0
	for i := 0; resumed < kills; i++ {
		run := keptRuns[i%len(keptRuns)]
		dir := t.TempDir()
		want := reportOf(t, run.flags...)
		path := filepath.Join(dir, "run.checkpoint")
		often := []string{"--checkpoint-every", strconv.Itoa(run.every)}
		begin := slices.Concat(run.flags, often, []string{"--checkpoint", path})
		start := time.Now()
		if got := reportOf(t, begin...); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: with checkpoints it gives %v, want %v", run.flags, got, want)
		}
		took := time.Since(start)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		for {
			flags := begin
			if _, err := os.Stat(path); err == nil {
				flags = slices.Concat(often, []string{"--resume", path})
			}
			cmd, stdout, stderr := trainingProcess(flags...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Duration(draw.Int64N(int64(took))), func() { _ = cmd.Process.Kill() })
			err := cmd.Wait()
			timer.Stop()
			if err == nil {
				through++
				if got := parsed(t, stdout); !reflect.DeepEqual(got, want) {
					t.Fatalf("%v: killed and resumed it gives %v, want %v", run.flags, got, want)
				}
				break
			}
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
				t.Fatalf("%v: %v: %s", cmd.Args, err, stderr)
			}
			killed++
			if len(temporary(t, path)) > 0 {
				writing++
			}
			text, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				early++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			twin := filepath.Join(t.TempDir(), "run.checkpoint")
			if err := os.WriteFile(twin, text, 0o666); err != nil {
				t.Fatal(err)
			}
			if got := reportOf(t, "--resume", twin); !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: resumed after kill %d it gives %v, want %v", run.flags, killed, got, want)
			}
			resumed++
			if resumed >= kills {
				took = time.Hour // so that the run comes through
			}
		}
		if left := temporary(t, path); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	t.Logf("%d kills, %d before there was a checkpoint and %d in the middle of writing one: %d resumes to the same "+
		"bits, and %d runs that came through",
		killed, early, writing, resumed, through)
	if kills >= 200 && writing == 0 {
		t.Error("no process was killed while it wrote a checkpoint")
	}
}

// SIGINT and SIGTERM write a checkpoint, whatever the clock says, and end with
// status 1 and how to go on.
func TestSignalsCheckpoint(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		// A run that is over before the signal comes has shown nothing: a longer one is
		// taken, until the signal is in time.
		inTime := false
		for computations := 520_000; !inTime && computations < 1e9; computations *= 4 {
			flags := strings.Fields("--data synth-phishing --clients 2 --grad-computations " +
				strconv.Itoa(computations))
			inTime = signalled(t, signal, flags)
		}
		if !inTime {
			t.Errorf("%v: no run was long enough to be stopped", signal)
		}
	}
}

// signalled sends a signal to a run that has begun, and reports whether it came in
// time: then the run has stopped as it must, and was resumed to the same report.
func signalled(t *testing.T, signal os.Signal, flags []string) (inTime bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.checkpoint")
	cmd, stdout, stderr := trainingProcess(slices.Concat(flags, []string{"--checkpoint", path})...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil { // the run has begun
			break
		}
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		return false
	}
	if cmd.ProcessState.ExitCode() != exitFailure || stdout.Len() > 0 ||
		!strings.Contains(stderr.String(), "continue with proactivedp train --resume "+path) {
		t.Fatalf("%v: %v, stdout %q, stderr %q", signal, cmd.ProcessState, stdout, stderr)
	}
	if left := temporary(t, path); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	want := reportOf(t, flags...)
	if got := reportOf(t, "--resume", path); !reflect.DeepEqual(got, want) {
		t.Errorf("%v: resumed it gives %v, want %v", signal, got, want)
	}
	// The checkpoint of a finished run gives the report again.
	if got := reportOf(t, "--resume", path); !reflect.DeepEqual(got, want) {
		t.Errorf("finished, it gives %v, want %v", got, want)
	}
	return true
}

// A disk that is full in the middle stops the run, and the last checkpoint is as
// it was: the run goes on from it when there is room. Two ways to be full: a file
// system of a few kilobytes, in a name space of its own, and the limit of a file's
// size.
func TestFullDiskKeepsTheLastCheckpoint(t *testing.T) {
	// The first checkpoint has one model, those after it one a client.
	flags := strings.Fields("--data synth-phishing --grad-computations 5200 --clients 200 --checkpoint-every 500")
	want := reportOf(t, flags[:len(flags)-2]...)
	for name, script := range map[string]string{
		"file system": `mount -t tmpfs -o size=64k none "$0" || exit 77; ` +
			`proactivedp train --checkpoint "$0/c" "$@"; status=$?; ` +
			`cp "$0/c" "$0/../kept" && ls -A "$0" && exit $status`,
		"file size": `ulimit -f 96 || exit 77; ` +
			`proactivedp train --checkpoint "$0/c" "$@"; status=$?; ` +
			`cp "$0/c" "$0/../kept" && ls -A "$0" && exit $status`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			disk, kept := filepath.Join(dir, "disk"), filepath.Join(dir, "kept")
			if err := os.Mkdir(disk, 0o777); err != nil {
				t.Fatal(err)
			}
			args := slices.Concat([]string{"sh", "-c", script, disk}, flags)
			if name == "file system" {
				args = slices.Concat([]string{"unshare", "--user", "--map-root-user", "--mount"}, args)
			}
			cmd := exec.Command(args[0], args[1:]...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			if code := cmd.ProcessState.ExitCode(); cmd.ProcessState == nil || code == 77 ||
				strings.Contains(stderr.String(), "unshare") {
				t.Skipf("this system does not let a test make a full disk: %v, %s", err, &stderr)
			} else if code != exitFailure {
				t.Fatalf("status %d, stdout %q, stderr %q", code, &stdout, &stderr)
			}
			if stdout.String() != "c\n" {
				t.Errorf("on the disk: %q, want the checkpoint alone", &stdout)
			}
			if text := stderr.String(); !strings.Contains(text, "no space left") &&
				!strings.Contains(text, "file too large") ||
				!strings.Contains(text, "the last checkpoint is unchanged") {
				t.Errorf("stderr %q", text)
			}
			if got := reportOf(t, "--resume", kept); !reflect.DeepEqual(got, want) {
				t.Errorf("with room again it gives %v, want %v", got, want)
			}
		})
	}
	cmd, stdout, stderr := trainingProcess(append(flags, "--checkpoint", "/dev/full")...)
	if err := cmd.Run(); err == nil || stdout.Len() > 0 || !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("a full device: %v, stdout %q, stderr %q", err, stdout, stderr)
	}
}
