package gdp_test

import (
	"context"
	"fmt"
	"log"

	"proactivedp/dp"
	"proactivedp/dp/gdp"
)

// A Gaussian mechanism is μ-GDP with μ = 1/σ, exactly; what follows for rounds
// that sample is an approximation.
func Example() {
	const delta = 1e-5
	epsilon, err := gdp.Epsilon(1/2.5, delta)
	if err != nil {
		log.Fatal(err)
	}
	mu, err := gdp.Mu(epsilon, delta)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("σ = 2.5: ε = %.4f, μ = %.4f\n", epsilon, mu)

	sampled := []dp.Event{{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1.1, SampleSize: 256, DatasetSize: 60_000,
		Count: 4000,
	}}
	b, err := gdp.Accountant{}.Epsilon(context.Background(), sampled, delta)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("rounds that sample: ε of about %.3f, %s\n", b.Epsilon, b.Kind)
	// Output:
	// σ = 2.5: ε = 1.5550, μ = 0.4000
	// rounds that sample: ε of about 1.156, approximation
}
