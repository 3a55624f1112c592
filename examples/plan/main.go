// Plan turns a privacy budget into noise, sample size and rounds, before anything
// is trained, and asks a tight accountant what more it would allow.
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
	// 60,000 records, 5 epochs, and at most ε = 0.5 at δ = 1e-6.
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

	// The closed form can be solved by hand and is not tight.
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

// up rounds to the side of privacy: an ε or a noise multiplier that is shown with four
// decimals must not be below the one that was computed.
func up(v float64) float64 { return math.Ceil(1e4*v) / 1e4 }
