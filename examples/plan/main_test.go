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
	// noise multiplier 1.8816, batch size 512, 586 rounds: ε ≤ 0.5000
	// it keeps 88 % of the full-batch signal; this batch size is the least power of two with at most 1000 updates
	// the theorem needs noise multiplier 7.5672, and a batch size of at most 1093
	// batch size 256: noise multiplier 1.4173, 1172 rounds, 83 % of the signal
	// batch size 1024: noise multiplier 2.5648, 293 rounds, 92 % of the signal
}
