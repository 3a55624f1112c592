// Regression trains a custom model, linear regression, with five clients by asynchronous private
// training. See model.go for the model, and model_test.go for the test that it keeps the contract of
// models.Model.
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
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// drawRatings draws n records. Each has three measurements, and a rating from 0 to 4 that is almost
// linear in them.
func drawRatings(n int) (*data.Dataset, error) {
	draws := rand.New(rand.NewPCG(1, 2))
	rows, ratings := make([][]float32, n), make([]int32, n)
	for i := range rows {
		a, b, c := draws.Float64(), draws.Float64(), draws.Float64()
		rows[i] = []float32{float32(a), float32(b), float32(c)}
		ratings[i] = int32(1 + 2*a + b - c/2 + 0.3*draws.NormFloat64())
		ratings[i] = max(0, min(ratings[i], 4))
	}
	return data.FromRows("ratings", rows, ratings)
}

func run(ctx context.Context, w io.Writer) error {
	const clients, seed = 5, 1
	ratings, err := drawRatings(20_000)
	if err != nil {
		return err
	}
	root := rng.New(seed)
	train, test, err := data.Split(ratings, root)
	if err != nil {
		return err
	}
	parts, err := data.Shard.Deal(train, clients, root)
	if err != nil {
		return err
	}
	model := regression{ratings.Features}
	cfg := &sim.Config{
		Model: model, Rows: parts, Partition: data.Shard,
		Mechanism: dp.Mechanism{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 1, NoiseMultiplier: 2,
			DatasetSize: parts[0].Len(), Sizes: dp.ConstantSizes(64),
		},
		GradComps: 10 * parts[0].Len(), // ten epochs of each client
		Delay:     sim.AtMost(1),
		Steps:     sim.StepSize{Eta0: 0.001, Decay: sim.NoDecay},
		Roots:     sim.SharedRoots(root, clients),
		Timing:    clock.DefaultTiming(),
	}
	training, err := sim.NewVirtual(cfg, sim.Perf{}, nil)
	if err != nil {
		return err
	}
	result, err := training.Run(ctx)
	if err != nil {
		return err
	}
	scratch := model.NewScratch()
	fmt.Fprintf(w, "%d updates; half the mean squared error is %.2f, %.0f %% of the ratings are right\n",
		result.Updates, model.Loss(result.Params, test.All(), scratch),
		100*models.Accuracy(model, result.Params, test.All(), scratch, make([]int32, test.Len())))

	privacy, err := claim.OfLedgers(ctx, pld.Accountant{}, result.Ledgers, !cfg.Partition.Disjoint(), 1e-5)
	if err != nil {
		return err
	}
	private := privacy.PerRecord
	fmt.Fprintf(w, "ε ≤ %.2f at δ = %g for every record (%s, %s sampling)\n",
		math.Ceil(100**private.EpsilonUpper)/100, private.Delta, private.Adjacency, private.Sampling)
	return nil
}
