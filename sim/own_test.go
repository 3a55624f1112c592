package sim

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/rdp"
)

// ownNoise gives each client a noise multiplier of its own, and a run of the root for it.
func ownNoise(sigmas ...float64) option {
	return func(c *Config) {
		c.Own = slices.Repeat([]dp.Mechanism{c.Mechanism}, c.Clients())
		for i, sigma := range sigmas {
			c.Own[i].NoiseMultiplier = sigma
			c.Roots.Clients[i] = c.Roots.Clients[i].ForRun(uint64(i + 1))
		}
	}
}

// If all clients' own mechanisms are equal, the bits are those of one common mechanism.
func TestEqualOwnMechanismsAreOne(t *testing.T) {
	want := runVirtual(t, small(t), Perf{}).ParamsSHA256()
	if got := runVirtual(t, small(t, ownNoise()), Perf{}).ParamsSHA256(); got != want {
		t.Errorf("parameters %s, with one mechanism for all %s", got, want)
	}
}

// A client with its own mechanism adds the noise of this mechanism, and its ledger counts it.
func TestOwnMechanismIsNoisedAndAccounted(t *testing.T) {
	sigmas := []float64{1, 2, 4, 8}
	noiseOf := func(options ...option) [][]float32 {
		cfg := small(t, options...)
		var all [][]float32
		for id := range cfg.Clients() {
			c, err := NewClient(cfg, id, nil)
			if err != nil {
				t.Fatal(err)
			}
			ws := NewWorkspace(cfg.Model)
			c.Begin()
			u := make([]float32, cfg.Model.NumParams())
			c.AddNoise(u, ws.Sum(), ws)
			all = append(all, u)
		}
		return all
	}
	plain, own := noiseOf(ownNoise(1, 1, 1, 1)), noiseOf(ownNoise(sigmas...))
	for id, sigma := range sigmas {
		for j := range plain[id] {
			if want := sigma * float64(plain[id][j]); math.Abs(float64(own[id][j])-want) > 1e-5*math.Abs(want) {
				t.Fatalf("client %d: noise %v, must be %v times %v, that at σ = 1", id, own[id][j], sigma, plain[id][j])
			}
		}
	}
	r := runVirtual(t, small(t, ownNoise(sigmas...)), Perf{})
	for id, ledger := range r.Ledgers {
		for _, e := range ledger.Events() {
			if e.NoiseMultiplier != sigmas[id] {
				t.Errorf("client %d: the ledger says σ = %v, must say %v", id, e.NoiseMultiplier, sigmas[id])
			}
		}
	}
}

// For clients with their own mechanisms, the planned privacy equals that of the releases: per client for
// the least noise, per record for all of them.
func TestOwnMechanismsArePlannedAsReleased(t *testing.T) {
	cfg, ctx := small(t, ownNoise(3, 4, 5, 6)), context.Background()
	r := runVirtual(t, cfg, Perf{})
	planned, err := cfg.PlannedPrivacy(ctx, rdp.Accountant{}, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	released, err := claim.OfLedgers(ctx, rdp.Accountant{}, r.Ledgers, true, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	if *planned.PerRecord.EpsilonUpper != *released.PerRecord.EpsilonUpper ||
		*planned.PerClient.EpsilonUpper != *released.PerClient.EpsilonUpper {
		t.Errorf("planned %v and %v, released %v and %v", *planned.PerRecord.EpsilonUpper,
			*planned.PerClient.EpsilonUpper, *released.PerRecord.EpsilonUpper, *released.PerClient.EpsilonUpper)
	}
	worst, err := claim.Of(ctx, rdp.Accountant{}, r.Ledgers[0].Events(), 1e-3)
	if err != nil || *worst.EpsilonUpper != *planned.PerClient.EpsilonUpper {
		t.Errorf("per client %v, the client of the least noise pays %v (%v)", *planned.PerClient.EpsilonUpper,
			*worst.EpsilonUpper, err)
	}
}

// A checkpoint of a run whose clients have their own mechanisms continues to the same bits, with the same
// ledgers.
func TestOwnMechanismsAreKept(t *testing.T) {
	cfg := small(t, ownNoise(1, 2, 3, 4))
	want := runVirtual(t, cfg, Perf{})
	v := newVirtual(t, cfg, Perf{})
	for v.Updates() < 50 {
		if _, err := v.Step(); err != nil {
			t.Fatal(err)
		}
	}
	again := newVirtual(t, cfg, Perf{})
	if err := restore(again, written(t, v)); err != nil {
		t.Fatal(err)
	}
	got, err := again.Run(context.Background())
	if err != nil || got.ParamsSHA256() != want.ParamsSHA256() {
		t.Fatalf("resumed to %v, %v, want %s", got, err, want.ParamsSHA256())
	}
	for id := range got.Ledgers {
		if !slices.Equal(got.Ledgers[id].Events(), want.Ledgers[id].Events()) {
			t.Errorf("client %d: ledger %v, want %v", id, got.Ledgers[id].Events(), want.Ledgers[id].Events())
		}
	}
}

// A run can begin where another one ended.
func TestInitialModelIsGiven(t *testing.T) {
	first := runVirtual(t, small(t), Perf{})
	cfg := small(t, func(c *Config) { c.Initial = first.Params })
	v := newVirtual(t, cfg, Perf{})
	if !slices.Equal(v.Model(), first.Params) {
		t.Error("the run does not begin with the model that it is given")
	}
	before := slices.Clone(first.Params)
	if _, err := v.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.Params, before) {
		t.Error("the model that was given has changed")
	}
}

func TestOwnMechanismsAreChecked(t *testing.T) {
	own := func(change func(c *Config)) option {
		return func(c *Config) {
			ownNoise()(c)
			change(c)
		}
	}
	for _, c := range []struct {
		option option
		want   string
	}{
		{func(c *Config) { c.Own = []dp.Mechanism{c.Mechanism} }, "number of own mechanisms = 1, must be 4, one for each client"},
		{own(func(c *Config) { c.Own[2].Sizes = dp.ConstantSizes(7) }), "client 2: sizes = 7 give 57 rounds, must give at most the 50"},
		{own(func(c *Config) {
			for i := range c.Own {
				c.Own[i].Sizes = dp.ConstantSizes(10)
			}
		}), "sizes of all clients = 8 give 50 rounds, must give 40"},
		{own(func(c *Config) { c.Own[1].Sizes = dp.ConstantSizes(401) }), "client 1: sizes = 401, must be at most the 400 gradient"},
		{own(func(c *Config) { c.Own[1].Sizes = dp.ConstantSizes(481) }), "client 1: sample size = 481"},
		{own(func(c *Config) { c.Own[1].Sizes = dp.ConstantSizes(0) }), "client 1: sample size of round 0 = 0"},
		{own(func(c *Config) { c.Own[1].Sizes = dp.ListSizes{9, 10} }), "client 1: sizes = list:9,10, must be those of all clients, 8: only constant"},
		{func(c *Config) {
			c.Mechanism.Sizes = dp.ListSizes{1, 2}
			ownNoise()(c)
			c.Own[3].Sizes = dp.ConstantSizes(2)
		}, "client 3: sizes = 2, must be those of all clients, list:1,2: only constant"},
		{func(c *Config) {
			c.Mechanism.Sampling, c.Mechanism.Batches = dp.Allocation, 60
			ownNoise()(c)
			c.Own[3].Sizes = dp.ConstantSizes(9)
		}, "client 3: sizes = 9, must be those of all clients, 8: only constant sizes may differ, and not with allocation"},
		{own(func(c *Config) { c.Own[1].Sizes = nil }), "client 1: sizes = <nil>, must be those of all clients"},
		{own(func(c *Config) { c.Own[0].Sampling = dp.FixedSize }), "client 0: batches, group, sampling, adjacency and"},
		{own(func(c *Config) { c.Own[1].Batches = 2 }), "client 1: batches, group, sampling, adjacency and exactness must"},
		{own(func(c *Config) { c.Own[2].Exact = true }), "client 2: batches, group, sampling, adjacency and exactness must"},
		{own(func(c *Config) { c.Own[3].DatasetSize = 7 }), "client 3: sample size = 8"},
		{own(func(c *Config) { c.Own[3].DatasetSize = 77 }), "client 3 holds 480 records, its mechanism accounts for " +
			"N = 77"},
		{ownNoise(-1), "client 0: noise multiplier = -1"},
		{own(func(c *Config) { c.Adapt = 2 }), "adapt = 2, must be 0"},
		{func(c *Config) { c.Initial = []float32{1} }, "initial model has 1 parameters, must have"},
		{func(c *Config) {
			c.Initial = slices.Repeat([]float32{float32(math.NaN())}, c.Model.NumParams())
		}, "finite"},
	} {
		cfg := small(t, c.option)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, must say %q", err, c.want)
		}
		if !strings.Contains(c.want, "sizes") {
			continue
		}
		if _, err := NewServer(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the server says %v, must say %q", err, c.want)
		}
		if _, err := NewClient(cfg, 0, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("client 0 says %v, must say %q", err, c.want)
		}
	}
}

// Clients may hold different numbers of records: the ledger of each has its own number, and so its own sample rate.
func TestOwnNumberOfRecordsIsAccounted(t *testing.T) {
	cfg := small(t, ownNoise(1, 1, 1, 1))
	n := cfg.Own[0].DatasetSize - 1
	cfg.Rows[0].Rows = cfg.Rows[0].Rows[:n]
	if err := cfg.Validate(); err == nil {
		t.Error("a client has fewer records than its mechanism accounts for")
	}
	cfg.Own[0].DatasetSize = n
	for client, ledger := range runVirtual(t, cfg, Perf{}).Ledgers {
		for _, e := range ledger.Events() {
			if want := cfg.Rows[client].Len(); e.DatasetSize != want || want == n != (client == 0) {
				t.Errorf("client %d holds %d records, its ledger has %+v", client, want, e)
			}
		}
	}
}
