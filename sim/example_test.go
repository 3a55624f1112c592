package sim_test

import (
	"context"
	"fmt"
	"math"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/rdp"
	"proactivedp/models"
	"proactivedp/models/logreg"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// halves is a data set of two classes that a line divides.
func halves(rows int) (*data.Dataset, error) {
	x, labels := make([][]float32, rows), make([]int32, rows)
	draws := rng.New(1).Stream(rng.Synthetic, 0, 0)
	for i := range x {
		labels[i] = int32(i % 2)
		x[i] = []float32{float32(draws.Normal()) + 4*float32(labels[i]) - 2, float32(draws.Normal())}
	}
	return data.FromRows("halves", x, labels)
}

// configOf is private training of logistic regression by clients that hold 200
// records each, for 40 rounds.
func configOf(clients int, delay sim.Delay) (*sim.Config, error) {
	d, err := halves(250 * clients)
	if err != nil {
		return nil, err
	}
	root := rng.New(1)
	train, _, err := data.Split(d, root)
	if err != nil {
		return nil, err
	}
	rows, err := data.Shard.Deal(train, clients, root)
	if err != nil {
		return nil, err
	}
	model, err := logreg.NewRidge(d.Features, 1/float64(rows[0].Len()))
	if err != nil {
		return nil, err
	}
	return &sim.Config{
		Model: model, Rows: rows, Partition: data.Shard,
		Mechanism: dp.Mechanism{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove,
			ClipNorm: 1, NoiseMultiplier: 4, DatasetSize: rows[0].Len(), Sizes: dp.ConstantSizes(10),
		},
		GradComps: 400, Delay: delay, Roots: sim.SharedRoots(root, clients),
		Steps:  sim.StepSize{Eta0: 0.01, Decay: sim.NoDecay},
		Timing: clock.DefaultTiming(),
	}, nil
}

// Train on the virtual clock, and say what it costs a record.
func Example() {
	cfg, err := configOf(4, sim.AtMost(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := sim.NewVirtual(cfg, sim.Perf{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := run.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	all := cfg.Rows[0].All()
	accuracy := models.Accuracy(cfg.Model, result.Params, all, cfg.Model.NewScratch(), make([]int32, all.Len()))
	ledgers, shared := result.Ledgers, !cfg.Partition.Disjoint()
	both, err := claim.OfLedgers(context.Background(), rdp.Accountant{}, ledgers, shared, 1e-5)
	if err != nil {
		fmt.Println(err)
		return
	}
	privacy := both.PerRecord
	fmt.Printf("%d rounds of %d clients, accuracy above 0.9: %v\n", result.Run.Rounds, len(ledgers), accuracy > 0.9)
	fmt.Printf("epsilon at most %.1f at delta = %g, %s\n", math.Ceil(10**privacy.EpsilonUpper)/10, privacy.Delta,
		privacy.Adjacency)
	// Output:
	// 40 rounds of 4 clients, accuracy above 0.9: true
	// epsilon at most 0.4 at delta = 1e-05, add-or-remove
}

// patience is a permissible delay of one's own: a client may be two rounds ahead,
// but in every fifth round it waits for all others.
type patience struct{}

func (patience) Permits(k, i int) bool { return k >= i || i%5 != 0 && k >= i-2 }
func (patience) String() string        { return "patience" }

// Test a permissible delay of one's own, with an observer of one's own.
func Example_ownDelay() {
	cfg, err := configOf(4, patience{})
	if err != nil {
		fmt.Println(err)
		return
	}
	broadcasts := 0
	observe := func(b sim.Broadcast) { // b.V is the model, to be looked at but not kept
		if broadcasts++; b.K%10 == 0 {
			fmt.Printf("the model holds %d gradients of every client\n", b.GradComps)
		}
	}
	run, err := sim.NewVirtual(cfg, sim.Perf{}, observe)
	if err != nil {
		fmt.Println(err)
		return
	}
	waited := true
	run.Record(func(h sim.Happening) {
		if h.Kind == sim.RoundBegins && h.Number%5 == 0 && h.Lag > 0 {
			waited = false
		}
	})
	result, err := run.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d broadcasts, at most %d rounds ahead, every fifth round in step: %v\n", broadcasts, result.MaxLag,
		waited)
	// Output:
	// the model holds 100 gradients of every client
	// the model holds 200 gradients of every client
	// the model holds 300 gradients of every client
	// the model holds 400 gradients of every client
	// 40 broadcasts, at most 2 rounds ahead, every fifth round in step: true
}

// Drive the machines oneself: clients take turns, and messages arrive at once.
func ExampleNewServer() {
	cfg, err := configOf(3, sim.AtMost(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := sim.NewServer(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	clients := make([]*sim.Client, cfg.Clients())
	for id := range clients {
		if clients[id], err = sim.NewClient(cfg, id, nil); err != nil {
			fmt.Println(err)
			return
		}
	}
	workspace := sim.NewWorkspace(cfg.Model)
	for turn := 0; !server.Done(); turn++ {
		c := clients[turn%len(clients)]
		if !c.CanBegin() {
			continue
		}
		c.Begin()
		u := make([]float32, cfg.Model.NumParams())
		if err := c.Compute(u, workspace); err != nil {
			fmt.Println(err)
			return
		}
		broadcast, err := server.Receive(c.Finish(u))
		if err != nil {
			fmt.Println(err)
			return
		}
		if !broadcast {
			continue
		}
		for _, c := range clients {
			if err := c.Receive(server.K(), &sim.Vector{X: append([]float32(nil), server.Model()...)}); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	fmt.Println(server.Updates(), "updates")
	// Output: 120 updates
}
