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
	// 2500 updates; half the mean squared error is 0.09, 76 % of the ratings are right
	// ε ≤ 0.93 at δ = 1e-05 for every record (add-or-remove, poisson sampling)
}
