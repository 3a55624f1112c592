package rdp_test

import (
	"context"
	"fmt"
	"log"

	"proactivedp/dp"
	"proactivedp/dp/rdp"
)

// The best of all orders, and of those alone that other libraries look at.
func Example() {
	events := []dp.Event{{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1.1, SampleSize: 256, DatasetSize: 60_000,
		Count: 4000,
	}}
	for _, a := range []rdp.Accountant{{}, {Orders: []float64{2, 4, 8, 16, 32}}} {
		b, err := a.Epsilon(context.Background(), events, 1e-5)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("ε ≤ %.4f at δ = %g\n", b.EpsilonUpper, b.Delta)
	}
	// Output:
	// ε ≤ 1.3555 at δ = 1e-05
	// ε ≤ 1.6075 at δ = 1e-05
}

// One order by hand: the divergence of a round, times the rounds, as an (ε, δ).
func ExampleDivergence() {
	const order, rounds, delta = 12, 4000, 1e-5
	one, err := rdp.Divergence(dp.Poisson, dp.AddOrRemove, 256./60_000, 1.1, order)
	if err != nil {
		log.Fatal(err)
	}
	epsilon, err := rdp.Epsilon(order, rounds*one, delta)
	if err != nil {
		log.Fatal(err)
	}
	back, err := rdp.Delta(order, rounds*one, epsilon)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("D_%d ≤ %.4f, so ε ≤ %.4f at δ = %.1g\n", order, rounds*one, epsilon, back)
	// Output:
	// D_12 ≤ 0.6230, so ε ≤ 1.3567 at δ = 1e-05
}
