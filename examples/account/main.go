// Account says what a finished training cost: from its noise multiplier, sample
// rate and rounds, which any DP-SGD program knows, by three accountants.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	// Two legs: 10 epochs of batches of 256 of 60,000 records, then 1,000 rounds
	// with less noise.
	released := []dp.Event{
		{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1.1,
			SampleSize: 256, DatasetSize: 60_000, Count: 2343},
		{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 0.9,
			SampleSize: 256, DatasetSize: 60_000, Count: 1000},
	}
	for _, accountant := range []dp.Accountant{pld.Accountant{}, rdp.Accountant{}, closedform.Accountant{}} {
		b, err := accountant.Epsilon(ctx, released, 1e-5)
		switch {
		case errors.Is(err, dp.ErrNotCovered):
			fmt.Fprintf(w, "no ε is claimed: %v\n", err)
		case err != nil:
			return err
		default:
			// Ends are rounded outwards: an ε that is shown must not be below the one that is proved.
			fmt.Fprintf(w, "%s: ε in [%.3f, %.3f] at δ = %g, %s, %s\n", b.Accountant,
				math.Floor(1e3*b.EpsilonLower)/1e3, math.Ceil(1e3*b.EpsilonUpper)/1e3, b.Delta, b.Kind, b.Adjacency)
		}
	}
	return nil
}
