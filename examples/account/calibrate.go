package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/plan"
)

// calibrate computes the missing setting of a training within a privacy budget: the smallest noise
// multiplier, the largest sample rate, or the largest number of rounds.
func calibrate(ctx context.Context, w io.Writer) error {
	accountant := pld.Accountant{}
	for _, target := range []plan.Target{
		{Epsilon: 2, Delta: 1e-5, SampleRate: 0.01, Steps: 10_000},
		{Epsilon: 2, Delta: 1e-5, Sigma: 2.2, Steps: 10_000},
		{Epsilon: 2, Delta: 1e-5, Sigma: 2.2, SampleRate: 0.01},
	} {
		target.Sampling, target.Adjacency = dp.Poisson, dp.AddOrRemove
		c, err := plan.Calibrate(ctx, target, accountant)
		if err != nil {
			return err
		}
		// The solution is printed with all its digits: a smaller noise multiplier would cost more.
		fmt.Fprintf(w, "%s: σ = %v, q = %v, T = %d, ε ≤ %.4f\n",
			c.SolvedFor, c.Sigma, c.SampleRate, c.Steps, math.Ceil(1e4*c.EpsilonUpper)/1e4)
	}

	// If no setting meets the budget, the error says what would help.
	_, err := plan.Calibrate(ctx, plan.Target{Epsilon: 1e-3, Delta: 1e-9, Sigma: 0.5, SampleRate: 0.5,
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove}, accountant)
	var infeasible *plan.Infeasible
	if !errors.As(err, &infeasible) {
		return err
	}
	fmt.Fprintf(w, "%s: %s\n", infeasible.SolvedFor, infeasible.Reason())
	return nil
}
