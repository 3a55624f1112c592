package sim

import (
	"fmt"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/models"
	"proactivedp/rng"
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
		Timing:    DefaultTiming(),
	}
	for range clients {
		cfg.Rows = append(cfg.Rows, data.Subset{Data: d, Rows: []int32{0, 1}})
	}
	return cfg
}

// kept releases nothing: these tests use no vector twice.
func kept(*Vector) {}

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
