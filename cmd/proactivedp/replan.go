package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/plan"
)

// replan plans the next leg after the rounds of a file.
func (f *planFlags) replan(cmd *cobra.Command) error {
	err := errors.Join(f.common(cmd), refuseWith(cmd, "after",
		"sample-size", "rounds", "theta", "adjacency", "tight", "frontier", "points", "csv", "png"))
	past, pastErr := readEvents("after", f.after, dp.Poisson, dp.AddOrRemove)
	r := plan.NextRequest{
		Past: past, Epochs: f.req.Epochs, Sigma: f.req.Sigma, Epsilon: f.req.Epsilon, Delta: f.req.Delta,
		Clients: f.req.Clients, Shared: f.req.Shared,
	}
	if cmd.Flags().Changed("n") {
		r.N = f.req.N
	}
	if pastErr == nil {
		pastErr = r.Validate()
	}
	if err := errors.Join(err, pastErr); err != nil {
		return usage(err)
	}
	acc, err := f.req.Method.Accountant()
	if err != nil {
		return err
	}
	if f.req.Method == plan.PLD {
		acc = pld.Accountant{Accuracy: f.by.accuracy}
	}
	next, err := plan.Replan(cmd.Context(), r, acc)
	if err != nil {
		return err
	}
	if !next.Feasible {
		fmt.Fprintf(cmd.ErrOrStderr(), "proactivedp: no next leg: %s\n", next.Reason)
	}
	answer := struct {
		*plan.Next
		Statement string `json:"statement"`
	}{next, next.Statement()}
	return f.out.print(cmd, answer.Statement, answer, next.WriteText)
}
