package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim/clock"
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
		Roots:     SharedRoots(rng.New(1), clients),
		Timing:    clock.DefaultTiming(),
	}
	for range clients {
		cfg.Rows = append(cfg.Rows, data.Subset{Data: d, Rows: []int32{0, 1}})
	}
	return cfg
}

// kept takes no vector back: these tests use none twice.
func kept(*Vector) {}

// ISRReceive: a broadcast that arrives in the middle of a round replaces ŵ at the end of the round, and U
// is applied on top. An older broadcast is dropped.
func TestBroadcastInMidRound(t *testing.T) {
	_, clients := handDriven(1, 3, Unlimited{}).newMachines(kept)
	c := clients[0]
	for range 2 {
		c.Begin()
		c.Finish(make([]float32, 3))
	}
	receive := func(k int, v ...float32) {
		if err := c.Receive(k, &Vector{X: v}); err != nil {
			t.Fatal(err)
		}
	}
	c.Begin()
	receive(2, 10, 20, 30)
	if c.state.w()[0] != 0 {
		t.Error("the running round's model changed")
	}
	receive(1, -7, -7, -7)
	c.Finish([]float32{1, 2, 3})
	if got := fmt.Sprint(c.state.w()); got != "[9 18 27]" {
		t.Errorf("ŵ = %s after the round, want v̂_2 − U = [9 18 27]", got)
	}
	receive(1, -7, -7, -7)
	if got := fmt.Sprint(c.state.w()); got != "[9 18 27]" {
		t.Errorf("an older broadcast changed ŵ to %s", got)
	}
}

// If updates arrive out of order, the server reports which ones it has applied, the first that is missing,
// and the highest that it has.
func TestServerTellsWhatIsIn(t *testing.T) {
	server, _ := handDriven(2, 6, Unlimited{}).newMachines(kept)
	if server.Next(0) != 0 || server.Highest(0) != -1 {
		t.Errorf("at the start: next %d, highest %d, want 0 and -1", server.Next(0), server.Highest(0))
	}
	for _, round := range []int{0, 2, 4} {
		if _, err := server.Receive(Update{Client: 0, Round: round, U: make([]float32, 12)}); err != nil {
			t.Fatal(err)
		}
	}
	for round, want := range []bool{true, false, true, false, true, false} {
		if server.Has(0, round) != want || server.Has(1, round) {
			t.Errorf("round %d is in: %v, of another client: %v", round, server.Has(0, round), server.Has(1, round))
		}
	}
	if server.Next(0) != 1 || server.Highest(0) != 4 || server.Updates() != 3 {
		t.Errorf("next %d, highest %d, %d in; want 1, 4 and 3", server.Next(0), server.Highest(0), server.Updates())
	}
	for _, place := range [][2]int{{-1, 0}, {2, 0}, {0, -1}, {0, 6}} {
		if server.Has(place[0], place[1]) {
			t.Errorf("client %d, round %d: there is none", place[0], place[1])
		}
	}
}

// A broadcast that no server can have sent is refused and changes nothing: v̂_k
// holds the client's own rounds below k.
func TestClientRefusesForeignBroadcasts(t *testing.T) {
	_, clients := handDriven(2, 2, Unlimited{}).newMachines(kept)
	c := clients[0]
	c.Begin()
	c.Finish([]float32{1, 0, 0, 0})
	c.Begin()
	before := fmt.Sprint(c.state)
	for name, b := range map[string]struct{ k, params int }{
		"negative": {-1, 4}, "of rounds to come": {2, 4}, "too short": {1, 3}, "too long": {1, 5},
	} {
		if err := c.Receive(b.k, &Vector{X: make([]float32, b.params)}); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if got := fmt.Sprint(c.state); got != before {
			t.Errorf("%s: the client went from %s to %s", name, before, got)
		}
	}
	if err := c.Receive(1, &Vector{X: make([]float32, 4)}); err != nil || c.Newest() != 1 {
		t.Errorf("v̂_1 in round 1: %v, the newest is %d", err, c.Newest())
	}
}

// If one update completes several k, the server sends only the newest broadcast.
func TestOneUpdateCompletesSeveralRounds(t *testing.T) {
	cfg := handDriven(2, 3, Unlimited{})
	server, _ := cfg.newMachines(kept)
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
	server, _ := handDriven(2, 2, AtMost(1)).newMachines(kept)
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

// Golden bytes of saved machines. If they change, raise machineVersion.
func TestSavedMachinesGolden(t *testing.T) {
	server, clients := handDriven(2, 3, Unlimited{}).newMachines(kept)
	c := clients[1]
	one := func(p int) []float32 {
		u := make([]float32, 6)
		u[p] = 1
		return u
	}
	for _, round := range []int{0, 2} {
		if _, err := server.Receive(Update{Client: 1, Round: round, U: one(3 + round)}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 {
		c.Begin()
		c.Finish(one(3 + round))
	}
	c.Begin()
	if err := c.Receive(1, &Vector{X: one(0)}); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]struct {
		save func(io.Writer) error
		want string
	}{
		"server": {server.Save, "925dd85bf97d02a4"},
		"client": {c.Save, "df3d58dfc7a26c5f"},
	} {
		var b bytes.Buffer
		if err := m.save(&b); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b.Bytes())
		if got := hex.EncodeToString(sum[:8]); got != m.want {
			t.Errorf("%s: SHA-256 %s…, want %s…", name, got, m.want)
		}
	}
}
