//go:build unix && !race

package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"proactivedp/internal/testkit"
)

// loopFlags are of loops of several stages, that end without satisfaction.
var loopFlags = [][]string{
	strings.Fields("--data synth-phishing --probe synthetic --clip 1 --eta0 0.005 --epsilon 0.5,2 --target-accuracy 0.99 --partition shard"),
	strings.Fields("--data synth-phishing --strategy paper --probe synthetic --clip 1 --eta0 0.005 --epsilon 1 --target-accuracy 0.99"),
	strings.Fields("--data synth-phishing --probe synthetic --epsilon 1 --target-accuracy 0.99 --average tail:0.3 " +
		"--momentum 0.5 --input-scale 0.5"),
}

// mostEnded is how often one loop is ended at most: then it is left alone, so that there is
// an end to compare. A loop that is always ended before its stage is kept would never come
// through.
const mostEnded = 3

// firstStage is a loop's stderr, and when it told of its first stage.
type firstStage struct {
	text bytes.Buffer
	at   time.Time
}

func (f *firstStage) String() string { return f.text.String() }

func (f *firstStage) Write(text []byte) (int, error) {
	if f.at.IsZero() && bytes.Contains(text, []byte("stage 0:")) {
		f.at = time.Now()
	}
	return f.text.Write(text)
}

// Loops whose processes are ended at random times, by SIGKILL, which leaves them no instant,
// or by SIGTERM, after which they keep the stage under way, go on to the journal, model
// and report of a loop that was never ended.
func TestKilledLoopsGoOnToTheSameBits(t *testing.T) {
	kills, _ := testkit.Times(t, killsEnv, 2)
	draw := rand.New(rand.NewPCG(6, 0))
	loop := func(dir string, flags []string) (*exec.Cmd, *bytes.Buffer, *firstStage) {
		cmd := exec.Command("proactivedp", append([]string{"auto", "--json", "--dir", "run"}, flags...)...)
		cmd.Dir = dir // the report names the model's file
		var stdout bytes.Buffer
		stderr := &firstStage{}
		cmd.Stdout, cmd.Stderr = &stdout, stderr
		return cmd, &stdout, stderr
	}
	journal := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "run", "journal.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	whole := make([]*wholeLoop, len(loopFlags))
	ended, kept, begun, through := 0, 0, 0, 0
	for i := 0; ended < kills; i++ {
		flags := loopFlags[i%len(loopFlags)]
		want := whole[i%len(loopFlags)]
		if want == nil {
			dir := t.TempDir()
			start := time.Now()
			cmd, stdout, stderr := loop(dir, flags)
			if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitFailure || stdout.Len() == 0 {
				t.Fatalf("%v: %v: %s", cmd.Args, err, stderr)
			}
			want = &wholeLoop{stdout.String(), journal(dir), time.Since(start), stderr.at.Sub(start)}
			whole[i%len(loopFlags)] = want
		}
		dir := t.TempDir()
		most := 1 + draw.IntN(mostEnded)
		for tries := 0; ; tries++ {
			cmd, stdout, stderr := loop(dir, flags)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			signal := []os.Signal{syscall.SIGKILL, syscall.SIGTERM}[draw.IntN(2)]
			// One in four is ended while it makes the utility graph, if it has none, the rest
			// when there is a journal.
			done := make(chan bool)
			early := draw.IntN(4) == 0
			after := time.Duration(draw.Int64N(int64(want.took - want.probing)))
			go func() {
				if tries >= most {
					return
				}
				for !early {
					if _, err := os.Stat(filepath.Join(dir, "run", "journal.json")); err == nil {
						break
					}
					select {
					case <-done:
						return
					case <-time.After(time.Millisecond):
					}
				}
				select {
				case <-done:
				case <-time.After(after):
					_ = cmd.Process.Signal(signal)
				}
			}()
			err := cmd.Wait()
			close(done)
			if stdout.Len() > 0 && cmd.ProcessState.ExitCode() == exitFailure {
				through++
				if stdout.String() != want.report || journal(dir) != want.journal {
					t.Fatalf("%v: ended and gone on with it gives %s, want %s", flags, stdout, want.report)
				}
				break
			}
			status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
			interrupted := cmd.ProcessState.ExitCode() == exitFailure && signal == syscall.SIGTERM
			if !interrupted && (!ok || status.Signal() != signal) {
				t.Fatalf("%v: %v: %s", cmd.Args, err, stderr)
			}
			ended++
			if _, err := os.Stat(filepath.Join(dir, "run", "stage.checkpoint")); err == nil {
				kept++
			}
			if _, err := os.Stat(filepath.Join(dir, "run", "journal.json")); err == nil {
				begun++
			}
		}
	}
	t.Logf("%d processes ended, %d with a journal, %d with a stage kept; %d loops came through", ended, begun, kept,
		through)
	if 4*through < ended {
		t.Errorf("%d loops were compared after %d processes were ended, must be one in four at least", through, ended)
	}
}

// wholeLoop is what a loop that was never ended gave, and how long it and its probes took.
type wholeLoop struct {
	report, journal string
	took, probing   time.Duration
}
