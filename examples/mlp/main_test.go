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
	// 675 parameters, 1600 updates: more than 90 % of the test points are right: true
	// ε ≤ 1.51 at δ = 1e-05 for every record (add-or-remove, poisson sampling)
}
