package rdp_test

import (
	"context"
	"errors"
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

// Three legs, each chosen by what the one before gave: ε, δ and the order are fixed
// before the first, and hold for all of them, however they were chosen.
func ExampleFilter() {
	ctx := context.Background()
	leg := func(sigma float64, rounds int) []dp.Event {
		return []dp.Event{{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, SampleSize: 100,
			DatasetSize: 10_000, Count: rounds}}
	}
	const epsilon, delta = 0.5, 1e-5
	order, err := rdp.PlannedOrder(ctx, epsilon, delta, leg(8, 2000))
	if err != nil {
		log.Fatal(err)
	}
	f, err := rdp.NewFilter(rdp.Limits{Epsilon: epsilon, Delta: delta, Orders: []float64{order}})
	if err != nil {
		log.Fatal(err)
	}
	for _, next := range [][]dp.Event{leg(8, 2000), leg(5, 3000), leg(4, 2000)} {
		err := f.Spend(ctx, next)
		fmt.Printf("%d rounds at σ = %g: refused %v\n", next[0].Count, next[0].NoiseMultiplier,
			errors.Is(err, rdp.ErrBudgetSpent))
	}
	left, err := f.Remaining(ctx, leg(4, 1)[0])
	if err != nil {
		log.Fatal(err)
	}
	g := f.Guarantee()
	fmt.Printf("%d rounds at σ = 4 are left\nε ≤ %g at δ = %g, with order %g\n", left, g.EpsilonUpper, g.Delta, order)
	// Output:
	// 2000 rounds at σ = 8: refused false
	// 3000 rounds at σ = 5: refused false
	// 2000 rounds at σ = 4: refused true
	// 220 rounds at σ = 4 are left
	// ε ≤ 0.5 at δ = 1e-05, with order 31.7003
}
