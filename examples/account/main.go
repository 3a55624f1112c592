// Account computes the privacy cost of a finished training, and then settings that meet a privacy budget.
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
	ctx := context.Background()
	if err := errors.Join(account(ctx, os.Stdout), calibrate(ctx, os.Stdout)); err != nil {
		log.Fatal(err)
	}
}

// account computes the privacy cost of a finished training by three accountants. It needs only the
// noise multiplier, the sample rate and the number of rounds, which every DP-SGD program knows.
func account(ctx context.Context, w io.Writer) error {
	// There are two parts: 10 epochs with batches of 256 of 60,000 records, then 1,000 rounds with
	// less noise.
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
			// The ends are rounded outwards, so that the printed ε is not below the proved one.
			fmt.Fprintf(w, "%s: ε in [%.3f, %.3f] at δ = %g, %s, %s\n", b.Accountant,
				math.Floor(1e3*b.EpsilonLower)/1e3, math.Ceil(1e3*b.EpsilonUpper)/1e3, b.Delta, b.Kind, b.Adjacency)
		}
	}
	return nil
}
