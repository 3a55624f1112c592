package sim_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/models/logreg"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// roundRobin is a runner as anybody can write one: clients take turns, each
// computes at most one round in its turn, and messages lie in queues.
type roundRobin struct {
	cfg     *sim.Config
	server  *sim.Server
	clients []*sim.Client
	updates []sim.Update  // to the server, oldest first
	down    [][]broadcast // to each client, oldest first
	late    int           // turns that the server leaves between two updates
	turn    int
	ws      *sim.Workspace
	readers map[*sim.Vector]int // who have not let go of a broadcast
	lags    []int               // of every round that began
	sizes   int                 // Σ of the expected sizes of these rounds
}

type broadcast struct {
	k int
	v *sim.Vector
}

func newRoundRobin(t *testing.T, cfg *sim.Config, late int) *roundRobin {
	t.Helper()
	r := &roundRobin{
		cfg: cfg, late: late, down: make([][]broadcast, cfg.Clients()), ws: sim.NewWorkspace(cfg.Model),
		readers: map[*sim.Vector]int{},
	}
	r.server = r.newServer(t)
	for id := range cfg.Clients() {
		r.clients = append(r.clients, r.newClient(t, id))
	}
	return r
}

func (r *roundRobin) newServer(t *testing.T) *sim.Server {
	t.Helper()
	s, err := sim.NewServer(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (r *roundRobin) newClient(t *testing.T, id int) *sim.Client {
	t.Helper()
	c, err := sim.NewClient(r.cfg, id, func(v *sim.Vector) {
		if n, ours := r.readers[v]; ours { // else it is the default global model, or one that Restore made
			if r.readers[v] = n - 1; n == 0 {
				t.Errorf("client %d let go of a broadcast that it did not have", id)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// step is one turn of one client and then of the server. middle, unless it is
// nil, is called while the client is in its round.
func (r *roundRobin) step(t *testing.T, middle func(id int)) {
	t.Helper()
	id := r.turn % len(r.clients)
	if queue := r.down[id]; len(queue) > 0 {
		if err := r.clients[id].Receive(queue[0].k, queue[0].v); err != nil {
			t.Fatal(err)
		}
		r.down[id] = queue[1:]
	}
	if r.clients[id].CanBegin() {
		r.clients[id].Begin()
		r.lags = append(r.lags, r.clients[id].Lag())
		r.sizes += r.clients[id].Size()
		if middle != nil {
			middle(id)
		}
		c := r.clients[id]
		u := make([]float32, r.cfg.Model.NumParams())
		if err := c.Compute(u, r.ws); err != nil {
			t.Fatal(err)
		}
		r.updates = append(r.updates, c.Finish(u))
	}
	if r.turn++; len(r.updates) == 0 || r.turn%(r.late+1) != 0 {
		return
	}
	complete, err := r.server.Receive(r.updates[0])
	if err != nil {
		t.Fatal(err)
	}
	r.updates = r.updates[1:]
	if !complete {
		return
	}
	v := &sim.Vector{X: slices.Clone(r.server.Model())}
	r.readers[v] = len(r.clients)
	for id := range r.down {
		r.down[id] = append(r.down[id], broadcast{r.server.K(), v})
	}
}

func (r *roundRobin) run(t *testing.T, middle func(id int)) {
	t.Helper()
	for most := 1000 * len(r.clients); !r.server.Done(); most-- {
		if most == 0 {
			t.Fatal("training does not end")
		}
		r.step(t, middle)
	}
}

// drawn is three clients' training of 12 rounds, each client with a root of its
// own, on a constant clock, on which updates arrive in the order of clients.
func drawn(t *testing.T, delay sim.Delay) *sim.Config {
	t.Helper()
	const rows, features, clients = 60, 5, 3
	d := &data.Dataset{Name: "drawn", Features: features, Classes: 2, Start: []int{0}}
	s := rng.New(1).Stream(rng.Synthetic, 0, 0)
	for range rows {
		sum := 0.0
		for c := range int32(features) {
			x := s.Normal()
			sum += x
			d.Index, d.Value = append(d.Index, c), append(d.Value, float32(x))
		}
		d.Start = append(d.Start, len(d.Index))
		d.Label = append(d.Label, int32(min(1, max(0, int(sum+1)))))
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	train, _, err := data.Split(d, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	shards, err := data.Shard.Deal(train, clients, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	model, err := logreg.NewRidge(features, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	roots := sim.Roots{Run: rng.New(1)}
	for id := range clients {
		root, err := rng.NewFromSecret(bytes.Repeat([]byte{byte(id)}, rng.MinSecret))
		if err != nil {
			t.Fatal(err)
		}
		roots.Clients = append(roots.Clients, root)
	}
	constant := clock.Duration{Kind: clock.Constant, Mean: 1000}
	return &sim.Config{
		Model: model, Rows: shards, Partition: data.Shard,
		Mechanism: dp.Mechanism{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove,
			ClipNorm: 0.5, NoiseMultiplier: 1, DatasetSize: shards[0].Len(), Sizes: dp.ConstantSizes(4),
		},
		GradComps: 48, Delay: delay, Roots: roots,
		Steps:  sim.StepSize{Eta0: 0.1, Beta: 0.01, Decay: sim.SqrtDecay},
		Timing: clock.Timing{Compute: constant, Uplink: constant, Downlink: constant},
	}
}

// Law 1: a runner outside the package drives the same machines. Its synchronous training has the bits of
// Virtual.
func TestARunnerFromOutside(t *testing.T) {
	cfg := drawn(t, sim.AtMost(0))
	v, err := sim.NewVirtual(cfg, sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := v.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := newRoundRobin(t, cfg, 0)
	r.run(t, nil)
	if !slices.Equal(r.server.Model(), want.Params) {
		t.Errorf("model %v, Virtual's is %v", r.server.Model(), want.Params)
	}
	if r.server.Updates() != want.Updates || r.sizes != cfg.GradComps*cfg.Clients() {
		t.Errorf("%d updates of %d gradient computations, want %d of %d", r.server.Updates(), r.sizes, want.Updates,
			cfg.GradComps*cfg.Clients())
	}
	for id, c := range r.clients {
		if got := c.Ledger(); !c.Done() || !slices.Equal(got.Events(), want.Ledgers[id].Events()) {
			t.Errorf("client %d: done: %v, ledger %+v, Virtual's is %+v", id, c.Done(), got, want.Ledgers[id])
		}
	}
}

// Υ(k, i) ⇔ k ≥ i − τ: with a slow server, clients run ahead by exactly τ rounds.
func TestARunnerFromOutsideKeepsTheDelay(t *testing.T) {
	for _, tau := range []int{0, 1, 3} {
		r := newRoundRobin(t, drawn(t, sim.AtMost(tau)), 2)
		r.run(t, nil)
		if got := slices.Max(r.lags); got != tau {
			t.Errorf("τ = %d: the largest lag is %d", tau, got)
		}
		for v, n := range r.readers {
			held := 0
			for id := range r.down {
				for _, b := range r.down[id] {
					if b.v == v {
						held++
					}
				}
			}
			if n < held || n > held+2*len(r.clients) {
				t.Errorf("τ = %d: a broadcast has %d readers, %d of them to come", tau, n, held)
			}
		}
	}
}

// Machines are saved in the middle of a round and restored as new ones. They continue to the same bits,
// and are saved again as the same bytes.
func TestSavedMachinesGoOn(t *testing.T) {
	cfg := drawn(t, sim.AtMost(2))
	plain := newRoundRobin(t, cfg, 1)
	plain.run(t, nil)
	moved, moves := newRoundRobin(t, cfg, 1), 0
	moved.run(t, func(id int) {
		var server, client, again bytes.Buffer
		if err := moved.server.Save(&server); err != nil {
			t.Fatal(err)
		}
		if err := moved.clients[id].Save(&client); err != nil {
			t.Fatal(err)
		}
		saved := slices.Clone(client.Bytes())
		moved.server, moved.clients[id] = moved.newServer(t), moved.newClient(t, id)
		if err := moved.server.Restore(&server); err != nil {
			t.Fatal(err)
		}
		client.WriteString("what follows")
		if err := moved.clients[id].Restore(&client); err != nil {
			t.Fatal(err)
		}
		if client.String() != "what follows" {
			t.Fatalf("Restore left %q", client.String())
		}
		if !moved.clients[id].InRound() {
			t.Fatal("the round is not under way any more")
		}
		if err := moved.clients[id].Save(&again); err != nil || !bytes.Equal(again.Bytes(), saved) {
			t.Fatalf("saved again as other bytes: %v", err)
		}
		moves++
	})
	if moves != 12*cfg.Clients() || !slices.Equal(moved.server.Model(), plain.server.Model()) {
		t.Errorf("after %d moves the model is %v, want %v", moves, moved.server.Model(), plain.server.Model())
	}
}

// A client of which only the ledger is left continues from a broadcast, and releases no round twice.
func TestResumedClientReleasesNothingTwice(t *testing.T) {
	cfg := drawn(t, sim.AtMost(3))
	r := newRoundRobin(t, cfg, 1)
	for r.server.K() < 5 {
		r.step(t, nil)
	}
	lost := r.clients[1]
	ledger, round := lost.Ledger(), lost.Round()
	if round <= r.server.Next(1) || r.server.Has(1, round-1) {
		t.Fatal("the client has nothing under way: this test is of nothing")
	}
	c := r.newClient(t, 1)
	r.clients[1], r.down[1] = c, nil
	v := &sim.Vector{X: slices.Clone(r.server.Model())}
	if err := c.Resume(&ledger, round+1, v); err == nil {
		t.Error("resumed from a broadcast of rounds that it has not computed")
	}
	var foreign dp.Ledger
	foreign.Record(dp.Event{SampleSize: 4, Count: 5, NoiseMultiplier: 9})
	if err := c.Resume(&foreign, 5, v); err == nil {
		t.Error("resumed from another mechanism's ledger")
	}
	if err := c.Resume(&ledger, r.server.K(), v); err != nil {
		t.Fatal(err)
	}
	if c.Round() != round || c.Newest() != r.server.K() {
		t.Errorf("resumed in round %d after v̂_%d, want %d after %d", c.Round(), c.Newest(), round, r.server.K())
	}
	var before dp.Ledger
	for _, e := range ledger.Events() {
		e.Count = round - 1
		before.Record(e)
	}
	if err := c.Resume(&before, r.server.K(), v); err == nil || !strings.Contains(err.Error(), "must be in") {
		t.Errorf("resumed from a ledger that lacks a round: %v", err)
	}
	r.run(t, nil)
	for id, c := range r.clients {
		if l := c.Ledger(); l.Run().Rounds != 12 || r.server.Highest(id) != 11 || r.server.Next(id) != 12 {
			t.Errorf("client %d: %d rounds in its ledger, %d at the server", id, l.Run().Rounds, r.server.Next(id))
		}
	}
	if r.server.Updates() != 36 {
		t.Errorf("%d updates, want 36", r.server.Updates())
	}
}

// The server needs no records or secrets of clients, and a client needs only its own.
func TestMachinesNeedNobodyElsesSecrets(t *testing.T) {
	whole := drawn(t, sim.AtMost(0))
	cfg := *whole
	cfg.Rows, cfg.Roots.Clients = make([]data.Subset, 3), nil
	if _, err := sim.NewServer(&cfg); err != nil {
		t.Errorf("a server: %v", err)
	}
	cfg.Rows[1], cfg.Roots.Clients = whole.Rows[1], []*rng.Root{nil, whole.Roots.Clients[1]}
	c, err := sim.NewClient(&cfg, 1, nil)
	if err != nil {
		t.Fatalf("a client: %v", err)
	}
	all, err := sim.NewClient(whole, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	u, want := make([]float32, 6), make([]float32, 6)
	for c, u := range map[*sim.Client][]float32{c: u, all: want} {
		c.Begin()
		if err := c.Compute(u, sim.NewWorkspace(cfg.Model)); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(u, want) {
		t.Error("a client that knows nobody else releases something else")
	}
	for id, want := range map[int]string{
		-1: "client = -1, must be in [0, 2]", 3: "client = 3, must be in [0, 2]",
		0: "root of client 0", 2: "client 2 holds 0 records",
	} {
		if _, err := sim.NewClient(&cfg, id, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("client %d: %v, want %q", id, err, want)
		}
	}
}

// A saved state is refused if a byte is changed or missing, or if it is of another machine.
func TestDamagedStatesAreRefused(t *testing.T) {
	cfg := drawn(t, sim.AtMost(3))
	r := newRoundRobin(t, cfg, 1)
	for r.server.K() < 5 {
		r.step(t, nil)
	}
	var server, client bytes.Buffer
	if err := r.server.Save(&server); err != nil {
		t.Fatal(err)
	}
	if err := r.clients[1].Save(&client); err != nil {
		t.Fatal(err)
	}
	check := func(what string, state []byte, restore func(*bytes.Reader) error, save func(*bytes.Buffer) error) {
		var before, after bytes.Buffer
		if err := save(&before); err != nil {
			t.Fatal(err)
		}
		for i := range state {
			damaged := slices.Clone(state)
			damaged[i] ^= 1 << (i % 8)
			if restore(bytes.NewReader(damaged)) == nil {
				t.Errorf("%s: accepted with byte %d changed", what, i)
			}
			if restore(bytes.NewReader(state[:i])) == nil {
				t.Errorf("%s: accepted cut at %d", what, i)
			}
		}
		if err := save(&after); err != nil || !bytes.Equal(before.Bytes(), after.Bytes()) {
			t.Errorf("%s: a state that was refused changed it: %v", what, err)
		}
	}
	freshServer, freshClient := r.newServer(t), r.newClient(t, 1)
	check("server", server.Bytes(), func(b *bytes.Reader) error { return freshServer.Restore(b) },
		func(b *bytes.Buffer) error { return freshServer.Save(b) })
	check("client", client.Bytes(), func(b *bytes.Reader) error { return freshClient.Restore(b) },
		func(b *bytes.Buffer) error { return freshClient.Save(b) })
	for what, err := range map[string]error{
		"another client's":  r.newClient(t, 2).Restore(bytes.NewReader(client.Bytes())),
		"a server's":        freshClient.Restore(bytes.NewReader(server.Bytes())),
		"a client's":        freshServer.Restore(bytes.NewReader(client.Bytes())),
		"of another length": sparser(t).Restore(bytes.NewReader(server.Bytes())),
	} {
		if err == nil {
			t.Errorf("the state is %s: accepted", what)
		}
	}
}

// sparser is the server of a run with fewer rounds.
func sparser(t *testing.T) *sim.Server {
	t.Helper()
	cfg := drawn(t, sim.AtMost(0))
	cfg.GradComps -= 4
	s, err := sim.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A client releases every broadcast that it no longer reads: an older one, the newest when it continues
// from its own model, and all of them at Restore.
func TestClientLetsGo(t *testing.T) {
	cfg := drawn(t, sim.Unlimited{})
	var free []*sim.Vector
	c, err := sim.NewClient(cfg, 0, func(v *sim.Vector) { free = append(free, v) })
	if err != nil {
		t.Fatal(err)
	}
	var start bytes.Buffer
	if err := c.Save(&start); err != nil {
		t.Fatal(err)
	}
	let := func(what string, want ...*sim.Vector) {
		t.Helper()
		if !slices.Equal(free, want) {
			t.Errorf("%s: it let go of %d vectors, want %d others", what, len(free), len(want))
		}
		free = nil
	}
	round := func() {
		c.Begin()
		c.Finish(make([]float32, cfg.Model.NumParams()))
	}
	receive := func(k int) *sim.Vector {
		v := &sim.Vector{X: make([]float32, cfg.Model.NumParams())}
		if err := c.Receive(k, v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	round()
	if len(free) != 1 {
		t.Errorf("after the first round it let go of %d vectors, want the default global model", len(free))
	}
	free = nil
	round()
	first := receive(1)
	let("a broadcast")
	old := receive(1)
	let("an old broadcast", old)
	c.Begin()
	second := receive(2)
	let("a broadcast in mid-round")
	if err := c.Restore(&start); err != nil {
		t.Fatal(err)
	}
	let("another state", first, second)
}

// A run continues after a client was expelled. Its applied updates stay, later ones are refused, and no
// broadcast waits for it, even after the server was saved and restored.
func TestARunGoesOnWithoutAnExpelledClient(t *testing.T) {
	cfg := drawn(t, sim.AtMost(1))
	s, err := sim.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	rounds := cfg.Run().Rounds
	u := make([]float32, cfg.Model.NumParams())
	receive := func(client, round int) bool {
		t.Helper()
		broadcast, err := s.Receive(sim.Update{Client: client, Round: round, U: u})
		if err != nil {
			t.Fatal(err)
		}
		return broadcast
	}
	receive(0, 0)
	receive(1, 0)
	receive(2, 0)
	receive(0, 1)
	receive(1, 1)
	if !s.Expel(2) || s.K() != 2 || s.Expel(2) {
		t.Errorf("k = %d after the last that was waited for was expelled, want 2", s.K())
	}
	if _, err := s.Receive(sim.Update{Client: 2, Round: 1, U: u}); err == nil {
		t.Error("an update of an expelled client is taken")
	}
	var saved bytes.Buffer
	if err := s.Save(&saved); err != nil {
		t.Fatal(err)
	}
	if s, err = sim.NewServer(cfg); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(&saved); err != nil {
		t.Fatal(err)
	}
	if s.K() != 1 || !s.Expel(2) || s.K() != 2 {
		t.Errorf("k = %d after it was restored, want 2", s.K())
	}
	for round := 2; round < rounds; round++ {
		if receive(0, round) || !receive(1, round) || s.K() != round+1 {
			t.Fatalf("round %d: k = %d", round, s.K())
		}
	}
	if !s.Done() || s.Updates() != 2*rounds+1 {
		t.Errorf("done: %v with %d updates", s.Done(), s.Updates())
	}
}
