package cluster

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"proactivedp/cluster/internal/journal"
	"proactivedp/cluster/internal/wire"
	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/train"
)

// joinOnce serves the run to client 0 alone, and returns the error with which the client ends.
func (r *testRun) joinOnce(t *testing.T) error {
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	var server sync.WaitGroup
	defer server.Wait()
	defer cancel()
	server.Go(func() { _, _ = Serve(ctx, r.serveOptions()) })
	once, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	_, err := Join(once, r.joinOptions(0))
	return err
}

// refuseAll serves the run and checks that client 0 refuses it in these words, and that nothing was
// released.
func (r *testRun) refuseAll(t *testing.T, words string) {
	t.Helper()
	if err := r.joinOnce(t); err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%v, want %q", err, words)
	}
	j, err := journal.Open(r.clientDir(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if text, _ := j.Pinned(); text != nil || len(r.sent) > 0 {
		t.Errorf("the journal is of %s, and %d releases were made", text, len(r.sent))
	}
}

// A client whose options do not mention ε sends no gradients to a server that announces σ = 0.
func TestARunWithoutNoiseIsNotJoined(t *testing.T) {
	s := smallSpec(5)
	s.NoiseMultiplier = 0
	newTestRun(t, s, drawn()).refuseAll(t, "no ε can be certified for the run")
}

// A client with its own records does not join unless its options say how much ε they may cost at most.
func TestOwnRecordsNeedAMaximum(t *testing.T) {
	r := newTestRun(t, smallSpec(5), drawn())
	r.join = func(o *JoinOptions) {
		o.Prepare = func(a *Announcement) (*train.Prepared, error) { return a.PrepareOwn(drawn(), o.Client) }
	}
	r.refuseAll(t, "max-epsilon is missing")
}

// A client compares its maximum with the certified ε of all rounds. It uses its own δ, which the server
// cannot choose.
func TestMaxEpsilonIsKept(t *testing.T) {
	t.Parallel()
	s := smallSpec(5)
	s.NoiseMultiplier, s.Delta = 0.5, 0.99 // at which anything is cheap
	r := newTestRun(t, s, drawn())
	r.join = func(o *JoinOptions) { o.MaxEpsilon = 0.5 }
	r.refuseAll(t, "max-epsilon = 0.5: the run would cost a record here ε ≤ ")
	s.NoiseMultiplier, s.Delta = 0, 0
	r = newTestRun(t, s, drawn())
	r.join = func(o *JoinOptions) { o.MaxEpsilon = 1e4 }
	r.refuseAll(t, "max-epsilon = 10000: no ε can be certified for the run")
	for _, bad := range []float64{-1, math.NaN(), math.Inf(-1), 1e-9, 1e5} {
		if _, err := Join(t.Context(), JoinOptions{Dir: t.TempDir(), MaxEpsilon: bad}); err == nil ||
			!strings.Contains(err.Error(), "epsilon") {
			t.Errorf("max epsilon %v: %v", bad, err)
		}
	}
}

// The rounds of lost journals count towards the maximum ε. A client that replaces a lost journal pays for
// all rounds of the lost one, too, whether the user or the server says that it was lost.
func TestMaxEpsilonCountsLostJournals(t *testing.T) {
	s := smallSpec(5)
	s.NoiseMultiplier, s.Delta = 0.5, 1e-5
	r := newTestRun(t, s, drawn())
	p := *prepare(t, s, drawn())
	p.Delta = min(p.Delta, 1/float64(p.Config.Mechanism.DatasetSize))
	once, err := planned(t.Context(), &p, 0)
	if err != nil {
		t.Fatal(err)
	}
	o := r.joinOptions(0)
	o.MaxEpsilon = *once.Certified.PerRecord.EpsilonUpper * 1.01
	for _, replace := range []bool{true, false} { // what the server says is kept
		o.Replace = replace
		c, err := newClient(o)
		if err != nil {
			t.Fatal(err)
		}
		c.prepared, c.about = &p, &Announcement{Rounds: 5, Chunk: int(wire.MaxChunk)}
		if err := c.affords(t.Context()); (err != nil) != replace ||
			err != nil && !strings.Contains(err.Error(), "with all rounds of 1 lost journal") {
			t.Errorf("replace %v: %v", replace, err)
		}
		if !replace {
			err := errors.Join(c.journal.Pin([]byte("run"), 0, 3), c.takeOver(&answer{Replaced: 2, Highest: -1}))
			if err := errors.Join(err, c.affords(t.Context())); err == nil ||
				!strings.Contains(err.Error(), "with all rounds of 2 lost journals") {
				t.Errorf("as the server says: %v", err)
			}
		}
		if err := c.journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A client that does not agree to the cost that it is shown releases nothing.
func TestAClientThatDoesNotAgreeReleasesNothing(t *testing.T) {
	r := newTestRun(t, smallSpec(5), drawn())
	errNo := errors.New("too much")
	r.join = func(o *JoinOptions) { o.Agree = func(*Announcement, Statement) error { return errNo } }
	if err := r.joinOnce(t); !errors.Is(err, errNo) || len(r.sent) > 0 {
		t.Errorf("%v, and %d releases were made", err, len(r.sent))
	}
}

// A client joins a run without noise if its options explicitly accept any ε.
func TestARunWithoutNoiseIsJoinedByName(t *testing.T) {
	s := smallSpec(5)
	s.NoiseMultiplier = 0
	r := newTestRun(t, s, drawn())
	r.join = func(o *JoinOptions) { o.MaxEpsilon = math.Inf(1) }
	report, _ := r.run(t.Context())
	r.checkFold(report)
}

// If the releases of a part would differ from those that the client stated before it joined, the part is
// refused, whichever function prepared it.
func TestAClientReleasesWhatItStates(t *testing.T) {
	for what, change := range map[string]func(*train.Prepared){
		"adapt":                func(p *train.Prepared) { p.Config.Adapt = 1000 },
		"different mechanisms": func(p *train.Prepared) { p.Config.Own = make([]dp.Mechanism, 3) },
	} {
		p := *prepare(t, smallSpec(5), drawn())
		config := *p.Config
		p.Config = &config
		change(&p)
		c := &client{JoinOptions: JoinOptions{MaxEpsilon: math.Inf(1)}, prepared: &p}
		if err := c.affords(t.Context()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		if p.Config.Own == nil {
			continue
		}
		if _, err := announce("0123456789abcdef", &p, wire.MaxChunk); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("a server announces %s: %v", what, err)
		}
	}
}

// The journal keeps the announcement that the client agreed to. If the server later announces the same run
// with less noise, the client refuses it.
func TestALaterAnnouncementChangesNothing(t *testing.T) {
	p := prepare(t, smallSpec(5), drawn())
	about, err := announce("0123456789abcdef", p, wire.MaxChunk)
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := client{about: about, prepared: p, journal: j}
	if err := c.pin(); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*train.Spec){
		"noise":     func(s *train.Spec) { s.NoiseMultiplier /= 2 },
		"clipping":  func(s *train.Spec) { s.Clip *= 2 },
		"rounds":    func(s *train.Spec) { s.GradComps *= 2 },
		"sizes":     func(s *train.Spec) { s.SampleSize = "3" },
		"sampling":  func(s *train.Spec) { s.Sampling = string(dp.FixedSize) },
		"partition": func(s *train.Spec) { s.Partition = string(data.Shard) },
		"delta":     func(s *train.Spec) { s.Delta = 0.1 },
		"exact":     func(s *train.Spec) { s.Exact = !s.Exact },
	} {
		s := smallSpec(5)
		change(&s)
		p := prepare(t, s, drawn())
		c := client{prepared: p, journal: j}
		if c.about, err = announce("0123456789abcdef", p, wire.MaxChunk); err != nil {
			t.Fatal(err)
		}
		if err := c.pin(); err == nil || !strings.Contains(err.Error(), "belongs to another run") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
