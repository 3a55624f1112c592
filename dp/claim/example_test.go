package claim_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"strings"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
)

// Five clients hold the same records: a record pays for the rounds of all.
func Example() {
	ctx := context.Background()
	events := []dp.Event{{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 19.3, SampleSize: 31, DatasetSize: 10_000,
		Count: 1612,
	}}
	p, err := claim.OfClients(ctx, pld.Accountant{}, events, 5, true, 1e-4)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range []claim.Claim{p.PerClient, p.PerRecord} {
		fmt.Printf("%d rounds: ε ≤ %.4f at δ = %g, %s, %s\n", c.Rounds, math.Ceil(1e4**c.EpsilonUpper)/1e4, c.Delta,
			c.Adjacency, c.Kind)
	}
	// Output:
	// 1612 rounds: ε ≤ 0.0115 at δ = 0.0001, add-or-remove, interval
	// 8060 rounds: ε ≤ 0.0301 at δ = 0.0001, add-or-remove, interval
}

// The paragraph for a paper says all that goes with the number; here is where the
// number stands.
func ExampleStatement() {
	events := []dp.Event{{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, Rate: 0.01, Count: 1000,
	}}
	b, err := pld.Accountant{}.Epsilon(context.Background(), events, 1e-5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(claim.Short(&b))
	statement := claim.Statement(claim.PerRecord, b, events...)
	_, guarantee, _ := strings.Cut(statement, "differentially private ")
	guarantee, _, _ = strings.Cut(guarantee, " (")
	fmt.Println(claim.Rounds(events), guarantee)
	// Output:
	// ε in [0.62202, 0.62204]
	// 1000 rounds with sample rate q = 0.01 and noise multiplier σ = 2 with ε ≤ 0.62204 at δ = 1e-05
}
