package cluster

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/journal"
	"proactivedp/cluster/internal/wire"
	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// enough is how long anything in these tests may take: many times what it takes on a machine that has much other work.
// Only what never ends takes as long.
const enough = 5 * time.Minute

// drawn is a small data set of 400 rows and 20 features.
func drawn() *data.Dataset { return synth.OneHot(rng.New(3), 400) }

// smallSpec is a training of three clients on drawn, of so many rounds.
func smallSpec(rounds int) train.Spec {
	s := train.DefaultSpec()
	s.Data, s.Clients, s.SampleSize, s.GradComps = "synth-drawn", 3, "6", 6*rounds
	s.Runner = train.DistributedRunner
	return s
}

func prepare(t testing.TB, s train.Spec, d *data.Dataset) *train.Prepared {
	t.Helper()
	p, err := s.Prepare(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run is a distributed training in this process.
type testRun struct {
	t      testing.TB
	spec   train.Spec
	data   *data.Dataset
	dir    string
	listen string // "": the clients connect past the network
	serve  func(*ServeOptions)
	join   func(*JoinOptions)
	quiet  bool          // what is sent is not kept
	chunk  wire.Chunk    // 0: the largest
	within time.Duration // 0: enough

	mu     sync.Mutex
	sent   map[[2]int][]float32 // by client and round
	broker *broker.Broker
	ready  chan struct{}
}

func newTestRun(t testing.TB, s train.Spec, d *data.Dataset) *testRun {
	return &testRun{t: t, spec: s, data: d, dir: t.TempDir(), sent: map[[2]int][]float32{}, ready: make(chan struct{})}
}

func (r *testRun) clientDir(client int) string {
	return filepath.Join(r.dir, fmt.Sprintf("client-%d", client))
}
func (r *testRun) serverDir() string { return filepath.Join(r.dir, "server") }

// noteSent keeps what a client releases, and fails where a round is released twice.
func (r *testRun) noteSent(client int) func(journal.Release, []float32) {
	return func(release journal.Release, u []float32) {
		r.mu.Lock()
		defer r.mu.Unlock()
		key := [2]int{client, release.Round}
		if old, twice := r.sent[key]; twice && !slices.Equal(old, u) {
			r.t.Errorf("client %d released round %d twice", client, release.Round)
		}
		r.sent[key] = slices.Clone(u)
	}
}

func (r *testRun) serveOptions() ServeOptions {
	o := ServeOptions{
		Prepared: prepare(r.t, r.spec, r.data), Dir: r.serverDir(), Engine: broker.Engine{Listen: r.listen},
		SaveEvery: 50 * time.Millisecond,
		started: func(b *broker.Broker) {
			r.broker = b
			close(r.ready)
		},
	}
	if r.serve != nil {
		r.serve(&o)
	}
	return o
}

func (r *testRun) joinOptions(client int) JoinOptions {
	o := JoinOptions{
		Client: client, Dir: r.clientDir(client), release: r.noteSent(client),
		Prepare: func(a *Announcement) (*train.Prepared, error) { return a.Prepare(r.data) },
		connect: func(ctx context.Context, p broker.Peer) (*nats.Conn, error) {
			select {
			case <-r.ready:
				return r.broker.Connect(ctx, p)
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
	}
	if r.quiet {
		o.release = nil
	}
	if r.join != nil {
		r.join(&o)
	}
	return o
}

// newServer returns the run's server without a broker.
func (r *testRun) newServer() *server {
	r.t.Helper()
	if err := os.MkdirAll(r.serverDir(), 0o700); err != nil {
		r.t.Fatal(err)
	}
	s, err := newServer(r.t.Context(), r.serveOptions())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(s.record.close)
	return s
}

// startOthers starts the server and all clients but client 0. It returns a channel with the server's
// report.
func (r *testRun) startOthers(ctx context.Context, cancel func()) <-chan *Report {
	var all sync.WaitGroup
	r.t.Cleanup(all.Wait)
	served := make(chan *Report, 1)
	all.Go(func() {
		report, err := Serve(ctx, r.serveOptions())
		if err != nil {
			r.t.Errorf("server: %v", err)
			cancel()
		}
		served <- report
	})
	for c := 1; c < r.spec.Clients; c++ {
		all.Go(func() {
			if _, err := Join(ctx, r.joinOptions(c)); err != nil {
				r.t.Errorf("client %d: %v", c, err)
			}
		})
	}
	return served
}

// run trains to the end.
func (r *testRun) run(ctx context.Context) (*Report, []*JoinReport) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.within, enough))
	defer cancel()
	var all sync.WaitGroup
	joined := make([]*JoinReport, r.spec.Clients)
	for c := range joined {
		all.Go(func() {
			var err error
			if joined[c], err = Join(ctx, r.joinOptions(c)); err != nil {
				r.t.Errorf("client %d: %v", c, err)
				cancel()
			}
		})
	}
	report, err := Serve(ctx, r.serveOptions())
	if err != nil {
		r.t.Errorf("server: %v", err)
		cancel()
	}
	all.Wait()
	if r.t.Failed() {
		r.t.FailNow()
	}
	return report, joined
}

// checkFold checks that the result is the fold of what was sent in the order in which it
// was applied, each update once, with the digests that were sent.
func (r *testRun) checkFold(report *Report) {
	r.t.Helper()
	f, err := os.Open(filepath.Join(r.serverDir(), appliedFile))
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		r.t.Fatal(err)
	}
	p := prepare(r.t, r.spec, r.data)
	fold, err := sim.NewServer(p.Config)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, row := range rows[1:] {
		client, _ := strconv.Atoi(row[0])
		round, _ := strconv.Atoi(row[1])
		u := r.sent[[2]int{client, round}]
		if u == nil || fold.Has(client, round) {
			r.t.Fatalf("round %d of client %d was applied, sent: %v, before: %v", round, client, u != nil,
				fold.Has(client, round))
		}
		if _, err := fold.Receive(sim.Update{Client: client, Round: round, U: u}); err != nil {
			r.t.Fatal(err)
		}
	}
	if want := p.Config.Run().Rounds * r.spec.Clients; len(rows)-1 != want-r.missing(report) || !fold.Done() &&
		len(report.Expelled) == 0 {
		r.t.Errorf("%d updates were applied, want %d", len(rows)-1, want)
	}
	if want := int64(report.Updates) * cmp.Or(r.chunk, wire.MaxChunk).Bytes(len(fold.Model())); report.Received != want {
		r.t.Errorf("%d bytes of %d updates were received, want %d", report.Received, report.Updates, want)
	}
	if got := paramsSHA256(fold.Model()); got != report.ParamsSHA256 {
		r.t.Errorf("the fold of what was sent is %s, the result %s", got, report.ParamsSHA256)
	}
}

// missing is how many updates of clients that were expelled are not in.
func (r *testRun) missing(report *Report) int {
	return report.Rounds*r.spec.Clients - report.Updates
}

// counter counts the records of a log that have this message.
type counter struct {
	slog.Handler
	message string
	n       atomic.Int64
}

func (c *counter) Enabled(context.Context, slog.Level) bool { return true }

func (c *counter) Handle(_ context.Context, r slog.Record) error {
	if r.Message == c.message {
		c.n.Add(1)
	}
	return nil
}

// The server logs its progress once in each beat, however often it checks it.
func TestProgressIsLoggedOnceInABeat(t *testing.T) {
	r := newTestRun(t, smallSpec(6), drawn())
	c := &counter{Handler: slog.DiscardHandler, message: "progress"}
	r.serve = func(o *ServeOptions) { o.Log = slog.New(c) }
	s := r.newServer()
	s.told = time.Time{}
	for range 3 {
		s.told = s.told.Add(-beat) // as if a beat had passed
		begun := time.Now()
		before := c.n.Load()
		s.tell()
		s.tell()
		if n := c.n.Load() - before; n != 1 && time.Since(begun) < beat {
			t.Errorf("progress is logged %d times", n)
		}
	}
}
