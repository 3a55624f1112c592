package sim

import (
	"context"
	"reflect"
	"testing"
	"time"

	"proactivedp/dp"
	"proactivedp/rng"
	"proactivedp/sim/clock"
)

// drawRun returns a configuration of any clients, delay, times, network, churn
// and sizes.
func drawRun(t *testing.T, s *rng.Stream) *Config {
	micros := func(most int) time.Duration { return time.Duration(1+s.IntN(most)) * time.Microsecond }
	n := 1 + s.IntN(6)
	duration := func() clock.Duration {
		mean := micros(2000)
		return pick(s, clock.Duration{Kind: clock.Constant}, clock.Duration{Kind: clock.Constant, Mean: mean},
			clock.Duration{Kind: clock.Exponential, Mean: mean}, clock.Duration{Kind: clock.Uniform, High: mean},
			clock.Duration{Kind: clock.Lognormal, Mean: mean, Shape: 2},
			clock.Duration{Kind: clock.Pareto, Mean: mean, Shape: 1.2})
	}
	return small(t, withClients(n), func(c *Config) {
		c.GradComps = 300
		c.Mechanism.Sizes = pick[dp.Sizes](s, dp.ConstantSizes(8), dp.ListSizes{1, 3, 9, 100},
			dp.PolynomialSizes{First: 1, Slope: 1, Power: 1})
		c.Delay = pick[Delay](s, AtMost(0), AtMost(1), AtMost(5), Unlimited{}, SquareRoot{}, ByRound{0, 3, 1},
			ByClient(make([]int, n)))
		c.Timing = clock.Timing{Compute: duration(), Uplink: duration(), Downlink: duration()}
		c.Speeds = pick(s, clock.Speeds{}, clock.Speeds{Kind: clock.Pareto, Shape: 1.5})
		c.Network = pick(s, clock.Network{}, clock.Network{Duplicate: s.Float64()},
			clock.Network{Loss: 0.9 * s.Float64(), Resend: micros(5000), Duplicate: s.Float64()})
		c.Churn = pick(s, clock.Churn{}, clock.Churn{Present: 50 * micros(2000), Away: 50 * micros(2000)})
		c.Adapt = pick(s, Adapt(0), 1+20*Adapt(s.Float64()))
	})
}

// A run of any configuration is stopped at any point, and continued by itself, from a snapshot or from a
// checkpoint, with workers or without. It gives the result of an uninterrupted run, and each round is
// released once.
func TestAnyRunInPieces(t *testing.T) {
	const configurations = 40
	ran := 0
	for n := range configurations {
		s := rng.New(1).Stream(rng.Synthetic, 1, n)
		cfg := drawRun(t, s)
		if cfg.Validate() != nil { // an absence too long, or no time to adapt to
			continue
		}
		ran++
		want := runVirtual(t, cfg, Perf{})
		for c, busy := range want.Busy {
			if rounds := want.Ledgers[c].Run().Rounds; rounds != want.Run.Rounds || busy+want.Absent[c] > want.Clock {
				t.Errorf("run %d, client %d: %d rounds released of %d, %d busy and %d absent of %d", n, c, rounds,
					want.Run.Rounds, busy, want.Absent[c], want.Clock)
			}
		}
		perf := Perf{Workers: 3, MinWork: 1}
		v, longest := newVirtual(t, cfg, perf), 1+s.IntN(150)
		for finished := false; !finished; {
			left := s.IntN(longest) + 1
			var err error
			if finished, err = v.RunUntil(context.Background(), func() bool { left--; return left < 0 }); err != nil {
				t.Fatalf("run %d: %v", n, err)
			}
			fresh := newVirtual(t, cfg, perf)
			switch s.IntN(3) {
			case 0:
				fresh.Restore(v.Snapshot())
				v = fresh
			case 1:
				if err := restore(fresh, written(t, v)); err != nil {
					t.Fatalf("run %d: %v", n, err)
				}
				v = fresh
			}
		}
		got, err := v.Run(context.Background())
		if err != nil {
			t.Fatalf("run %d: %v", n, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("run %d in pieces: %+v, want %+v", n, got, want)
		}
	}
	if ran < configurations/2 {
		t.Errorf("only %d of %d configurations were valid", ran, configurations)
	}
}
