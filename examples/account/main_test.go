package main

import (
	"context"
	"fmt"
	"os"
)

func Example_account() {
	if err := account(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// pld: ε in [1.301, 1.302] at δ = 1e-05, interval, add-or-remove
	// rdp: ε in [0.000, 1.671] at δ = 1e-05, upper, add-or-remove
	// no ε is claimed: sigma = 0.9, must be in [1.4142136, 1e+06]: not covered
}

func Example_calibrate() {
	if err := calibrate(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// sigma: σ = 2.127498, q = 0.01, T = 10000, ε ≤ 1.9999
	// sample_rate: σ = 2.2, q = 0.0103825, T = 10000, ε ≤ 1.9998
	// steps: σ = 2.2, q = 0.01, T = 10788, ε ≤ 2.0000
	// steps: even one step costs ε = 12.611, above 0.001: raise σ to 2065.446, or lower q to 6.607877e-07
}
