package tradeoff_test

import (
	"context"
	"fmt"
	"log"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/dp/tradeoff"
)

// What the best test can do that has a type I error of at most α: certified from
// both sides.
func Example() {
	alphas, err := tradeoff.Alphas(101)
	if err != nil {
		log.Fatal(err)
	}
	events := []dp.Event{{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, SampleSize: 100, DatasetSize: 10_000,
		Count: 1000,
	}}
	profile := tradeoff.Profile{SmallestDelta: 1e-9, Epsilons: 100}
	curves, err := tradeoff.Training(context.Background(), pld.Accountant{}, events, profile, alphas)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range curves {
		p := c.Points[len(c.Points)/2]
		fmt.Printf("%s: f(%.3g) = %.3f\n", c.Name, p.Alpha, p.Beta)
	}
	// Output:
	// pld lower: f(0.5) = 0.433
	// pld upper: f(0.5) = 0.437
}

// What the paper's Theorem Main gives for one number of rounds, and for any that
// is enough for ε_target.
func ExamplePaper() {
	p := tradeoff.Paper{N: 10_000, K: 50_000, Sigma: 19.29962, Gamma: func(sigma, x float64) (float64, error) {
		return closedform.GammaAt(closedform.Corrected, sigma, x)
	}}
	rounds, err := p.RoundsFor(0.05)
	if err != nil {
		log.Fatal(err)
	}
	at, err := p.AtRounds(2*rounds, 200)
	if err != nil {
		log.Fatal(err)
	}
	all, err := p.ForAllRounds(0.05, 200)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("from %.0f rounds on g(0.1) = %.4f; in twice as many ĥ(0.1) = %.4f\n", rounds, all.At(0.1), at.At(0.1))
	// Output:
	// from 1568 rounds on g(0.1) = 0.8948; in twice as many ĥ(0.1) = 0.8948
}
