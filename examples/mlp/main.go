// Mlp trains a small network, built from layers, on custom data: points in three concentric rings,
// which no linear model can separate.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"os"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
	"proactivedp/models"
	"proactivedp/nn"
	"proactivedp/rng"
	"proactivedp/sim"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// drawRings draws n points in the plane. Their class, one of three, depends on the distance from the
// origin.
func drawRings(n int) (*data.Dataset, error) {
	draws := rand.New(rand.NewPCG(3, 4))
	rows, labels := make([][]float32, n), make([]int32, n)
	for i := range rows {
		class := draws.IntN(3)
		radius := 0.5 + float64(class) + 0.12*draws.NormFloat64()
		sin, cos := math.Sincos(2 * math.Pi * draws.Float64())
		rows[i], labels[i] = []float32{float32(radius * cos), float32(radius * sin)}, int32(class)
	}
	return data.FromRows("rings", rows, labels)
}

// newMLP returns a network with two hidden layers, for rows with the given number of features.
func newMLP(features, classes int) (*models.Network, error) {
	net, err := nn.New(nn.Shape{Channels: features, Height: 1, Width: 1},
		nn.Dense{Out: 32}, nn.ReLU{},
		nn.Dense{Out: 16}, nn.ReLU{},
		nn.Dense{Out: classes})
	if err != nil {
		return nil, err
	}
	return models.NewNetwork("mlp", net), nil
}

func run(ctx context.Context, w io.Writer) error {
	const clients, seed = 2, 1
	rings, err := drawRings(10_000)
	if err != nil {
		return err
	}
	root := rng.New(seed)
	train, test, err := data.Split(rings, root)
	if err != nil {
		return err
	}
	parts, err := data.Shard.Deal(train, clients, root)
	if err != nil {
		return err
	}
	model, err := newMLP(rings.Features, rings.Classes)
	if err != nil {
		return err
	}
	cfg := &sim.Config{
		Model: model, Rows: parts, Partition: data.Shard,
		Mechanism: dp.Mechanism{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 0.5, NoiseMultiplier: 2,
			DatasetSize: parts[0].Len(), Sizes: dp.ConstantSizes(100),
		},
		GradComps: 20 * parts[0].Len(), // twenty epochs of each client
		Delay:     sim.AtMost(2),
		Steps:     sim.StepSize{Eta0: 0.01, Decay: sim.NoDecay},
		Roots:     sim.SharedRoots(root, clients),
	}

	// Hogwild's clients run freely, so the result differs a little from run to run.
	result, err := sim.Hogwild(ctx, cfg, nil)
	if err != nil {
		return err
	}
	accuracy := models.Accuracy(model, result.Params, test.All(), model.NewScratch(), make([]int32, test.Len()))
	privacy, err := claim.OfLedgers(ctx, pld.Accountant{}, result.Ledgers, !cfg.Partition.Disjoint(), 1e-5)
	if err != nil {
		return err
	}
	private := privacy.PerRecord
	fmt.Fprintf(w, "%d parameters, %d updates: more than 90 %% of the test points are right: %t\n",
		model.NumParams(), result.Updates, accuracy > 0.9)
	fmt.Fprintf(w, "ε ≤ %.2f at δ = %g for every record (%s, %s sampling)\n",
		math.Ceil(100**private.EpsilonUpper)/100, private.Delta, private.Adjacency, private.Sampling)
	return nil
}
