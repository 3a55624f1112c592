package sim

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"proactivedp/sim/clock"
)

// rough turns on all that can befall messages and clients.
func rough(c *Config) {
	exponentialTiming(c)
	c.Timing.Compute = clock.Duration{Kind: clock.Pareto, Mean: time.Millisecond, Shape: 1.3}
	c.Timing.Uplink = clock.Duration{Kind: clock.Lognormal, Mean: 5 * time.Millisecond, Shape: 1.5}
	c.Network = clock.Network{Loss: 0.3, Resend: 7 * time.Millisecond, Duplicate: 0.3}
	c.Churn = clock.Churn{Present: 60 * time.Millisecond, Away: 10 * time.Millisecond}
	c.Adapt = 4
	c.Speeds = clock.Speeds{List: []float64{1, 2, 0.5, 0.1}}
}

// However bad the network, each update is applied exactly once, and every client does all its rounds
// within the permissible delay. Each simulated fault occurs at least once.
func TestRoughRunAppliesEveryUpdateOnce(t *testing.T) {
	for _, delay := range []Delay{AtMost(0), AtMost(2), ByClient{0, 1, 2, 3}, ByRound{0, 3, 1}, SquareRoot{},
		Unlimited{}} {
		cfg := small(t, rough, withDelay(delay))
		v, err := NewVirtual(cfg, Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		counts := map[HappeningKind]int{}
		arrived := map[[2]int]int{}
		ended := map[[2]int]int{}
		away := map[int]bool{}
		before := v.frame.sched.before
		v.Record(func(h Happening) {
			counts[h.Kind]++
			at := [2]int{h.Client, h.Number}
			switch h.Kind {
			case RoundBegins:
				if away[h.Client] {
					t.Errorf("Υ %v: client %d computes while it is away", delay, h.Client)
				}
				if k := h.Number - h.Lag; !permitted(delay, h.Client, before).Permits(k, h.Number) {
					t.Errorf("Υ %v: client %d began round %d with k = %d", delay, h.Client, h.Number, k)
				}
			case RoundEnds:
				ended[at]++
			case UpdateArrives:
				arrived[at]++
			case ClientLeaves:
				away[h.Client] = true
			case ClientReturns:
				away[h.Client] = false
			}
		})
		r, err := v.Run(context.Background())
		if err != nil {
			t.Fatalf("Υ %v: %v", delay, err)
		}
		if r.Updates != 200 || len(ended) != 200 || len(arrived) != 200 {
			t.Errorf("Υ %v: %d updates applied of %d rounds ended, %d arrived, want 200", delay, r.Updates, len(ended),
				len(arrived))
		}
		for at, n := range ended {
			if n != 1 || arrived[at] < 1 {
				t.Errorf("Υ %v: round %v ended %d times and its update arrived %d times", delay, at, n, arrived[at])
			}
		}
		for kind := range happeningNames {
			if counts[HappeningKind(kind)] == 0 {
				t.Errorf("Υ %v: %v never happened", delay, HappeningKind(kind))
			}
		}
		if counts[MessageResent] > counts[MessageLost] || counts[RoundBegins] != 200+counts[RoundAborted] {
			t.Errorf("Υ %v: %v", delay, counts)
		}
		for c := range v.clients {
			if ledger := r.Ledgers[c].Run(); ledger.Rounds != 50 {
				t.Errorf("Υ %v: the ledger of client %d has %d rounds, want 50", delay, c, ledger.Rounds)
			}
			if r.Busy[c]+r.Absent[c] > r.Clock || r.Absent[c] == 0 {
				t.Errorf("Υ %v: client %d was busy for %d and away for %d of %d", delay, c, r.Busy[c], r.Absent[c],
					r.Clock)
			}
		}
		if want := r.ParamsSHA256(); runVirtual(t, cfg, Perf{Workers: 3, MinWork: 1}).ParamsSHA256() != want {
			t.Errorf("Υ %v: other bits with workers", delay)
		}
	}
}

// Messages are lost or duplicated as often as configured, within 20 standard deviations (a false alarm in
// 10⁸⁰ runs).
func TestNetworkDoesWhatItSays(t *testing.T) {
	cfg := small(t, func(c *Config) {
		c.GradComps = 8 * 4000
		c.Network = clock.Network{Loss: 0.2, Resend: time.Millisecond, Duplicate: 0.1}
	})
	v, err := NewVirtual(cfg, Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	lost, twice, sendings := 0, 0, 0
	v.Record(func(h Happening) {
		switch {
		case h.Down:
		case h.Kind == RoundEnds, h.Kind == MessageResent:
			sendings++
		case h.Kind == MessageLost:
			lost++
		case h.Kind == MessageDuplicated:
			twice++
		}
	})
	if _, err := v.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		n    int
		want float64
	}{{"lost", lost, 0.2}, {"doubled", twice, 0.8 * 0.1}} {
		share := float64(c.n) / float64(sendings)
		if off := (share - c.want) * (share - c.want) * float64(sendings) / (c.want * (1 - c.want)); off > 400 {
			t.Errorf("%s: %.4f of %d, want %.4f", c.what, share, sendings, c.want)
		}
	}
}

// Times of presence and absence have the configured means: here a quarter of the time is absence, within
// 20 standard deviations.
func TestChurnDoesWhatItSays(t *testing.T) {
	cfg := small(t, constantTiming, func(c *Config) {
		c.GradComps = 8 * 2000
		c.Timing.Compute.Mean = time.Microsecond
		c.Churn = clock.Churn{Present: 300 * time.Microsecond, Away: 100 * time.Microsecond}
		c.Delay = Unlimited{}
	})
	r := runVirtual(t, cfg, Perf{})
	away, all := 0.0, 0.0
	for c := range r.Absent {
		away += float64(r.Absent[c])
		all += float64(r.Absent[c] + r.Busy[c])
	}
	// Over m turns the share has a standard deviation of about √(2/m)·3/16.
	m := away / 1e5
	if off := away/all - 0.25; m < 200 || off*off > 400*(2/m)*(9.0/256) {
		t.Errorf("away %.4f of the time in %.0f turns, want 0.25", away/all, m)
	}
}

func TestHogwildRefusesTheVirtualClocks(t *testing.T) {
	_, err := Hogwild(context.Background(), small(t, rough), nil)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, part := range []string{"speeds", "loss", "duplicate", "churn", "adapt"} {
		if !strings.Contains(err.Error(), part+" needs the virtual clock") {
			t.Errorf("error lacks %s: %v", part, err)
		}
	}
}

// Hogwild needs no timing, because its clients run as fast as they can. Only Virtual needs one.
func TestHogwildNeedsNoTiming(t *testing.T) {
	cfg := small(t, func(c *Config) { c.Timing = clock.Timing{} })
	if _, err := NewVirtual(cfg, Perf{}, nil); err == nil || !strings.Contains(err.Error(), "(compute)") {
		t.Errorf("Virtual without a timing: error %v, want one that names it", err)
	}
	if _, err := Hogwild(context.Background(), cfg, nil); err != nil {
		t.Error(err)
	}
}

// The estimate of vectors also holds if messages are late, lost and duplicated, if all clients send at the
// same time, and if they return at different times. At the end, all vectors that the run ever made are
// free or still held.
func TestVectorsOfARoughRun(t *testing.T) {
	inStep := func(c *Config) {
		withClients(50)(c)
		c.Timing.Compute = clock.Duration{Kind: clock.Constant, Mean: time.Millisecond}
	}
	for _, delay := range []Delay{AtMost(0), AtMost(4), AtMost(math.MaxInt), Unlimited{}} {
		for name, set := range map[string]option{
			"default": func(*Config) {},
			"in step": inStep,
			"churn": func(c *Config) {
				inStep(c)
				c.Churn = clock.Churn{Present: 20 * time.Millisecond, Away: 20 * time.Millisecond}
			},
			"rough": rough,
			"pareto": func(c *Config) {
				c.Timing.Downlink = clock.Duration{Kind: clock.Pareto, Mean: time.Millisecond, Shape: 1.2}
				c.Timing.Uplink = c.Timing.Downlink
			},
			"lossy": func(c *Config) {
				c.Network = clock.Network{Loss: 0.6, Resend: 3 * time.Millisecond, Duplicate: 1}
			},
		} {
			cfg := small(t, withDelay(delay), set, func(c *Config) { c.GradComps = 8 * 200 })
			v, err := NewVirtual(cfg, Perf{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := v.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			made := map[*Vector]bool{}
			for _, free := range v.vectors.free {
				made[free] = true
			}
			for _, c := range v.clients {
				made[c.state.shared] = true
			}
			estimate := 0
			for _, part := range cfg.Vectors(Perf{}, false) {
				if part.What == "updates" || part.What == "broadcasts" {
					estimate += part.Count
				}
			}
			t.Logf("%s, Υ %v: %d vectors of %d estimated", name, delay, len(made), estimate)
			if len(made) > estimate {
				t.Errorf("%s, Υ %v: %d vectors, %d were estimated", name, delay, len(made), estimate)
			}
		}
	}
}

// A round that is given up leaves no trace. With one client, which computes each round at the model of the
// one before, the bits are those of a run without churn.
func TestAnAbortedRoundLeavesNoTrace(t *testing.T) {
	alone := small(t, withClients(1), withDelay(AtMost(0)))
	want := runVirtual(t, alone, Perf{})
	alone.Churn = clock.Churn{Present: 100 * time.Microsecond, Away: time.Millisecond}
	alone.Network = clock.Network{Loss: 0.5, Resend: time.Microsecond, Duplicate: 0.5}
	for _, workers := range []int{1, 2} {
		v, err := NewVirtual(alone, Perf{Workers: workers, MinWork: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		aborted := 0
		v.Record(func(h Happening) {
			if h.Kind == RoundAborted {
				aborted++
			}
		})
		r, err := v.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if r.ParamsSHA256() != want.ParamsSHA256() || !slices.Equal(r.Ledgers[0].Events(), want.Ledgers[0].Events()) ||
			aborted < 10 {
			t.Errorf("%d workers, %d rounds given up: other bits, or ledgers %v and %v", workers, aborted,
				r.Ledgers[0].Events(), want.Ledgers[0].Events())
		}
	}
}

// Config.Wire is called for every sending: for each first one, each repetition after a loss, and each
// second copy, with the bits of the update. A call changes nothing by itself. If it changes the message,
// the server applies the changed one.
func TestWireSeesEverySending(t *testing.T) {
	cfg := small(t, rough)
	counts := map[HappeningKind]int{}
	run := func(wire func(Update)) *Result {
		cfg.Wire = wire
		v, err := NewVirtual(cfg, Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		clear(counts)
		v.Record(func(h Happening) {
			if !h.Down {
				counts[h.Kind]++
			}
		})
		r, err := v.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	alone := run(nil)
	sent, first := 0, map[[2]int][]float32{}
	watched := run(func(u Update) {
		sent++
		at := [2]int{u.Client, u.Round}
		if first[at] == nil {
			first[at] = slices.Clone(u.U)
		}
		if !slices.Equal(first[at], u.U) {
			t.Errorf("client %d, round %d: sent again with other bits", u.Client, u.Round)
		}
	})
	if !slices.Equal(alone.Params, watched.Params) {
		t.Error("looking at the wire changed the result")
	}
	again, twice := counts[MessageResent], counts[MessageDuplicated]
	if sent != alone.Updates+again+twice || again == 0 || twice == 0 {
		t.Errorf("%d sendings of %d updates, %d again and %d twice", sent, alone.Updates, again, twice)
	}
	// Updates of zeros leave the model where it was.
	silenced := run(func(u Update) { clear(u.U) })
	initial := make([]float32, cfg.Model.NumParams())
	cfg.Model.Init(initial, cfg.InitStream())
	if !slices.Equal(silenced.Params, initial) {
		t.Error("what the wire wrote is not what the server applied")
	}
}
