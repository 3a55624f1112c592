// Plan computes the noise multiplier, batch size and number of rounds for a privacy budget, before
// anything is trained. Then it compares batch sizes.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"os"

	"proactivedp/plan"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	// The data set has 60,000 records. Train 5 epochs with at most ε = 0.5 at δ = 1e-6.
	p, err := plan.Solve(ctx, plan.Request{N: 60_000, Epochs: 5, Epsilon: 0.5, Delta: 1e-6})
	if err != nil {
		return err
	}
	if !p.Feasible {
		fmt.Fprintln(w, "no plan:", p.Reason)
		return nil
	}
	fmt.Fprintf(w, "noise multiplier %.4f, batch size %d, %d rounds: ε ≤ %.4f\n",
		up(p.Sigma), p.Run.SampleSize, p.Run.Rounds, up(p.Epsilon))
	fmt.Fprintf(w, "it keeps %.0f %% of the full-batch signal; this batch size is %s\n", 100**p.Signal,
		p.Recommended.Reason)
	fmt.Fprintf(w, "the theorem needs noise multiplier %.4f, and a batch size of at most %d\n", up(*p.Theorem.Sigma),
		*p.Theorem.SMax)

	// Other batch sizes within the same budget.
	_, batches, err := plan.Compare(ctx, plan.Request{N: 60_000, Epochs: 5, Epsilon: 0.5, Delta: 1e-6},
		[]int{256, 1024})
	if err != nil {
		return err
	}
	for _, b := range batches {
		fmt.Fprintf(w, "batch size %d: noise multiplier %.4f, %d rounds, %.0f %% of the signal\n", b.SampleSize,
			up(*b.Sigma), b.Rounds, 100**b.Signal)
	}
	return nil
}

// up rounds up, so that an ε or a noise multiplier printed with four decimals is not below the
// computed one.
func up(v float64) float64 { return math.Ceil(1e4*v) / 1e4 }
