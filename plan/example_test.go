package plan_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/plan"
)

// From a budget to noise, sample size and rounds.
func Example() {
	ctx := context.Background()
	p, err := plan.Solve(ctx, plan.Request{Method: plan.ClosedForm, N: 10_000, Delta: 1e-4, Epochs: 5, Epsilon: 0.05})
	if err != nil {
		log.Fatal(err)
	}
	if !p.Feasible {
		log.Fatal(p.Reason)
	}
	fmt.Printf("σ = %.3f, %d rounds of s = %d: ε ≤ %.3f at δ = %g\n", p.Sigma, p.Run.Rounds, p.Run.SampleSize,
		p.Epsilon, p.Delta)

	// What a tight accountant says of the same plan.
	if err := p.Tighten(ctx, pld.Accountant{}); err != nil {
		log.Fatal(err)
	}
	t := p.Tight.AddOrRemove
	fmt.Printf("%s: ε ≤ %.4f, or s up to %d\n", p.Tight.Accountant, t.Run.EpsilonUpper, t.LargestSample.SampleSize)
	// Output:
	// σ = 19.246, 1613 rounds of s = 31: ε ≤ 0.050 at δ = 0.0001
	// pld: ε ≤ 0.0115, or s up to 363
}

// The least noise for a rate and a number of rounds.
func ExampleCalibrate() {
	c, err := plan.Calibrate(context.Background(),
		plan.Target{Epsilon: 2, Delta: 1e-5, SampleRate: 0.01, Steps: 10_000, Sampling: dp.Poisson, Adjacency: dp.AddOrRemove},
		pld.Accountant{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("σ = %v: ε ≤ %.4f, by %s\n", c.Sigma, math.Ceil(1e4*c.EpsilonUpper)/1e4, c.Accountant)
	// Output:
	// σ = 2.127498: ε ≤ 1.9999, by pld
}

// Half of a training is over. What may follow, in the same budget, if that may depend
// on what the first half gave?
func ExampleReplan() {
	past := []dp.Event{{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 6, SampleSize: 50, DatasetSize: 10_000,
		Count: 500,
	}}
	r := plan.NextRequest{Past: past, Delta: 1e-4, Epochs: 2.5, Epsilon: 0.2}
	for _, r.FixedBeforehand = range []bool{false, true} {
		next, err := plan.Replan(context.Background(), r, pld.Accountant{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d rounds of s = %d: ε ≤ %.4f for all\n", next.Accountant, next.Run.Rounds, next.Run.SampleSize,
			math.Ceil(1e4*next.Bound.EpsilonUpper)/1e4)
	}
	// Output:
	// rdp-filter: 46 rounds of s = 544: ε ≤ 0.2000 for all
	// pld: 36 rounds of s = 699: ε ≤ 0.1998 for all
}

// A first leg, and the budget for it and all that will be chosen after it, as they are
// written down before the first round.
func ExamplePlan_History() {
	ctx := context.Background()
	p, err := plan.Solve(ctx, plan.Request{Method: plan.ClosedForm, N: 10_000, Delta: 1e-4, Epochs: 5, Epsilon: 0.05})
	if err != nil {
		log.Fatal(err)
	}
	h, err := p.History(ctx, 0.2)
	if err != nil {
		log.Fatal(err)
	}
	next, err := plan.Replan(ctx, plan.NextRequest{Past: h.Events, Recorded: h.Filter, Epochs: 2, Sigma: 10},
		pld.Accountant{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("order %g, ε = %g at δ = %g; then %d rounds of s = %d\n", h.Filter.Orders[0], next.Bound.EpsilonUpper,
		next.Delta, next.Run.Rounds, next.Run.SampleSize)
	// Output:
	// order 49.6402, ε = 0.2 at δ = 0.0001; then 11 rounds of s = 1926
}
