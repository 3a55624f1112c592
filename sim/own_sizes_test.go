package sim

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/rdp"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// ownSizes gives each client a sample size of its own. All clients compute K = 40 gradients.
func ownSizes(sizes ...int) option {
	return func(c *Config) {
		c.GradComps, c.Mechanism.Sizes = 40, dp.ConstantSizes(slices.Min(sizes))
		ownNoise()(c)
		for i, s := range sizes {
			c.Own[i].Sizes = dp.ConstantSizes(s)
			c.Roots.Clients[i] = c.Roots.Clients[i].ForRun(uint64(i + 1))
		}
	}
}

// Of the paper's appendix "DP Calculator": each client j has its own sample size s_j and T_j = ⌊K/s_j⌋ rounds. With
// synchronous delay and constant times, this is plain DP-SGD on the rounds r of the client with the smallest samples. A
// round of another client begins with the model of a round r, and is applied at the end of its last r, the one that began
// first before the others. The step size of a round follows from the gradients of its client's earlier rounds.
func TestOwnSizesAreSequentialDPSGD(t *testing.T) {
	sizes := []int{5, 1, 8, 5}
	for _, steps := range []StepSize{{Eta0: 0.1, Beta: 0.01, Decay: LinearDecay}, {Eta0: 0.1, Decay: CosineDecay}} {
		cfg := small(t, withDelay(AtMost(0)), constantTiming, ownSizes(sizes...), func(c *Config) { c.Steps = steps })
		got := runVirtual(t, cfg, Perf{})
		order := []int{0, 1, 2, 3} // of arrival: the messages of short rounds take more time
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
		w := make([]float32, cfg.Model.NumParams())
		sum, updates := make([]float64, len(w)), 0
		sent := make([][]float32, len(sizes)) // each client's update under way
		for r := range 40 {
			at := slices.Clone(w)
			for _, client := range order {
				s := sizes[client]
				if r%s != 0 {
					continue
				}
				m, root, round := &cfg.Own[client], cfg.Roots.Clients[client], r/s
				pos := m.SampleOf(nil, s, root.Stream(rng.Sampling, uint32(client), round), new(dp.SampleScratch))
				err := models.NewSums(cfg.Model).GradSum(sum, at, cfg.Rows[client].Batch(pos), m.ClipNorm, nil)
				if err != nil {
					t.Fatal(err)
				}
				sent[client] = make([]float32, len(w))
				m.AddNoise(sent[client], sum, root.Stream(rng.Noise, uint32(client), round))
			}
			for _, client := range order {
				if s := sizes[client]; r%s == s-1 {
					f32.Axpy(-float32(steps.At(r/s*s, 40)), sent[client], w)
					updates++
				}
			}
		}
		if !slices.Equal(w, got.Params) || updates != got.Updates {
			t.Errorf("%s: the simulator's model %v of %d updates differs from plain DP-SGD's %v of %d", steps.Decay, got.Params,
				got.Updates, w, updates)
		}
	}
}

// Each client releases the rounds of its own size: as many as it planned, and as its ledger counts. So its ε is that
// of its own rounds.
func TestOwnSizesAreAccounted(t *testing.T) {
	sizes, ctx := []int{5, 1, 8, 5}, context.Background()
	for name, run := range map[string]func(cfg *Config) (*Result, error){
		"virtual": func(cfg *Config) (*Result, error) { return runVirtual(t, cfg, Perf{Workers: 2, MinWork: 1}), nil },
		"hogwild": func(cfg *Config) (*Result, error) { return Hogwild(ctx, cfg, nil) },
	} {
		cfg := small(t, ownSizes(sizes...))
		r, err := run(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if r.Run.Rounds != 40 || r.Updates != 8+40+5+8 {
			t.Errorf("%s: %d rounds and %d updates", name, r.Run.Rounds, r.Updates)
		}
		if rounds, gradients := cfg.Total(); rounds != 8+40+5+8 || gradients != 160 || cfg.LargestSample() != 8 {
			t.Errorf("planned %v rounds, %v gradients, the largest sample %d", rounds, gradients, cfg.LargestSample())
		}
		worst := 0.0
		for id, s := range sizes {
			want := cfg.Own[id].EventOf(s)
			want.Count = 40 / s
			events := r.Ledgers[id].Events()
			if want.Noise = events[0].Noise; len(events) != 1 || events[0] != want {
				t.Errorf("%s: client %d: ledger %+v, want %+v", name, id, events, want)
			}
			want.Noise = dp.Noise{}
			if planned := cfg.PlannedEvents(id); len(planned) != 1 || planned[0] != want {
				t.Errorf("%s: client %d: planned %+v, want %+v", name, id, planned, want)
			}
			b, err := rdp.Accountant{}.Epsilon(ctx, []dp.Event{want}, 1e-3)
			if err != nil {
				t.Fatal(err)
			}
			worst = max(worst, b.EpsilonUpper)
		}
		for what, privacy := range map[string]func() (claim.Privacy, error){
			"planned":  func() (claim.Privacy, error) { return cfg.PlannedPrivacy(ctx, rdp.Accountant{}, 1e-3) },
			"released": func() (claim.Privacy, error) { return claim.OfLedgers(ctx, rdp.Accountant{}, r.Ledgers, true, 1e-3) },
		} {
			p, err := privacy()
			if err != nil || *p.PerClient.EpsilonUpper != worst || !(*p.PerRecord.EpsilonUpper > worst) {
				t.Errorf("%s %s: ε = %v per client, must be %v (%v)", name, what, *p.PerClient.EpsilonUpper, worst, err)
			}
		}
	}
}

// A run of clients with their own sizes is the same after it was stopped and restored at any event, from memory or from
// a checkpoint, whatever happens to clients and messages.
func TestOwnSizesAreRestoredAtAnyEvent(t *testing.T) {
	for name, timing := range map[string]option{"default": func(*Config) {}, "exponential": exponentialTiming, "rough": rough} {
		for _, delay := range []Delay{AtMost(0), AtMost(2), SquareRoot{}, Unlimited{}} {
			cfg := small(t, timing, ownSizes(10, 4, 20, 4), withDelay(delay), func(c *Config) { c.Adapt, c.GradComps = 0, 80 })
			if delay == AtMost(2) {
				snapshotAtAnyEvent(t, cfg)
			}
			want := runVirtual(t, cfg, Perf{}).ParamsSHA256()
			v := newVirtual(t, cfg, Perf{})
			for events, more := 0, true; more; events++ {
				if events%7 == 0 {
					again := newVirtual(t, cfg, Perf{})
					if err := restore(again, written(t, v)); err != nil {
						t.Fatalf("%s, Υ %v: event %d: %v", name, delay, events, err)
					}
					if r, err := again.Run(t.Context()); err != nil || r.ParamsSHA256() != want {
						t.Fatalf("%s, Υ %v: restored at event %d to other bits (%v)", name, delay, events, err)
					}
				}
				var err error
				if more, err = v.Step(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// A checkpoint of clients with their own sizes does not fit a run with other sizes.
func TestOwnSizesOfACheckpointMustBeTheSame(t *testing.T) {
	v := newVirtual(t, small(t, ownSizes(5, 1, 8, 5)), Perf{})
	for range 30 {
		if _, err := v.Step(); err != nil {
			t.Fatal(err)
		}
	}
	file := written(t, v)
	for name, sizes := range map[string]option{
		"others": ownSizes(5, 1, 8, 4), "equal": ownSizes(1, 1, 1, 1),
		// 40/11 and 40/12 are 3 rounds.
		"rounds": ownSizes(11, 1, 8, 5),
	} {
		if err := restore(newVirtual(t, small(t, sizes), Perf{}), file); err == nil || !strings.Contains(err.Error(), "does not fit the run") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// The number of gradients that an observer reads is reached by every client. Υ counts the rounds of the client with the
// smallest samples, so at its bound all clients are about equally far, whatever their sizes.
func TestOwnSizesCountTheirGradients(t *testing.T) {
	sizes := []int{7, 1, 8, 3}
	cfg := small(t, ownSizes(sizes...), withDelay(SquareRoot{}), func(c *Config) { c.GradComps = 1200 })
	last := 0
	v, err := NewVirtual(cfg, Perf{}, func(b Broadcast) {
		least := math.MaxInt
		for _, s := range sizes {
			rounds := 0 // those whose places are below k
			for ; rounds < 1200/s && (rounds+1)*1200/(1200/s) <= b.K; rounds++ {
			}
			least = min(least, s*rounds)
		}
		if b.GradComps != least || b.GradComps < last {
			t.Errorf("k = %d: %d gradients after %d, want %d", b.K, b.GradComps, last, least)
		}
		last = b.GradComps
	})
	if err != nil {
		t.Fatal(err)
	}
	begun, largest := make([]int, len(sizes)), 0 // the first place of each client's newest round
	v.Record(func(h Happening) {
		if h.Kind != RoundBegins {
			return
		}
		s := sizes[h.Client]
		at := h.Number * 1200 / (1200 / s)
		begun[h.Client], largest = at, max(largest, h.Lag)
		// Clients have 1 gradient for each of these rounds.
		if t0, lacking := float64(at), float64(h.Lag); h.Size != s || h.Lag > 0 && lacking > math.Sqrt(t0/math.Log(t0))*(1+1e-12) {
			t.Errorf("client %d began round %d of size %d with a lag of %d", h.Client, h.Number, h.Size, h.Lag)
		}
		if ahead := slices.Max(begun) - slices.Min(begun); ahead > 8+14 { // a round of 8, and √(t/ln t)
			t.Errorf("client %d began round %d: clients are at %v", h.Client, h.Number, begun)
		}
	})
	if _, err := v.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if largest == 0 {
		t.Error("the delay was never used")
	}
}

// The server does not wait for a client that has sent all of its rounds, refuses further rounds of it, and says what it
// has, also when it was restored or when clients were expelled.
func TestServerOfOwnSizes(t *testing.T) {
	cfg := small(t, ownSizes(20, 10, 40, 20)) // 2, 4, 1 and 2 rounds: one takes the place of 2, 1, 4 and 2 rounds
	u := func() []float32 { return make([]float32, cfg.Model.NumParams()) }
	server, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	receive := func(client, round, k int) {
		t.Helper()
		before := server.K()
		broadcast, err := server.Receive(Update{client, round, u()})
		if err != nil || server.K() != k || broadcast != (k > before) {
			t.Fatalf("client %d, round %d: k = %d, %v, want %d", client, round, server.K(), err, k)
		}
	}
	refuse := func(client, round int) {
		t.Helper()
		updates := server.Updates()
		if _, err := server.Receive(Update{client, round, u()}); err == nil || server.Updates() != updates || server.Has(client, round) {
			t.Errorf("client %d, round %d: error %v", client, round, err)
		}
	}
	again := func() {
		t.Helper()
		var file bytes.Buffer
		if err := server.Save(&file); err != nil {
			t.Fatal(err)
		}
		other, err := NewServer(cfg)
		if err == nil {
			err = other.Restore(&file)
		}
		if err != nil || other.K() != server.K() || other.Updates() != server.Updates() {
			t.Fatalf("restored to k = %d, %v", other.K(), err)
		}
		server = other
	}
	receive(1, 0, 1) // v̂_1 needs only round 0 of client 1
	receive(1, 1, 1) // v̂_2 needs the first rounds of clients 0 and 3
	receive(0, 0, 1)
	refuse(2, 1)
	receive(3, 0, 2)
	again()
	receive(1, 2, 3)
	refuse(0, 2)
	receive(2, 0, 3) // v̂_4 needs all rounds of all clients
	refuse(2, 1)
	receive(3, 1, 3)
	again()
	receive(0, 1, 3) // all but client 1 are done
	if server.Done() || server.Next(0) != 2 || server.Next(1) != 3 || server.Next(2) != 1 {
		t.Errorf("done = %v, next rounds %d, %d, %d", server.Done(), server.Next(0), server.Next(1), server.Next(2))
	}
	for _, client := range []int{0, 2} { // the server waits for neither
		if server.Expel(client) {
			t.Errorf("client %d is expelled: k = %d", client, server.K())
		}
	}
	if receive(1, 3, 4); !server.Done() {
		t.Error("not done")
	}
	again()
	if !server.Done() {
		t.Error("not done after it was restored")
	}
	// Without the client that has the most rounds, the others are enough.
	server, err = NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range [][2]int{{0, 0}, {0, 1}, {2, 0}, {3, 0}} {
		receive(at[0], at[1], 0)
	}
	if !server.Expel(1) || server.K() != 3 {
		t.Errorf("k = %d, want 3: only round 1 of client 3 is missing", server.K())
	}
	receive(3, 1, 4)
}

// A client takes the global models that the others complete during its rounds, and after its last one. It refuses a model
// that would contain rounds that it has not computed.
func TestClientOfOwnSizes(t *testing.T) {
	cfg := small(t, ownSizes(20, 10, 10, 10), withDelay(AtMost(0))) // 2 and 4 rounds
	ws := NewWorkspace(cfg.Model)
	made := func() *Client {
		c, err := NewClient(cfg, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	broadcast := func() *Vector { return &Vector{X: make([]float32, cfg.Model.NumParams()), readers: 1} }
	c := made()
	for round := range 2 {
		if c.Done() || !c.CanBegin() || c.Round() != round {
			t.Fatalf("done = %v before round %d", c.Done(), round)
		}
		c.Begin()
		if c.Lag() != 0 {
			t.Errorf("a lag of %d in round %d", c.Lag(), round)
		}
		// Round 0 takes the place of rounds 0 and 1 of the others, so v̂_1 can come, and v̂_2 not before it is finished.
		if err := c.Receive(2*round+2, broadcast()); err == nil {
			t.Errorf("it takes v̂_%d before it has round %d", 2*round+2, round)
		}
		if err := c.Receive(2*round+1, broadcast()); err != nil {
			t.Error(err)
		}
		u := make([]float32, cfg.Model.NumParams())
		if err := c.Compute(u, ws); err != nil {
			t.Fatal(err)
		}
		if c.Finish(u); round == 0 {
			if c.CanBegin() { // round 1 begins in the place of round 2
				t.Error("round 1 may begin with v̂_1")
			}
			if err := c.Receive(2, broadcast()); err != nil {
				t.Error(err)
			}
		}
	}
	check := func(c *Client, k int) {
		t.Helper()
		if !c.Done() || c.CanBegin() || c.Newest() != k || c.Round() != 2 {
			t.Errorf("done = %v, may begin = %v, newest %d, round %d", c.Done(), c.CanBegin(), c.Newest(), c.Round())
		}
	}
	check(c, 3)
	if err := c.Receive(4, broadcast()); err != nil {
		t.Error(err)
	}
	check(c, 4)
	if err := c.Receive(5, broadcast()); err == nil {
		t.Error("it takes v̂_5 of 4 rounds")
	}
	var file bytes.Buffer
	if err := c.Save(&file); err != nil {
		t.Fatal(err)
	}
	restored := made()
	if err := restored.Restore(&file); err != nil {
		t.Fatal(err)
	}
	check(restored, 4)
	ledger := c.Ledger()
	resumed := made()
	if err := resumed.Resume(&ledger, 5, broadcast()); err == nil {
		t.Error("it resumes with v̂_5 of 4 rounds")
	}
	if err := resumed.Resume(&ledger, 4, broadcast()); err != nil {
		t.Fatal(err)
	}
	check(resumed, 4)
	if err := made().Resume(new(dp.Ledger), 2, broadcast()); err == nil {
		t.Error("it resumes with a model that has rounds which it has not computed")
	}
	if err := made().Resume(new(dp.Ledger), 1, broadcast()); err != nil {
		t.Error(err)
	}
}

// Many clients with their own sizes, as threads.
func TestHogwildOfOwnSizes(t *testing.T) {
	for _, delay := range []Delay{AtMost(0), AtMost(3), SquareRoot{}, Unlimited{}} {
		const n = 16
		sizes, want := make([]int, n), 0
		for i := range sizes {
			sizes[i] = 1 + i%5
			want += 40 / sizes[i]
		}
		r, err := Hogwild(t.Context(), small(t, withClients(n), ownSizes(sizes...), withDelay(delay)), func(Broadcast) {})
		if err != nil {
			t.Fatal(err)
		}
		if r.Updates != want {
			t.Errorf("Υ %v: %d updates, want %d", delay, r.Updates, want)
		}
		for i, l := range r.Ledgers {
			if got := fmt.Sprint(l.Run()); got != fmt.Sprint(dp.Cut(dp.ConstantSizes(sizes[i]), 40/sizes[i]*sizes[i])) {
				t.Errorf("Υ %v: client %d of s = %d ran %s", delay, i, sizes[i], got)
			}
		}
	}
}

// The rounds of a client take the place of all T rounds of the clients with the most rounds, each of at least one, in
// order. v̂_k contains at least the rounds whose places are below k.
func TestPlacesOfRounds(t *testing.T) {
	for most := 1; most <= 20; most++ {
		for rounds := 1; rounds <= most; rounds++ {
			s := schedule{rounds: rounds, most: most}
			next := 0
			for i := range rounds {
				if s.begins(i) != next || s.ends(i) < next || rounds == most && s.ends(i) != i {
					t.Fatalf("%d of %d: round %d is from %d to %d, the one before ended before %d", rounds, most, i, s.begins(i),
						s.ends(i), next)
				}
				next = s.ends(i) + 1
			}
			if next != most || s.begins(rounds) != most || s.ends(rounds) != most {
				t.Errorf("%d of %d: the last round ends before %d, and then %d to %d", rounds, most, next, s.begins(rounds),
					s.ends(rounds))
			}
			for k := range most + 1 {
				want := 0
				for i := range rounds {
					if s.ends(i) < k {
						want++
					}
				}
				if got := s.contained(k); got != want {
					t.Errorf("%d of %d: v̂_%d contains %d rounds, want %d", rounds, most, k, got, want)
				}
			}
		}
	}
}
