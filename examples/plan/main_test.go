package main

import (
	"context"
	"fmt"
	"os"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// closed form: noise multiplier 7.5672, sample size 1093, 274 rounds: ε ≤ 0.5000
	// pld: the same run costs ε ≤ 0.1516
	// pld: with that noise, up to 9850 records a round
	// pld: with these rounds, noise down to 2.6418
}
