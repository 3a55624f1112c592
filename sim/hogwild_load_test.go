package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"proactivedp/rng"
)

// loadTime says how long Hogwild is under load, and in how many runs at most: 100 runs in a few
// seconds, or any number in the time that PROACTIVEDP_LOAD says, such as 10m.
func loadTime(t *testing.T) (time.Duration, int) {
	t.Helper()
	text := os.Getenv("PROACTIVEDP_LOAD")
	if text == "" {
		return 4 * time.Second, 100
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d, math.MaxInt
}

// ending is how a run under load ends.
type ending string

const (
	completes      ending = "completes"
	isCancelled    ending = "is cancelled"
	clientFails    ending = "client fails"
	clientPanics   ending = "client panics"
	observerPanics ending = "observer panics"
)

var errPlanted = errors.New("planted fault")

// load is one run: so many clients of a model of so many parameters, and what
// becomes of it. Uneven clients compute, sleep or give way for times of their own.
type load struct {
	procs, clients, params int
	delay                  Delay
	uneven                 bool
	end                    ending
	after                  int  // so many computed rounds; microseconds until it is cancelled
	late                   bool // a fault: it is cancelled when more rounds have begun than may from then on
}

func (l load) String() string {
	return fmt.Sprintf("%d processors, %d clients, %d parameters, Υ %v, uneven %t, %s after %d", l.procs, l.clients,
		l.params, l.delay, l.uneven, l.end, l.after)
}

// maxLoadParams bounds the parameters of all clients together, and
// maxLoadClients the goroutines: the race detector knows 8,128.
const (
	maxLoadParams  = 1 << 21
	maxLoadClients = 3000
)

// drawLoad returns the n-th load.
func drawLoad(n int) load {
	s := rng.New(1).Stream(rng.Synthetic, 0, n)
	l := load{
		procs:   pick(s, 1, 2, 8),
		clients: pick(s, 1, 2, 5, 33, 1000, maxLoadClients),
		delay:   pick[Delay](s, AtMost(0), AtMost(1), AtMost(3), Unlimited{}),
		uneven:  s.IntN(2) == 0,
		end:     pick(s, completes, isCancelled, isCancelled, clientFails, clientPanics, observerPanics),
		after:   s.IntN(200),
	}
	if l.end == isCancelled {
		l.after = int(math.Exp(s.Float64() * math.Log(50_000)))
	}
	l.params = min(pick(s, 1, 69, 5000, 1<<19), maxLoadParams/l.clients)
	return l
}

func pick[T any](s *rng.Stream, choices ...T) T { return choices[s.IntN(len(choices))] }

// config is the load's run, short if it is to complete, else much longer than until its
// end, and how many rounds of it have begun.
func (l load) config() (cfg *Config, begun *atomic.Int64) {
	rounds := 300_000
	if l.end == completes {
		rounds = 1 + min(200, 3000/l.clients)
	}
	cfg, begun = handDriven(l.clients, rounds, l.delay), new(atomic.Int64)
	cfg.Model = heavy{params: l.params, passes: 1, scratch: 10}
	cfg.Mechanism.NoiseMultiplier, cfg.Steps.Eta0 = 1, 1e-6
	cfg.Substitute = func(c *Client, u []float32, ws *Workspace) error {
		if l.uneven {
			dawdle(c.ID())
		}
		if begun.Add(1) > int64(l.after) {
			switch l.end {
			case clientFails:
				return errPlanted
			case clientPanics:
				panic(errPlanted)
			}
		}
		return c.Release(u, ws)
	}
	return cfg, begun
}

// dawdle makes some clients slow, each in its way.
func dawdle(client int) {
	switch client % 8 {
	case 1:
		time.Sleep(100 * time.Microsecond)
	case 0:
		for start := time.Now(); time.Since(start) < 20*time.Microsecond; {
		}
	case 2:
		runtime.Gosched()
	}
}

// run runs the load and reports what was not as it should be.
func (l load) run() error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(l.procs))
	cfg, begun := l.config()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	before, counted := int64(0), make(chan struct{}) // rounds that had begun when it was cancelled
	if l.end == isCancelled {
		stop := time.AfterFunc(time.Duration(l.after)*time.Microsecond, func() {
			defer close(counted)
			if !l.late {
				cancel(errPlanted)
			}
			before = begun.Load()
			for l.late && begun.Load() <= before+int64(l.clients) {
				time.Sleep(time.Millisecond)
			}
			cancel(errPlanted)
		})
		defer stop.Stop()
	}
	r, err := Hogwild(ctx, cfg, func(Broadcast) {
		if l.end == observerPanics {
			panic(errPlanted)
		}
	})
	if ctx.Err() != nil {
		<-counted
	}
	who := map[ending]string{clientFails: "client", clientPanics: "client", observerPanics: "server",
		isCancelled: "stopped"}[l.end]
	switch {
	case l.end == completes:
		if err != nil {
			return err
		}
		tau, bounded := l.delay.(AtMost)
		if r.Updates != l.clients*r.Run.Rounds || bounded && r.MaxLag > int(tau) {
			return fmt.Errorf("%d updates of %d rounds, at most %d behind", r.Updates, r.Run.Rounds, r.MaxLag)
		}
	case !errors.Is(err, errPlanted) || !strings.Contains(err.Error(), who):
		return fmt.Errorf("ended with %v, want %v of %q", err, errPlanted, who)
	case l.end == isCancelled && begun.Load() > before+int64(l.clients):
		return fmt.Errorf("%d rounds of %d clients began after it was cancelled", begun.Load()-before, l.clients)
	}
	return nil
}

// A run completes, is cancelled at any moment, or one of its goroutines fails or panics. There are few or
// many clients, large or small models, even or very uneven speeds, any Υ and any number of processors. In
// each case the run reports what happened, begins at most one more round for each client, and leaves no
// goroutine behind.
func TestHogwildUnderLoad(t *testing.T) {
	before := runtime.NumGoroutine()
	long, most := loadTime(t)
	until := time.Now().Add(long)
	ends := map[ending]int{}
	n := 0
	for ; n < most && time.Now().Before(until); n++ {
		l := drawLoad(n)
		if err := l.run(); err != nil {
			t.Errorf("load %d: %v: %v", n, l, err)
		}
		expectGoroutines(t, before)
		if t.Failed() {
			return
		}
		ends[l.end]++
	}
	t.Logf("%d runs: %v", n, ends)
}

// The check of TestHogwildUnderLoad finds planted faults; otherwise it would be worth nothing.
func TestLoadFindsFaults(t *testing.T) {
	l := load{procs: 2, clients: 5, params: 3, delay: AtMost(1), end: completes}
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	l.end, l.after = clientFails, math.MaxInt
	cfg, _ := l.config()
	cfg.GradComps = 10
	if _, err := Hogwild(context.Background(), cfg, nil); err != nil {
		t.Errorf("a fault that never comes came: %v", err)
	}
	l.end, l.after, l.late = isCancelled, 0, true
	if err := l.run(); err == nil || !strings.Contains(err.Error(), "began after it was cancelled") {
		t.Errorf("a run that goes on: %v", err)
	}
}

// heapTolerance is what the heap may grow by between a quarter of a run and its
// end: buffers that are made when they are first needed, and the runtime's own.
const heapTolerance = 256 << 10

// heapGrowth runs Hogwild and returns by how much the live heap is larger after
// the last broadcast than at the first after a quarter of the rounds, and how
// much of it may be the clients' counts of staleness: one for each lag up to the
// largest, in a slice that has grown to at most twice its length. Without a bound
// on the delay a busy machine makes lags of thousands of rounds.
func heapGrowth(t *testing.T, cfg *Config) (grown, counts int64) {
	t.Helper()
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	rounds := cfg.Run().Rounds
	var quarter, end int64
	result, err := Hogwild(context.Background(), cfg, func(b Broadcast) {
		if quarter == 0 && 4*b.K >= rounds {
			quarter = live()
		}
		if b.K == rounds {
			end = live()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	lags := int64(result.Staleness.Max() + 1)
	return end - quarter, int64(cfg.Clients()) * 2 * 8 * lags
}

// The memory of a run does not depend on its length, except for the counts of staleness. The test finds a
// planted leak of 24 bytes per client round.
func TestHogwildMemoryDoesNotGrow(t *testing.T) {
	const clients, params = 16, 69
	rounds := 4000
	if os.Getenv("PROACTIVEDP_LOAD") != "" {
		rounds = 100_000
	}
	for _, delay := range []Delay{AtMost(0), AtMost(1), Unlimited{}} {
		cfg, _ := load{clients: clients, params: params, delay: delay}.config()
		cfg.GradComps = rounds
		grown, counts := heapGrowth(t, cfg)
		t.Logf("Υ %v: %d bytes after %d client rounds, at most %d of counts", delay, grown, clients*rounds, counts)
		if grown > heapTolerance+counts {
			t.Errorf("Υ %v: the heap grew by %d bytes from a quarter of the run to its end, at most %d of them counts",
				delay, grown, counts)
		}
	}
	cfg, _ := load{clients: clients, params: params, delay: AtMost(1)}.config()
	cfg.GradComps = rounds
	var mu sync.Mutex
	var kept [][]int64
	cfg.Substitute = func(c *Client, u []float32, ws *Workspace) error {
		mu.Lock()
		kept = append(kept, nil)
		mu.Unlock()
		return c.Release(u, ws)
	}
	if grown, counts := heapGrowth(t, cfg); grown < 2*heapTolerance+counts || len(kept) != clients*rounds {
		t.Errorf("with a leak of 24 bytes in each of %d rounds the heap grew by %d bytes", len(kept), grown)
	}
}
