package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/sim/clock"
)

// adaptive is 4 clients, the last a tenth as fast, that adapt by up to 5.
func adaptive(c *Config) {
	c.Timing.Compute = clock.Duration{Kind: clock.Constant, Mean: time.Millisecond}
	c.Speeds = clock.Speeds{List: []float64{1, 3, 1, 0.1}}
	c.Adapt = 5
}

// With constant times, the adapted size is exact: a client of speed x draws x·s records, within [s/5, 5s],
// from its second round on.
func TestAdaptFollowsTheSpeed(t *testing.T) {
	cfg := small(t, adaptive, func(c *Config) { c.Mechanism.Sizes = dp.ConstantSizes(10); c.GradComps = 500 })
	r := runVirtual(t, cfg, Perf{})
	for c, want := range []int{10, 30, 10, 2} {
		events := r.Ledgers[c].Events()
		last := events[len(events)-1]
		run := r.Ledgers[c].Run()
		if events[0].SampleSize != 10 || last.SampleSize != want || run.Rounds != 50 || run.Computed != 10+49*want {
			t.Errorf("client %d: %+v, %d gradients; want 10 and then 49 times %d", c, events, run.Computed, want)
		}
	}
	if r.Run.Rounds != 50 {
		t.Errorf("%d rounds, want the nominal 50", r.Run.Rounds)
	}
	// The fastest client waits no more than the others, nor the slowest less.
	for c, busy := range r.Busy[:3] {
		if off := float64(busy)/float64(r.Busy[0]) - 1; off < -0.05 || off > 0.05 {
			t.Errorf("client %d was busy for %d, client 0 for %d", c, busy, r.Busy[0])
		}
	}
}

// The ledger has the batch sizes that were really drawn. With fixed-size sampling they can be counted.
func TestAdaptSamplesWhatItAccounts(t *testing.T) {
	drawn := make([]dp.Ledger, 4)
	cfg := small(t, adaptive, func(c *Config) {
		c.Timing.Compute = clock.Duration{Kind: clock.Exponential, Mean: time.Millisecond}
		c.Mechanism.Sampling, c.Mechanism.Adjacency = dp.FixedSize, dp.ReplaceOne
		c.Substitute = func(c *Client, u []float32, ws *Workspace) error {
			drawn[c.ID()].Record(c.mech.EventOf(c.Sample(ws).Len()))
			return c.Release(u, ws)
		}
	})
	r := runVirtual(t, cfg, Perf{})
	different := map[int]bool{}
	for c := range drawn {
		events := anonymous(r.Ledgers[c])
		if !slices.Equal(drawn[c].Events(), events) {
			t.Errorf("client %d drew %v, its ledger has %v", c, drawn[c].Events(), events)
		}
		for _, e := range events {
			different[e.SampleSize] = true
		}
	}
	if len(different) < 5 {
		t.Errorf("sizes %v: nothing adapts", different)
	}
}

// The privacy of an adaptive run is computed from the batch sizes that were run, for the worst client. The
// plan's ε is not smaller, by both accountants that give one.
func TestAdaptAccountsWhatWasRun(t *testing.T) {
	const delta = 1e-4
	cfg := small(t, adaptive, func(c *Config) { c.Mechanism.NoiseMultiplier = 8 })
	r := runVirtual(t, cfg, Perf{})
	released := func(ledgers []dp.Ledger, shared bool) claim.Privacy {
		p, err := claim.OfLedgers(t.Context(), pld.Accountant{}, ledgers, shared, delta)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	planned := func(cfg *Config, acc dp.Accountant) claim.Privacy {
		p, err := cfg.PlannedPrivacy(t.Context(), acc, delta)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, partition := range []data.Partition{data.Replicate, data.Shard} {
		got := released(r.Ledgers, !partition.Disjoint())
		fast := released(r.Ledgers[1:2], false)
		if *got.PerClient.EpsilonUpper != *fast.PerClient.EpsilonUpper ||
			got.PerClient.GradComps != r.Ledgers[1].Run().Computed {
			t.Errorf("per client %+v, want that of the fastest, %+v", got.PerClient, fast.PerClient)
		}
		all := 0
		for c := range r.Ledgers {
			all += r.Ledgers[c].Run().Computed
		}
		if partition == data.Replicate && got.PerRecord.GradComps != all {
			t.Errorf("per record: %d gradients, were %d", got.PerRecord.GradComps, all)
		}
		cfg.Partition = partition
		nominal := *cfg
		nominal.Adapt = 0
		plan, unadapted := planned(cfg, pld.Accountant{}), planned(&nominal, pld.Accountant{})
		if *plan.PerClient.EpsilonUpper <= *got.PerClient.EpsilonUpper ||
			*got.PerClient.EpsilonUpper <= *unadapted.PerClient.EpsilonUpper {
			t.Errorf("planned %v, run %v, nominal %v: want them falling", *plan.PerClient.EpsilonUpper,
				*got.PerClient.EpsilonUpper, *unadapted.PerClient.EpsilonUpper)
		}
		for _, s := range []claim.Claim{plan.PerClient, plan.PerRecord} {
			if s.Kind != dp.Upper || *s.EpsilonLower != 0 || !strings.Contains(s.Reason, "5 times the nominal") {
				t.Errorf("the plan states %+v", s)
			}
		}
	}
	if p := planned(cfg, closedform.Accountant{}); p.PerClient.Rounds != 50 {
		t.Errorf("%+v", p.PerClient)
	}
}
