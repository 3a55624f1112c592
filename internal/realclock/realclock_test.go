package realclock

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/models/logreg"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// config is a quick training of 50 rounds of 8 records each by so many clients, of rounds
// of 80 µs on average, of which some are much longer, and messages that overtake each
// other. The last client is slow.
func config(t *testing.T, clients int, delay sim.Delay) *sim.Config {
	t.Helper()
	d := synth.OneHot(rng.New(3), 400)
	root := rng.New(5)
	train, _, err := data.Split(d, root)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := data.Replicate.Deal(train, clients, root)
	if err != nil {
		t.Fatal(err)
	}
	model, err := logreg.NewRidge(d.Features, 1/float64(train.Len()))
	if err != nil {
		t.Fatal(err)
	}
	speeds, err := clock.ParseSpeeds(strings.Repeat("1,", clients-1) + "0.5")
	if err != nil {
		t.Fatal(err)
	}
	message := clock.Duration{Kind: clock.Exponential, Mean: 100 * time.Microsecond}
	return &sim.Config{
		Model: model, Rows: rows, Partition: data.Replicate, GradComps: 400, Delay: delay, Speeds: speeds,
		Mechanism: dp.Mechanism{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 0.1, NoiseMultiplier: 1,
			DatasetSize: train.Len(), Sizes: dp.ConstantSizes(8)},
		Steps: sim.StepSize{Eta0: 0.1, Beta: 0.001, Decay: sim.LinearDecay},
		Roots: sim.SharedRoots(root, clients),
		Timing: clock.Timing{Compute: clock.Duration{Kind: clock.Pareto, Mean: 10 * time.Microsecond, Shape: 1.5},
			Uplink: message, Downlink: message},
	}
}

// run runs the configuration.
func train(t *testing.T, cfg *sim.Config, o Options) *sim.Result {
	t.Helper()
	r, err := Run(t.Context(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// expectGoroutines waits until there are as few goroutines as before.
func expectGoroutines(t *testing.T, before int) {
	t.Helper()
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before the run", runtime.NumGoroutine(), before)
}

// All durations are waited for, so a synchronous run takes on the real clock at least what
// the virtual one says, and so does each client in rounds, up to the last bit of a
// nanosecond for each wait; its model is that of Virtual up to rounding.
func TestWaitsForWhatVirtualDraws(t *testing.T) {
	cfg := config(t, 4, sim.AtMost(0))
	v, err := sim.NewVirtual(cfg, sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var last sim.Time // Virtual's clock goes on until the last broadcast has arrived
	v.Record(func(h sim.Happening) {
		if h.Kind == sim.UpdateArrives {
			last = h.At
		}
	})
	want, err := v.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	got := train(t, cfg, Options{Scale: 5})
	expectGoroutines(t, before)
	for i := range want.Params {
		if diff := math.Abs(float64(got.Params[i] - want.Params[i])); diff > 1e-4 {
			t.Errorf("parameter %d: %v on a real clock, %v by virtual", i, got.Params[i], want.Params[i])
		}
	}
	t.Logf("%.3f ms foretold, %.3f ms measured", float64(last)/1e6, float64(got.Clock)/1e6)
	waits := sim.Time(3 * want.Run.Rounds)
	if got.Clock < last-waits || got.Updates != want.Updates {
		t.Errorf("the run took %d ns of its clock, at least %d ns are waited for; %d updates", got.Clock, last,
			got.Updates)
	}
	for client, busy := range want.Busy {
		if got.Busy[client] < busy-waits || got.Absent[client] != 0 {
			t.Errorf("client %d was in rounds for %d ns, %d ns are waited for", client, got.Busy[client], busy)
		}
	}
}

// What happens on a real clock is told in order: rounds one after the other with no more
// lag than Υ permits, no message before it was sent, and everything once.
func TestTellsWhatHappens(t *testing.T) {
	for _, delay := range []sim.Delay{sim.AtMost(0), sim.AtMost(2), sim.Unlimited{}} {
		cfg := config(t, 4, delay)
		rounds, clients := cfg.Run().Rounds, cfg.Clients()
		var last, looked sim.Time
		next, under := make([]int, clients), make([]bool, clients)
		arrived, broadcasts, looks := 0, map[int]sim.Time{}, 0
		r := train(t, cfg, Options{Scale: 2,
			Record: func(h sim.Happening) {
				if h.At < last {
					t.Errorf("%+v after %d ns", h, last)
				}
				last = h.At
				switch h.Kind {
				case sim.RoundBegins:
					if tau, ok := delay.(sim.AtMost); under[h.Client] || h.Number != next[h.Client] || ok &&
						h.Lag > int(tau) {
						t.Errorf("Υ %v: %+v, want round %d", delay, h, next[h.Client])
					}
					under[h.Client] = true
				case sim.RoundEnds:
					if !under[h.Client] || h.Number != next[h.Client] {
						t.Errorf("%+v, want round %d", h, next[h.Client])
					}
					under[h.Client] = false
					next[h.Client]++
				case sim.UpdateArrives:
					if h.Number >= next[h.Client] {
						t.Errorf("%+v before its round ended", h)
					}
					arrived++
				case sim.BroadcastSent:
					broadcasts[h.Number] = h.At
				case sim.BroadcastArrives:
					if sent, ok := broadcasts[h.Number]; !ok || h.At < sent {
						t.Errorf("%+v, sent at %d ns", h, sent)
					}
				default:
					t.Errorf("%+v", h)
				}
			},
			Look: func(updates int, at sim.Time, v []float32) {
				if looks++; updates != looks || at < looked || len(v) != 21 {
					t.Errorf("look %d: %d updates, %d parameters, at %d ns after %d", looks, updates, len(v), at,
						looked)
				}
				looked = at
			},
		})
		if arrived != rounds*clients || looks != arrived || r.Updates != arrived || r.Clock > last || r.Clock <= 0 {
			t.Errorf("Υ %v: %d updates came, %d were looked at and %d applied, of %d; %d of %d ns", delay, arrived,
				looks, r.Updates, rounds*clients, r.Clock, last)
		}
		for client, n := range next {
			if n != rounds || r.Ledgers[client].Run().Rounds != rounds {
				t.Errorf("client %d did %d rounds, %d in its ledger, must be %d", client, n,
					r.Ledgers[client].Run().Rounds, rounds)
			}
		}
	}
}

// A server that is far slower than its clients stalls nobody for good: the post, which
// then has more than the server takes, goes on taking broadcasts.
func TestSlowServer(t *testing.T) {
	cfg := config(t, 8, sim.Unlimited{})
	cfg.Timing.Compute, cfg.Speeds = clock.Duration{Kind: clock.Constant}, clock.Speeds{}
	r := train(t, cfg, Options{Scale: 1e-3, Look: func(int, sim.Time, []float32) { time.Sleep(time.Millisecond) }})
	if want := 8 * cfg.Run().Rounds; r.Updates != want {
		t.Errorf("%d updates, must be %d", r.Updates, want)
	}
}

// However long is to be waited, a run stops when it is told to.
func TestStopsOnCancel(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := Run(ctx, config(t, 4, sim.AtMost(1)), Options{Scale: maxScale}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("error %v, must be that of the context", err)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	expectGoroutines(t, before)
}

// A panic of who looks on ends all, and is named.
func TestEndsWithAPanic(t *testing.T) {
	before := runtime.NumGoroutine()
	_, err := Run(t.Context(), config(t, 4, sim.AtMost(1)), Options{Scale: 1,
		Look: func(int, sim.Time, []float32) { panic("out of paper") }})
	if err == nil || !strings.Contains(err.Error(), "server: ") ||
		!strings.Contains(err.Error(), "out of paper") {
		t.Errorf("error %v", err)
	}
	expectGoroutines(t, before)
}

// forever is a duration beyond every clock, though its mean says otherwise.
type forever struct{}

func (forever) Mean() time.Duration            { return time.Second }
func (forever) Draw(*rng.Stream) time.Duration { return clock.Beyond }
func (forever) String() string                 { return "forever" }

func TestTimesBeyondTheClock(t *testing.T) {
	for _, change := range []func(*clock.Timing, clock.Duration){
		func(t *clock.Timing, d clock.Duration) { t.Compute = d },
		func(t *clock.Timing, d clock.Duration) { t.Uplink = d },
		func(t *clock.Timing, d clock.Duration) { t.Downlink = d },
	} {
		cfg := config(t, 4, sim.AtMost(1))
		change(&cfg.Timing, clock.Duration{Kind: clock.Own, Own: forever{}})
		if _, err := Run(t.Context(), cfg, Options{Scale: 1}); !errors.Is(err, sim.ErrClock) {
			t.Errorf("error %v, must be sim.ErrClock", err)
		}
	}
}

// What only a virtual clock can do is refused, and so is what no clock can.
func TestConfigurationIsChecked(t *testing.T) {
	for _, c := range []struct {
		scale  float64
		change func(*sim.Config)
		want   string
	}{
		{0, nil, "time scale = 0, must be in (0, 1e+06]"},
		{1, func(c *sim.Config) {
			c.Own = slices.Repeat([]dp.Mechanism{c.Mechanism}, c.Clients())
			c.Own[1].Sizes = dp.ConstantSizes(c.Mechanism.Sizes.At(0) + 1)
		}, "client 1: sizes = 9, must be those of all clients: a real clock has one number of rounds"},
		{-1, nil, "time scale = -1"},
		{math.NaN(), nil, "time scale = NaN"},
		{1e7, nil, "time scale = 1e+07"},
		{1, func(c *sim.Config) { c.Network.Duplicate = 0.5 }, "duplicate needs the virtual clock"},
		{1, func(c *sim.Config) { c.Timing.Uplink.Mean = -1 }, "(uplink)"},
		{1, func(c *sim.Config) { c.GradComps = 0 }, "gradient computations per client = 0"},
	} {
		cfg := config(t, 4, sim.AtMost(1))
		if c.change != nil {
			c.change(cfg)
		}
		if _, err := Run(t.Context(), cfg, Options{Scale: c.scale}); err == nil || !strings.Contains(err.Error(),
			c.want) {
			t.Errorf("%v: error %v, want one with %q", c.scale, err, c.want)
		}
	}
}
