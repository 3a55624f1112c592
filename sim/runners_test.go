package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/models/logreg"
	"proactivedp/rng"
	"proactivedp/sim/clock"
)

// drawn is a small separable problem.
func drawn(rows, features int) *data.Dataset {
	s := rng.New(11).Stream(rng.Synthetic, 0, 0)
	d := &data.Dataset{Name: "drawn", Features: features, Classes: 2, Start: []int{0}}
	for range rows {
		z := 0.0
		for c := range features {
			if s.IntN(2) == 0 {
				v := s.Normal()
				z += v * float64(c%3-1)
				d.Index = append(d.Index, int32(c))
				d.Value = append(d.Value, float32(v))
			}
		}
		d.Start = append(d.Start, len(d.Index))
		label := int32(0)
		if z+0.3*s.Normal() > 0 {
			label = 1
		}
		d.Label = append(d.Label, label)
	}
	return d
}

type option func(*Config)

// small is a quick configuration on the drawn problem.
func small(t testing.TB, options ...option) *Config {
	t.Helper()
	d := drawn(600, 12)
	root := rng.New(5)
	train, _, err := data.Split(d, root)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := data.Replicate.Deal(train, 4, root)
	if err != nil {
		t.Fatal(err)
	}
	model, err := logreg.NewRidge(d.Features, 1/float64(train.Len()))
	if err != nil {
		t.Fatal(err)
	}
	cfg := &Config{
		Model: model, Rows: rows, Partition: data.Replicate,
		Mechanism: dp.Mechanism{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove,
			ClipNorm: 0.5, NoiseMultiplier: 2, DatasetSize: train.Len(), Sizes: dp.ConstantSizes(8),
		},
		GradComps: 400, Delay: AtMost(1),
		Steps:  StepSize{Eta0: 0.1, Beta: 0.001, Decay: LinearDecay},
		Roots:  SharedRoots(root, len(rows)),
		Timing: clock.DefaultTiming(),
	}
	for _, o := range options {
		o(cfg)
	}
	return cfg
}

func constantTiming(c *Config) {
	c.Timing = clock.Timing{
		Compute:  clock.Duration{Kind: clock.Constant, Mean: time.Millisecond},
		Uplink:   clock.Duration{Kind: clock.Constant, Mean: time.Microsecond},
		Downlink: clock.Duration{Kind: clock.Constant, Mean: time.Microsecond},
	}
}

// exponentialTiming lets messages overtake each other.
func exponentialTiming(c *Config) {
	d := clock.Duration{Kind: clock.Exponential, Mean: time.Millisecond}
	c.Timing = clock.Timing{Compute: d, Uplink: d, Downlink: d}
}

// A broadcast that reaches all clients at the same time is one event, but is delivered like n events. So
// the order of all other events does not depend on whether the latency is constant by its kind or by
// chance.
func TestBroadcastToAllIsOneToEach(t *testing.T) {
	for name, timing := range map[string]option{"default": func(*Config) {}, "constant": constantTiming} {
		cfg := small(t, timing)
		want := runVirtual(t, cfg, Perf{}).ParamsSHA256()
		v, err := NewVirtual(cfg, Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for queue := v.agenda.all(); len(*queue) > 0; queue = v.agenda.all() {
			// Split every such event into one a client before it happens.
			for i := range *queue {
				if e := (*queue)[i]; e.kind == broadcastArrivesAtAll {
					(*queue)[i].kind = broadcastArrives
					for c := e.client + 1; int(c) < len(v.clients); c++ {
						e.client, e.kind = c, broadcastArrives
						queue.push(&e)
					}
				}
			}
			if _, err := v.Step(); err != nil {
				t.Fatal(err)
			}
		}
		r, err := v.result()
		if err != nil {
			t.Fatal(err)
		}
		if r.ParamsSHA256() != want {
			t.Errorf("%s: other bits", name)
		}
	}
}

func withClients(n int) option {
	return func(c *Config) {
		c.Rows = slices.Repeat(c.Rows[:1], n)
		c.Roots = SharedRoots(c.Roots.Run, n)
	}
}

func withDelay(d Delay) option { return func(c *Config) { c.Delay = d } }

func runVirtual(t testing.TB, cfg *Config, perf Perf) *Result {
	t.Helper()
	v, err := NewVirtual(cfg, perf, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := v.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVirtualAppliesEveryRoundOnce(t *testing.T) {
	for _, delay := range []Delay{AtMost(0), AtMost(1), AtMost(7), Unlimited{}} {
		cfg := small(t, withDelay(delay))
		r := runVirtual(t, cfg, Perf{})
		if r.Run.Rounds != 50 || r.Updates != 200 {
			t.Errorf("Υ %v: %d rounds and %d updates, want 50 and 200", delay, r.Run.Rounds, r.Updates)
		}
		if tau, ok := delay.(AtMost); ok && r.MaxLag > int(tau) {
			t.Errorf("Υ %v: a client computed %d rounds ahead", delay, r.MaxLag)
		}
	}
}

// A larger permissible delay must change the staleness. Otherwise the setting would have no effect.
func TestDelayIsUsed(t *testing.T) {
	for _, tau := range []AtMost{1, 3} {
		if r := runVirtual(t, small(t, withDelay(tau)), Perf{}); r.MaxLag != int(tau) {
			t.Errorf("Υ %v: largest lag %d: the permitted delay was never used", tau, r.MaxLag)
		}
	}
}

// With synchronous delay and constant times, the run is plain DP-SGD: in each round every client computes
// at the same model, and the server applies the updates in the order of the clients.
func TestSynchronousIsPlainDPSGD(t *testing.T) {
	cfg := small(t, withDelay(AtMost(0)), constantTiming)
	got := runVirtual(t, cfg, Perf{})

	w := make([]float32, cfg.Model.NumParams())
	u, sum := make([]float32, len(w)), make([]float64, len(w))
	t0 := 0
	for round := range 50 {
		at := slices.Clone(w)
		eta := float32(cfg.Steps.At(t0, cfg.Run().Computed))
		for client := range cfg.Clients() {
			m := &cfg.Mechanism
			pos := m.Sample(nil, round, cfg.Roots.Clients[client].Stream(rng.Sampling, uint32(client), round),
				new(dp.SampleScratch))
			err := models.NewSums(cfg.Model).GradSum(sum, at, cfg.Rows[client].Batch(pos), m.ClipNorm, nil)
			if err != nil {
				t.Fatal(err)
			}
			m.AddNoise(u, sum, cfg.Roots.Clients[client].Stream(rng.Noise, uint32(client), round))
			f32.Axpy(-eta, u, w)
		}
		t0 += 8
	}
	if !slices.Equal(w, got.Params) {
		t.Errorf("the simulator's model %v differs from plain DP-SGD's %v", got.Params, w)
	}
}

// Golden bits of seed 5. If they change, every committed result changes: raise the version of cells with
// them.
func TestVirtualGolden(t *testing.T) {
	const want = "9fec4e7c9d8a981d452043d45aa08cc52813ecad70d80ee98ef5c4e8e6e72b23"
	if got := runVirtual(t, small(t), Perf{}).ParamsSHA256(); got != want {
		t.Errorf("parameters hash to %s, want %s", got, want)
	}
}

func TestVirtualDoesNotDependOnPerformanceSettings(t *testing.T) {
	want := runVirtual(t, small(t), Perf{}).ParamsSHA256()
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	for _, procs := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(procs)
		for _, workers := range []int{1, 2, 8} {
			got := runVirtual(t, small(t), Perf{Workers: workers, MinWork: 1}).ParamsSHA256()
			if got != want {
				t.Errorf("GOMAXPROCS %d, %d workers: other bits", procs, workers)
			}
		}
	}
}

// A snapshot at any event is restored into a new run and into its own run. Both give the bits of an
// uninterrupted run.
func TestSnapshotRestoreAtAnyEvent(t *testing.T) {
	for name, timing := range map[string]option{
		"default":     func(*Config) {},
		"constant":    constantTiming,
		"exponential": exponentialTiming,
		"rough":       rough,
	} {
		t.Run(name, func(t *testing.T) {
			snapshotAtAnyEvent(t, small(t, timing, func(c *Config) { c.GradComps = 80 }))
		})
	}
}

func snapshotAtAnyEvent(t *testing.T, cfg *Config) {
	all := func(r *Result) string {
		return fmt.Sprint(r.ParamsSHA256(), r.Updates, r.Staleness, r.Clock, r.Busy, r.Absent, r.Ledgers)
	}
	want := all(runVirtual(t, cfg, Perf{}))
	v, err := NewVirtual(cfg, Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	finish := func(v *Virtual) string {
		r, err := v.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return all(r)
	}
	for events := 0; ; events++ {
		s := v.Snapshot()
		fresh, err := NewVirtual(cfg, Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		fresh.Restore(s)
		if got := finish(fresh); got != want {
			t.Fatalf("restored at event %d: %s, want %s", events, got, want)
		}
		if events%16 == 0 {
			if got := finish(v); got != want {
				t.Fatalf("run on after a snapshot at event %d: %s, want %s", events, got, want)
			}
			v.Restore(s)
		}
		more, err := v.Step()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			if events < 80 {
				t.Errorf("only %d events", events)
			}
			return
		}
	}
}

func TestVirtualStopsAndGoesOn(t *testing.T) {
	cfg := small(t, func(c *Config) { c.GradComps = 8 * 16_000 })
	want := runVirtual(t, cfg, Perf{}).ParamsSHA256()
	ctx, cancel := context.WithCancel(context.Background())
	v, err := NewVirtual(cfg, Perf{Workers: 2, MinWork: 1}, func(b Broadcast) {
		if b.K >= 100 {
			cancel() // in the middle of the run, with rounds under way
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	if v.server.K() < 100 || v.server.Done() {
		t.Fatalf("stopped at k = %d", v.server.K())
	}
	r, err := v.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r.ParamsSHA256() != want {
		t.Error("a stopped run went on to other bits")
	}
}

// With one client nothing can interleave, so both runners give the same bits.
func TestHogwildOfOneClientIsVirtual(t *testing.T) {
	cfg := small(t, withClients(1), withDelay(AtMost(0)))
	want := runVirtual(t, cfg, Perf{}).ParamsSHA256()
	r, err := Hogwild(context.Background(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.ParamsSHA256() != want {
		t.Error("hogwild and virtual differ for one synchronous client")
	}
}

// Synchronous hogwild differs from virtual only in the order of float32 sums.
func TestSynchronousHogwildIsVirtualUpToRounding(t *testing.T) {
	cfg := small(t, withDelay(AtMost(0)))
	want := runVirtual(t, cfg, Perf{})
	got, err := Hogwild(context.Background(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Params {
		if diff := math.Abs(float64(got.Params[i] - want.Params[i])); diff > 1e-4 {
			t.Errorf("parameter %d: %v by hogwild, %v by virtual", i, got.Params[i], want.Params[i])
		}
	}
}

func TestHogwildKeepsItsPromises(t *testing.T) {
	for _, clients := range []int{1, 5, 64} {
		for _, delay := range []Delay{AtMost(0), AtMost(1), AtMost(3), Unlimited{}} {
			t.Run(fmt.Sprintf("clients=%d/delay=%v", clients, delay), func(t *testing.T) {
				cfg := small(t, withClients(clients), withDelay(delay),
					func(c *Config) { c.Mechanism.NoiseMultiplier = 0.1 })
				last := 0
				r, err := Hogwild(context.Background(), cfg, func(b Broadcast) {
					if b.K <= last || b.GradComps != 8*b.K || len(b.V) != 13 {
						t.Errorf("broadcast k = %d after %d with %d gradient computations", b.K, last, b.GradComps)
					}
					last = b.K
				})
				if err != nil {
					t.Fatal(err)
				}
				if last != 50 || r.Updates != 50*clients {
					t.Errorf("last broadcast %d and %d updates, want 50 and %d", last, r.Updates, 50*clients)
				}
				if tau, ok := delay.(AtMost); ok && r.MaxLag > int(tau) {
					t.Errorf("a client computed %d rounds ahead", r.MaxLag)
				}
			})
		}
	}
}

// broken is a model that fails at the n-th gradient.
type broken struct {
	models.Model
	at   func() bool
	fail func() error
}

func (b broken) ClippedGradSum(sum, w []float32, batch data.Batch, clip float64, s models.Scratch) error {
	if b.at() {
		return b.fail()
	}
	return b.Model.ClippedGradSum(sum, w, batch, clip, s)
}

func TestFailuresStopTheRunAndItsGoroutines(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return models.ErrDiverged },
		"panic": func() error { panic("planted fault") },
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			cfg := small(t, withClients(8))
			ticket := make(chan struct{}, 100)
			for range 100 {
				ticket <- struct{}{}
			}
			cfg.Model = broken{Model: cfg.Model, fail: fail, at: func() bool {
				select {
				case <-ticket:
					return false
				default:
					return true
				}
			}}
			_, err := Hogwild(context.Background(), cfg, nil)
			if err == nil || errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, want the fault", err)
			}
			if !errors.Is(err, models.ErrDiverged) && !strings.Contains(err.Error(), "planted fault") {
				t.Errorf("error %v does not name the fault", err)
			}
			expectGoroutines(t, before)
			// The virtual runner's workers report the same.
			v, err := NewVirtual(cfg, Perf{Workers: 3, MinWork: 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a failed run fails again
				if _, err := v.Run(context.Background()); err == nil || errors.Is(err, ErrStalled) {
					t.Errorf("virtual: error %v, want the fault", err)
				}
			}
			expectGoroutines(t, before)
		})
	}
}

func expectGoroutines(t *testing.T, want int) {
	t.Helper()
	for range 3000 {
		if runtime.NumGoroutine() <= want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before the run", runtime.NumGoroutine(), want)
}

func TestHogwildStopsOnCancel(t *testing.T) {
	before := runtime.NumGoroutine()
	cfg := small(t, withClients(16), withDelay(Unlimited{}), func(c *Config) { c.GradComps = 8 * 1_000_000 })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Hogwild(ctx, cfg, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want context.DeadlineExceeded", err)
	}
	expectGoroutines(t, before)
}

// Law 2: the accounted rounds are the rounds that were run.
func TestLedgerIsWhatWasPlanned(t *testing.T) {
	cfg := small(t, func(c *Config) { c.Mechanism.Sizes = dp.PolynomialSizes{First: 2, Slope: 0.5, Power: 1} })
	r := runVirtual(t, cfg, Perf{})
	planned := cfg.Mechanism.Events(cfg.Run().Rounds)
	for i := range r.Ledgers {
		if got := anonymous(r.Ledgers[i]); !slices.Equal(got, planned) {
			t.Errorf("client %d released %v, planned %v", i, got, planned)
		}
	}
}

func TestNoAllocationPerRound(t *testing.T) {
	if invariants {
		t.Skip("assertions allocate")
	}
	allocs := func(rounds int, run func(*Config)) float64 {
		cfg := small(t, func(c *Config) { c.GradComps = 8 * rounds })
		return testing.AllocsPerRun(3, func() { run(cfg) })
	}
	for name, run := range map[string]func(*Config){
		"virtual": func(c *Config) { runVirtual(t, c, Perf{}) },
		"hogwild": func(c *Config) {
			if _, err := Hogwild(context.Background(), c, nil); err != nil {
				t.Fatal(err)
			}
		},
	} {
		few, many := allocs(100, run), allocs(5100, run)
		if perRound := (many - few) / (5000 * 4); perRound > 0.001 {
			t.Errorf("%s: %.4f allocations a client round, want none", name, perRound)
		}
	}
}

func TestConfigReportsEveryProblem(t *testing.T) {
	cfg := small(t)
	cfg.Mechanism.ClipNorm = -1
	cfg.Mechanism.NoiseMultiplier = math.NaN()
	cfg.Steps.Eta0 = 0
	cfg.GradComps = 3
	_, err := NewVirtual(cfg, Perf{}, nil)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"clipping norm = -1", "noise multiplier = NaN", "eta0 = 0",
		"gradient computations per client = 3"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

func BenchmarkClientRounds(b *testing.B) {
	for _, c := range []struct{ clients, size int }{{5, 1}, {100, 1}, {10_000, 1}, {5, 26}} {
		for _, runner := range []string{"virtual", "hogwild"} {
			b.Run(fmt.Sprintf("%s/clients=%d/s=%d", runner, c.clients, c.size), func(b *testing.B) {
				rounds := max(1, 500_000/c.clients/c.size)
				cfg := benchConfig(b, c.clients, rounds, c.size)
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					if runner == "virtual" {
						runVirtual(b, cfg, Perf{})
					} else if _, err := Hogwild(context.Background(), cfg, nil); err != nil {
						b.Fatal(err)
					}
				}
				total := float64(b.N) * float64(rounds) * float64(c.clients)
				b.ReportMetric(total/b.Elapsed().Seconds(), "rounds/s")
				b.ReportMetric(b.Elapsed().Seconds()*1e9/total, "ns/round")
			})
		}
	}
}

// benchConfig has the size of phishing: 8,844 rows of 30 entries, 69
// parameters, σ of the paper.
func benchConfig(b *testing.B, clients, rounds, size int) *Config {
	b.Helper()
	s := rng.New(1).Stream(rng.Synthetic, 0, 0)
	d := &data.Dataset{Name: "phishing-sized", Features: 68, Classes: 2, Start: []int{0}}
	for range 8844 {
		for c := range 30 {
			d.Index = append(d.Index, int32(2*c+s.IntN(2)))
			d.Value = append(d.Value, 0.18257)
		}
		d.Start = append(d.Start, len(d.Index))
		d.Label = append(d.Label, int32(s.IntN(2)))
	}
	all := d.All()
	model, err := logreg.NewRidge(68, 1.0/8844)
	if err != nil {
		b.Fatal(err)
	}
	return &Config{
		Model: model, Rows: slices.Repeat([]data.Subset{all}, clients), Partition: data.Replicate,
		Mechanism: dp.Mechanism{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 0.1,
			NoiseMultiplier: 19.29962, DatasetSize: 8844, Sizes: dp.ConstantSizes(size),
		},
		GradComps: rounds * size, Delay: AtMost(1),
		Steps: StepSize{Eta0: 0.1, Beta: 0.001, Decay: LinearDecay},
		Roots: SharedRoots(rng.New(1), clients), Timing: clock.DefaultTiming(),
	}
}

func TestVirtualPausesBetweenEvents(t *testing.T) {
	cfg := small(t)
	want := runVirtual(t, cfg, Perf{})
	v, err := NewVirtual(cfg, Perf{Workers: 2, MinWork: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for updates := 1; ; updates += 7 {
		finished, err := v.RunUntil(context.Background(), func() bool { return v.Updates() >= updates })
		if err != nil {
			t.Fatal(err)
		}
		if finished {
			break
		}
		if next, more := v.Next(); v.Updates() != updates || !more || next < v.Now() {
			t.Fatalf("paused after %d updates, the next event at %d (%t), now %d; want %d updates", v.Updates(), next,
				more, v.Now(), updates)
		}
	}
	r, err := v.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r.ParamsSHA256() != want.ParamsSHA256() || r.Clock != want.Clock {
		t.Error("pauses changed the run")
	}
}

func TestReleaseReplacesTheMechanisms(t *testing.T) {
	honest := small(t)
	calls := 0
	same := small(t, func(c *Config) {
		c.Substitute = func(c *Client, u []float32, ws *Workspace) error {
			calls++
			return c.Release(u, ws)
		}
	})
	if r := runVirtual(t, same, Perf{}); r.ParamsSHA256() != runVirtual(t, honest, Perf{}).ParamsSHA256() ||
		calls != r.Updates {
		t.Errorf("a release that calls Client.Release changed the run, or %d calls for %d updates", calls, r.Updates)
	}
	silent := small(t, func(c *Config) {
		c.Substitute = func(_ *Client, u []float32, _ *Workspace) error {
			clear(u)
			return nil
		}
	})
	if r := runVirtual(t, silent, Perf{}); r.ParamsSHA256() == runVirtual(t, honest, Perf{}).ParamsSHA256() ||
		r.Ledgers[0].Events()[0] != runVirtual(t, honest, Perf{}).Ledgers[0].Events()[0] {
		t.Error("a silent release left the run as it was, or changed its ledger")
	}
}

// A run whose context is already cancelled processes no event.
func TestACancelledRunTakesNoStep(t *testing.T) {
	v := newVirtual(t, small(t), Perf{})
	before := written(t, v)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if finished, err := v.RunUntil(ctx, func() bool { return false }); finished || !errors.Is(err, enough) {
		t.Errorf("finished: %v, %v", finished, err)
	}
	if !bytes.Equal(written(t, v), before) {
		t.Error("a step was taken")
	}
}
