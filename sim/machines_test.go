package sim

import (
	"fmt"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/internal/rng"
	"proactivedp/models"
)

// ledgerModel has one parameter a (client, round) and is never trained: tests
// that drive the machines by hand send one-hot updates, so that a global model
// shows exactly which updates are in it.
type ledgerModel struct{ params int }

func (m ledgerModel) Name() string                  { return "ledger" }
func (m ledgerModel) NumParams() int                { return m.params }
func (ledgerModel) Init(p []float32, _ *rng.Stream) { clear(p) }
func (ledgerModel) NewScratch() models.Scratch      { return nil }
func (ledgerModel) ClippedGradSum(sum, _ []float32, _ data.Batch, _ float64, _ models.Scratch) error {
	clear(sum)
	return nil
}
func (ledgerModel) Loss([]float32, data.Batch, models.Scratch) float64     { return 0 }
func (ledgerModel) Predict([]int32, []float32, data.Batch, models.Scratch) {}

func handDriven(clients, rounds int, delay Delay) *Config {
	d := &data.Dataset{Features: 1, Classes: 2, Label: []int32{0, 1}, Start: []int{0, 0, 0}}
	cfg := &Config{
		Model:     ledgerModel{clients * rounds},
		Partition: data.Replicate,
		Mechanism: dp.Mechanism{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 1,
			NoiseMultiplier: 0, DatasetSize: 2, Sizes: dp.ConstantSizes(1),
		},
		GradComps: rounds,
		Delay:     delay,
		Steps:     StepSize{Eta0: 1, Decay: NoDecay},
		Root:      rng.New(1),
		Timing:    DefaultTiming(),
	}
	for range clients {
		cfg.Rows = append(cfg.Rows, data.Subset{Data: d, Rows: []int32{0, 1}})
	}
	return cfg
}

// kept releases nothing: these tests use no vector twice.
func kept(*Vector) {}

// world is the server, the clients and the messages under way, as a value that
// the explorer copies at every branch.
type world struct {
	rounds     int
	server     *Server
	clients    []*Client
	updates    []Update
	broadcasts []flight
}

// flight is a broadcast on its way to one client.
type flight struct {
	client, k int
	v         *Vector
}

func (w *world) clone() *world {
	out := &world{rounds: w.rounds}
	server := *w.server
	server.state = w.server.state.clone()
	out.server = &server
	for _, c := range w.clients {
		client := *c
		client.state = c.state.clone()
		out.clients = append(out.clients, &client)
	}
	// Vectors of messages are never written after they are sent.
	out.updates, out.broadcasts = slices.Clone(w.updates), slices.Clone(w.broadcasts)
	return out
}

// key is equal for two worlds that behave alike.
func (w *world) key() string {
	msgs := make([]string, 0, len(w.updates)+len(w.broadcasts))
	for _, u := range w.updates {
		msgs = append(msgs, fmt.Sprint("u", u.Client, u.Round))
	}
	for _, f := range w.broadcasts {
		msgs = append(msgs, fmt.Sprint("b", f.client, f.k, f.v.X))
	}
	slices.Sort(msgs)
	s := fmt.Sprint(msgs, w.server.state.v, w.server.state.k)
	for _, c := range w.clients {
		s += fmt.Sprint(c.state.w(), c.state.k, c.state.i, c.state.busy)
		if c.state.newer != nil {
			s += fmt.Sprint(c.state.newer.X)
		}
	}
	return s
}

// explorer walks every order of events and reports the first broken invariant.
type explorer struct {
	t      *testing.T
	cfg    *Config
	seen   map[string]bool
	ends   int
	broken string
}

func explore(t *testing.T, cfg *Config) *explorer {
	t.Helper()
	x := &explorer{t: t, cfg: cfg, seen: map[string]bool{}}
	server, clients, sched := cfg.newMachines(kept)
	w := &world{rounds: sched.rounds, server: server, clients: clients}
	x.visit(w)
	return x
}

func (x *explorer) visit(w *world) {
	if x.broken != "" {
		return
	}
	key := w.key()
	if x.seen[key] {
		return
	}
	x.seen[key] = true
	x.check(w)
	moves := 0
	branch := func(step func(*world)) {
		moves++
		next := w.clone()
		step(next)
		x.visit(next)
	}
	for i, c := range w.clients {
		if c.CanBegin() {
			branch(func(n *world) { n.clients[i].Begin() })
		}
		if c.state.busy {
			branch(func(n *world) {
				u := make([]float32, len(n.server.state.v))
				u[i*n.rounds+n.clients[i].state.i] = -1 // applied as +1
				n.updates = append(n.updates, n.clients[i].Finish(u))
			})
		}
	}
	for j := range w.updates {
		branch(func(n *world) {
			u := n.updates[j]
			n.updates = slices.Delete(n.updates, j, j+1)
			broadcast, err := n.server.Receive(u)
			if err != nil {
				x.fail("the server refused an update: %v", err)
			}
			if broadcast {
				v := &Vector{X: slices.Clone(n.server.Model())}
				for c := range n.clients {
					n.broadcasts = append(n.broadcasts, flight{c, n.server.K(), v})
				}
			}
		})
	}
	for j := range w.broadcasts {
		branch(func(n *world) {
			f := n.broadcasts[j]
			n.broadcasts = slices.Delete(n.broadcasts, j, j+1)
			n.clients[f.client].Receive(f.k, f.v)
		})
	}
	if moves == 0 {
		x.ends++
		if !w.server.Done() {
			x.fail("deadlock: nothing can happen and the server stands at k = %d of %d", w.server.K(), w.rounds)
		}
	}
}

func (x *explorer) fail(format string, args ...any) {
	if x.broken == "" {
		x.broken = fmt.Sprintf(format, args...)
	}
}

// check tests what must hold in every reachable state.
func (x *explorer) check(w *world) {
	v := w.server.state.v
	for p, n := range v {
		if n != 0 && n != 1 {
			x.fail("update of client %d, round %d applied %v times", p/w.rounds, p%w.rounds, n)
		}
	}
	complete := func(what string, k int, v []float32) {
		for p, n := range v {
			if p%w.rounds < k && n != 1 {
				x.fail("%s, v̂_%d, lacks the update of client %d, round %d", what, k, p/w.rounds, p%w.rounds)
			}
		}
	}
	complete("the server's model", w.server.K(), v)
	for _, f := range w.broadcasts {
		complete("a broadcast", f.k, f.v.X)
	}
	for i, c := range w.clients {
		if c.state.busy && !x.cfg.Delay.Permits(c.state.k, c.state.i) {
			x.fail("client %d computes round %d with v̂_%d although Υ is false", i, c.state.i, c.state.k)
		}
		rounds := 0
		for _, e := range c.state.ledger.Events() {
			rounds += e.Count
		}
		if rounds != c.state.i {
			x.fail("the ledger of client %d has %d rounds after %d", i, rounds, c.state.i)
		}
	}
}

// Algorithms 1–4: every order of every event of 2 clients × 2 rounds.
func TestEveryInterleavingOfTwoByTwo(t *testing.T) {
	for _, delay := range []Delay{AtMost(0), AtMost(1), Unlimited{}} {
		t.Run(delay.String(), func(t *testing.T) {
			x := explore(t, handDriven(2, 2, delay))
			if x.broken != "" {
				t.Error(x.broken)
			}
			if x.ends == 0 {
				t.Error("no order of events came to an end")
			}
			t.Logf("%d states, %d final ones", len(x.seen), x.ends)
		})
	}
}

// The explorer is only worth something if it finds faults: Υ that forbids a
// round for ever must show as a deadlock.
func TestExplorerFindsADeadlock(t *testing.T) {
	x := explore(t, handDriven(2, 2, never{}))
	if x.broken == "" {
		t.Error("a permissible delay that is false for ever was not noticed")
	}
}

type never struct{}

func (never) Permits(k, i int) bool { return i == 0 }
func (never) String() string        { return "never" }

func TestExplorerFindsAMissingDedup(t *testing.T) {
	cfg := handDriven(1, 2, Unlimited{})
	server, _, _ := cfg.newMachines(kept)
	u := Update{Client: 0, Round: 1, U: []float32{0, -1}}
	for range 3 {
		if _, err := server.Receive(u); err != nil {
			t.Fatal(err)
		}
	}
	if got := server.Model()[1]; got != 1 {
		t.Errorf("an update received three times was applied %v times", got)
	}
	server.state.clients[0] = progress{} // forget: the fault
	if _, err := server.Receive(u); err != nil {
		t.Fatal(err)
	}
	x := &explorer{cfg: cfg}
	x.check(&world{rounds: 2, server: server})
	if x.broken == "" {
		t.Error("the invariants hold although an update was applied twice")
	}
}

// ISRReceive: a broadcast that arrives in mid-round replaces ŵ at the end of
// the round, U applied on top; an older one is dropped.
func TestBroadcastInMidRound(t *testing.T) {
	_, clients, _ := handDriven(1, 2, Unlimited{}).newMachines(kept)
	c := clients[0]
	c.Begin()
	c.Receive(2, &Vector{X: []float32{10, 20}})
	if c.state.w()[0] != 0 {
		t.Error("the running round's model changed")
	}
	c.Receive(1, &Vector{X: []float32{-7, -7}})
	c.Finish([]float32{1, 2})
	if got := fmt.Sprint(c.state.w()); got != "[9 18]" {
		t.Errorf("ŵ = %s after the round, want v̂_2 − U = [9 18]", got)
	}
	c.Receive(1, &Vector{X: []float32{-7, -7}})
	if got := fmt.Sprint(c.state.w()); got != "[9 18]" {
		t.Errorf("an older broadcast changed ŵ to %s", got)
	}
}

// One update that completes several k gives one broadcast, the newest.
func TestOneUpdateCompletesSeveralRounds(t *testing.T) {
	cfg := handDriven(2, 3, Unlimited{})
	server, _, _ := cfg.newMachines(kept)
	send := func(client, round int) bool {
		b, err := server.Receive(Update{Client: client, Round: round, U: make([]float32, 6)})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, m := range [][2]int{{0, 0}, {0, 1}, {0, 2}, {1, 2}, {1, 1}} {
		if send(m[0], m[1]) {
			t.Fatalf("broadcast after %v: round 0 of client 1 is not in", m)
		}
	}
	if !send(1, 0) || server.K() != 3 || !server.Done() {
		t.Errorf("k = %d after the last update, want one broadcast with k = 3", server.K())
	}
}

func TestServerRefusesForeignUpdates(t *testing.T) {
	server, _, _ := handDriven(2, 2, AtMost(1)).newMachines(kept)
	ok := make([]float32, 4)
	for name, u := range map[string]Update{
		"client":     {Client: 2, Round: 0, U: ok},
		"negative":   {Client: -1, Round: 0, U: ok},
		"round":      {Client: 0, Round: 2, U: ok},
		"parameters": {Client: 0, Round: 0, U: ok[:3]},
	} {
		if _, err := server.Receive(u); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if server.state.applied != 0 {
		t.Error("a refused update was counted")
	}
}
