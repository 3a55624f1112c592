// Plan computes the noise multiplier, sample size and number of rounds for a privacy budget, before
// anything is trained. Then it asks a tight accountant what it would allow.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"os"

	"proactivedp/dp/pld"
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
	fmt.Fprintf(w, "closed form: noise multiplier %.4f, sample size %d, %d rounds: ε ≤ %.4f\n",
		up(p.Sigma), p.Run.SampleSize, p.Run.Rounds, up(p.Epsilon))

	// The closed form can be solved by hand, but it is not tight.
	if err := p.Tighten(ctx, pld.Accountant{}); err != nil {
		return err
	}
	tight := p.Tight.AddOrRemove
	fmt.Fprintf(w, "%s: the same run costs ε ≤ %.4f\n", p.Tight.Accountant, up(tight.Run.EpsilonUpper))
	fmt.Fprintf(w, "%s: with that noise, up to %d records a round\n", p.Tight.Accountant,
		tight.LargestSample.SampleSize)
	fmt.Fprintf(w, "%s: with these rounds, noise down to %.4f\n", p.Tight.Accountant, up(tight.LeastNoise.Sigma))
	return nil
}

// up rounds up, so that an ε or a noise multiplier printed with four decimals is not below the
// computed one.
func up(v float64) float64 { return math.Ceil(1e4*v) / 1e4 }
