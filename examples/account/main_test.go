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
	// pld: ε in [1.301, 1.302] at δ = 1e-05, interval, add-or-remove
	// rdp: ε in [0.000, 1.671] at δ = 1e-05, upper, add-or-remove
	// no ε is claimed: sigma = 0.9, must be in [1.4142136, 1e+06]: not covered
}
