package pld_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/pld"
)

// What a training has cost that is over: 5,000 rounds of 256 of 60,000 records,
// of which the last thousand had more noise.
func Example() {
	ctx := context.Background()
	legs := []dp.Event{
		{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1.1, SampleSize: 256, DatasetSize: 60_000,
			Count: 4000},
		{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1.3, SampleSize: 256, DatasetSize: 60_000,
			Count: 1000},
	}
	b, err := pld.Accountant{}.Epsilon(ctx, legs, 1e-5)
	if err != nil {
		log.Fatal(err)
	}
	outwards := func(b dp.Bound) (low, high float64) {
		return math.Floor(1e4*b.EpsilonLower) / 1e4, math.Ceil(1e4*b.EpsilonUpper) / 1e4
	}
	low, high := outwards(b)
	fmt.Printf("ε in [%.4f, %.4f] at δ = %g\n", low, high, b.Delta)

	sharp := pld.Accountant{Accuracy: 1e-5}
	if b, err = sharp.Epsilon(ctx, legs, 1e-5); err != nil {
		log.Fatal(err)
	}
	low, high = outwards(b)
	fmt.Printf("ε in [%.4f, %.4f], sharper\n", low, high)

	if b, err = sharp.Delta(ctx, legs, 1); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("δ in [%.3g, %.3g] at ε = %g\n", b.DeltaLower, b.DeltaUpper, b.Epsilon)
	// Output:
	// ε in [1.3064, 1.3066] at δ = 1e-05
	// ε in [1.3065, 1.3066], sharper
	// δ in [0.000245, 0.000245] at ε = 1
}
