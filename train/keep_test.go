package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"proactivedp/data"
	"proactivedp/internal/files"
	"proactivedp/rng"
	"proactivedp/sim"
)

func prepared(t *testing.T, s Spec, d *data.Dataset) *Prepared {
	t.Helper()
	p, err := s.Prepare(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// longSpec is long enough to be stopped: small runs look at the context seldom.
func longSpec() Spec {
	s := smallSpec()
	s.GradComps *= 200
	return s
}

func opened(t *testing.T, path string) *Checkpoint {
	t.Helper()
	c, err := OpenCheckpoint(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Notes about a run, such as the cost of finding its setting, are kept when it is stopped and resumed, and
// in the report of a finished checkpoint.
func TestCheckpointKeepsNotes(t *testing.T) {
	d, path := drawn(), filepath.Join(t.TempDir(), "run.checkpoint")
	p, keep := prepared(t, longSpec(), d), Keep{Path: path}
	p.Notes = []string{"found at a price"}
	for _, stopAt := range []int{100, 7100, math.MaxInt, math.MaxInt} {
		ctx, cancel := context.WithCancel(t.Context())
		o, seconds, err := p.RunKept(ctx, sim.Perf{}, func(b sim.Broadcast) {
			if b.K >= stopAt {
				cancel()
			}
		}, keep)
		cancel()
		if stopAt < math.MaxInt && !errors.Is(err, context.Canceled) || stopAt == math.MaxInt && err != nil {
			t.Fatalf("stopped at %d: %v", stopAt, err)
		}
		if err == nil {
			r, err := p.Report(t.Context(), o, seconds)
			if err != nil || !slices.Contains(r.Notes, "found at a price") {
				t.Errorf("%v, notes %q", err, r.Notes)
			}
		}
		keep.From = opened(t, path)
		if p, err = keep.From.Prepare(d); err != nil {
			t.Fatal(err)
		}
	}
}

// A run that is stopped repeatedly, and continued each time as in a new process, gives the report of an
// uninterrupted run. Only the seconds differ: they are added up.
func TestStoppedTrainingGoesOn(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"plain":    func(*Spec) {},
		"momentum": func(s *Spec) { s.Momentum, s.Eta0 = 0.9, 0.01 },
		"zero":     func(s *Spec) { s.Schedule, s.Beta = "zero", 0 },
		"ema":      func(s *Spec) { s.Average = "ema:0.999" },
		"tail":     func(s *Spec) { s.Average, s.Momentum = "tail:0.9", 0.5 },
	} {
		if testing.Short() && name != "plain" && name != "tail" {
			continue // nothing else runs at the same time in these
		}
		s := longSpec()
		change(&s)
		t.Run(name, func(t *testing.T) { testStoppedGoesOn(t, s) })
	}
}

func testStoppedGoesOn(t *testing.T, s Spec) {
	d, path := drawn(), filepath.Join(t.TempDir(), "run.checkpoint")
	p := prepared(t, s, d)
	want, err := p.Train(t.Context(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	keep := Keep{Path: path}
	before := 0.0
	for stopAt := 100; stopAt < 9000; stopAt += 7000 {
		ctx, cancel := context.WithCancelCause(t.Context())
		planted := errors.New("planted interrupt")
		_, seconds, err := p.RunKept(ctx, sim.Perf{}, func(b sim.Broadcast) {
			if b.K >= stopAt {
				cancel(planted)
			}
		}, keep)
		if !errors.Is(err, planted) || !strings.Contains(err.Error(), "saved in "+path) {
			t.Fatalf("error %v", err)
		}
		c := opened(t, path)
		if c.Updates < stopAt*5 || c.Finished || c.Seconds <= before || c.Seconds > seconds {
			t.Fatalf("stopped at round %d: %d updates, %v seconds after %v, finished: %v", stopAt, c.Updates, c.Seconds,
				before, c.Finished)
		}
		before = c.Seconds
		if p, err = c.Prepare(d); err != nil {
			t.Fatal(err)
		}
		keep.From = c
	}
	for range 2 { // to the end, and from the end
		got, err := p.TrainKept(t.Context(), sim.Perf{}, nil, keep)
		if err != nil {
			t.Fatal(err)
		}
		if got.Seconds <= before {
			t.Errorf("%v seconds, after %v", got.Seconds, before)
		}
		got.Seconds = want.Seconds
		if !reflect.DeepEqual(got, want) {
			t.Errorf("resumed: %+v, want %+v", got, want)
		}
		keep.From = opened(t, path)
		if !keep.From.Finished {
			t.Error("the run is over and its checkpoint does not say so")
		}
	}
}

// Checkpoints are written when they are due, by the number of updates or by the clock.
func TestCheckpointsAreWrittenWhenDue(t *testing.T) {
	p := prepared(t, smallSpec(), drawn())
	for _, every := range []int{0, 1, 60} {
		path := filepath.Join(t.TempDir(), "run.checkpoint")
		var k *keeper
		seen := map[int]bool{}
		v, err := sim.NewVirtual(p.Config, sim.Perf{}, func(b sim.Broadcast) {
			if b.K == 20 || b.K == 40 {
				k.due.Store(true) // the alarm does so
			}
			seen[opened(t, path).Updates] = true
		})
		if err != nil {
			t.Fatal(err)
		}
		k = &keeper{Keep: Keep{Path: path, Every: every}, run: v, identity: p.identity(), begun: time.Now()}
		if _, err := k.train(t.Context()); err != nil {
			t.Fatal(err)
		}
		least, most := 3, 3 // checkpoints at the start, when the alarm rang and at the end
		switch every {
		case 1:
			least, most = 40, 50 // about one checkpoint a broadcast
		case 60:
			least, most = 5, 5 // checkpoints at 0, 60, 120, 180 and 240 updates
		}
		if len(seen) < least || len(seen) > most {
			t.Errorf("every %d: checkpoints of %v updates", every, seen)
		}
	}
	if a, b := pause(time.Millisecond), pause(time.Minute); a != 30*time.Second || b != 19*time.Minute {
		t.Errorf("pauses of %v and %v", a, b)
	}
}

// If the last checkpoint of a finished run cannot be written, the result is still returned.
func TestReportSurvivesTheLastCheckpoint(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	p := prepared(t, smallSpec(), drawn())
	r, _, err := p.RunKept(t.Context(), sim.Perf{}, func(b sim.Broadcast) {
		if b.K == 50 {
			os.RemoveAll(dir)
		}
	}, Keep{Path: filepath.Join(dir, "run.checkpoint")})
	if r == nil || err == nil {
		t.Errorf("result %v, error %v, want both", r, err)
	}
	if _, _, err := p.RunKept(t.Context(), sim.Perf{}, nil,
		Keep{Path: filepath.Join(dir, "run.checkpoint")}); err == nil {
		t.Error("trained with a checkpoint that cannot be written")
	}
}

func TestForeignCheckpointsAreRefused(t *testing.T) {
	d, dir := drawn(), t.TempDir()
	path := filepath.Join(dir, "run.checkpoint")
	p := prepared(t, smallSpec(), d)
	if _, _, err := p.RunKept(t.Context(), sim.Perf{}, nil, Keep{Path: path}); err != nil {
		t.Fatal(err)
	}
	c := opened(t, path)

	other := drawn()
	other.Value[0]++
	if _, err := c.Prepare(other); err == nil || !strings.Contains(err.Error(), other.Hash()) ||
		!strings.Contains(err.Error(), d.Hash()) {
		t.Errorf("other data: %v, want both hashes", err)
	}
	for want, id := range map[string]identity{
		"version of the code": {c.Spec, c.Data, c.Code - 1, c.Kernels, c.Arch, nil},
		"kernels":             {c.Spec, c.Data, c.Code, "portable", c.Arch, nil},
		"architecture":        {c.Spec, c.Data, c.Code, c.Kernels, "other than " + runtime.GOARCH, nil},
		"config":              {Spec{}, c.Data, c.Code, c.Kernels, c.Arch, nil},
	} {
		if err := c.identity.goesOn(id); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("another %s: error %v", want, err)
		}
	}
	if err := c.identity.goesOn(c.identity); err != nil {
		t.Error(err)
	}

	// A header with what this program does not know.
	unknown := filepath.Join(dir, "unknown")
	v, err := sim.NewVirtual(p.Config, sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range []string{`{"config":{"model":"logreg","telepathy":true}}`, `no JSON`, ``} {
		var b bytes.Buffer
		if err := v.WriteCheckpoint(&b, []byte(header), nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(unknown, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenCheckpoint(unknown, nil); err == nil || !strings.Contains(err.Error(), unknown) {
			t.Errorf("header %q: error %v", header, err)
		}
	}
	if _, err := OpenCheckpoint(dir, nil); err == nil {
		t.Error("a folder was opened")
	}
}

// A new run replaces the checkpoint of a finished run, but no file whose content would be lost.
func TestCheckKeep(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.checkpoint")
	check := func(what string, want bool) {
		t.Helper()
		if err := CheckKeep(path, nil); (err == nil) != want || err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	check("no file", true)
	write("")
	check("an empty file", true)
	write("my thesis")
	check("somebody's file", false)
	p := prepared(t, longSpec(), drawn())
	ctx, cancel := context.WithCancel(t.Context())
	write("")
	if _, _, err := p.RunKept(ctx, sim.Perf{}, func(sim.Broadcast) { cancel() }, Keep{Path: path}); err == nil {
		t.Fatal("not stopped")
	}
	check("a run that is not finished", false)
	write("")
	if _, _, err := p.RunKept(t.Context(), sim.Perf{}, nil, Keep{Path: path}); err != nil {
		t.Fatal(err)
	}
	check("a finished run", true)
	write("proactivedp checkpoint\n, half of it")
	check("a damaged one", false)
	if err := CheckKeep(os.DevNull, nil); err != nil {
		t.Error(err)
	}
}

func TestCanKeep(t *testing.T) {
	s := smallSpec()
	if err := s.CanKeep(); err != nil {
		t.Error(err)
	}
	s.Runner, s.SeedFromOS = HogwildRunner, true
	if err := s.CanKeep(); err == nil || len(strings.Split(err.Error(), "\n")) != 2 {
		t.Errorf("error %v, want two", err)
	}
	p, err := s.Prepare(drawn(), rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.TrainKept(t.Context(), sim.Perf{}, nil, Keep{Path: filepath.Join(t.TempDir(), "x")}); err == nil {
		t.Error("hogwild kept a checkpoint")
	}
}

// All numbers of a checkpoint's header are read back unchanged.
func TestHeaderRoundTrip(t *testing.T) {
	h := header{identity: identity{DefaultSpec(), "x", 1, "portable", "y", nil}, Updates: 3, Seconds: 0.1 + 0.2,
		Watched: json.RawMessage(`{"a":0.30000000000000004}`)}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var got header
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, h) {
		t.Errorf("%+v, error %v, want %+v", got, err, h)
	}
}

// Two processes cannot keep their runs in one file: the second is refused by name, whether it begins a run
// or resumes one.
func TestCheckpointBelongsToOneRun(t *testing.T) {
	d, path := drawn(), filepath.Join(t.TempDir(), "run.checkpoint")
	p := prepared(t, longSpec(), d)
	ctx, cancel := context.WithCancelCause(t.Context())
	first := true
	stop := func(sim.Broadcast) {
		if first {
			first = false
			_, _, err := p.RunKept(t.Context(), sim.Perf{}, nil, Keep{Path: path})
			if !errors.Is(err, files.ErrHeld) || !strings.Contains(err.Error(), path) {
				t.Errorf("a second run beside the first: %v", err)
			}
			cancel(errors.New("enough"))
		}
	}
	if _, _, err := p.RunKept(ctx, sim.Perf{}, stop, Keep{Path: path}); err == nil {
		t.Fatal("the run was not stopped")
	}
	from := opened(t, path)
	lock, err := files.LockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = p.RunKept(t.Context(), sim.Perf{}, nil, Keep{Path: path, From: from})
	if !errors.Is(err, files.ErrHeld) {
		t.Errorf("going on while another process has the file: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	// A run that nobody finished is not replaced by one that looked before it began.
	_, _, err = p.RunKept(t.Context(), sim.Perf{}, nil, Keep{Path: path})
	if err == nil || !strings.Contains(err.Error(), "unfinished run") {
		t.Errorf("a new run in the place of the unfinished one: %v", err)
	}
	if _, _, err := p.RunKept(t.Context(), sim.Perf{}, nil, Keep{Path: path, From: from}); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// A checkpoint with another σ and a new digest is refused, because its ledgers have the old σ. With a key,
// every change is detected.
func TestForgedCheckpointsAreRefused(t *testing.T) {
	d, dir := drawn(), t.TempDir()
	p := prepared(t, smallSpec(), d)
	key := []byte("a secret of some length")
	forge := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		was := fmt.Sprintf(`"sigma":%v`, p.Spec.NoiseMultiplier)
		if bytes.Count(text, []byte(was)) != 1 {
			t.Fatalf("no %s in the header", was)
		}
		// The length of the header stays.
		is := strings.Replace(was, was[len(was)-1:], string('1'+(was[len(was)-1]-'0')%9), 1)
		text = bytes.Replace(text, []byte(was), []byte(is), 1)
		body := text[:len(text)-sha256.Size]
		sum := sha256.Sum256(body)
		if err := os.WriteFile(path, append(body, sum[:]...), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, k := range map[string]Keep{"plain": {}, "keyed": {Key: key}} {
		k.Path = filepath.Join(dir, name)
		if _, _, err := p.RunKept(t.Context(), sim.Perf{}, nil, k); err != nil {
			t.Fatal(err)
		}
		if c, err := OpenCheckpoint(k.Path, k.Key); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if err := c.Close(); err != nil {
			t.Error(err)
		}
		forge(k.Path)
		c, err := OpenCheckpoint(k.Path, k.Key)
		if k.Key != nil {
			if !errors.Is(err, sim.ErrKey) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		forged, err := c.Prepare(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := forged.RunKept(t.Context(), sim.Perf{}, nil, Keep{From: c}); !errors.Is(err, errReleased) {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A finished run gives its report again and writes nothing. It removes the temporary files of a process
// that was killed after its last checkpoint.
func TestFinishedRunsLeaveNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	p := prepared(t, smallSpec(), drawn())
	if _, _, err := p.RunKept(t.Context(), sim.Perf{}, nil, Keep{Path: path}); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{".run.lock", ".run.ABCDEFGHIJKLMNOPQRSTUVWXYZ.tmp"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), left), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c, err := OpenCheckpoint(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := p.RunKept(t.Context(), sim.Perf{}, nil, Keep{Path: path, From: c}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
