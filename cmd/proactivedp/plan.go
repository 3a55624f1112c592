package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"proactivedp/plan"
)

// defaultSigma, with the other defaults, is the paper's setting on LIBSVM data.
const defaultSigma = 19.29962

func newPlan() *cobra.Command {
	var req plan.Request
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "From a budget or a noise multiplier to sample size and rounds",
		Long: `Plan a training of one client by the closed form (Theorem simpleF; corrected γ):
N records, k epochs of gradient computations, and either the noise multiplier σ
or the target ε. δ is 1/N unless given.
Without options it plans the paper's setting on LIBSVM data.

The guarantee is for add-or-remove adjacency and Poisson sampling, an upper bound.`,
		Example: `  proactivedp plan --n 10000 --epochs 5 --sigma 19.29962
  proactivedp plan --n 60000 --epochs 6 --epsilon 0.15 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The request reads 0 as "not given"; a flag of 0 was given.
			var errs []error
			for _, flag := range []struct {
				name, allowed string
				value         float64
			}{
				{"sigma", "above √2", req.Sigma}, {"epsilon", "above 0, in [1e-8, 1e4]", req.Epsilon},
				{"delta", "in (0, 1)", req.Delta}, {"theta", "at least 1", req.Theta},
			} {
				if cmd.Flags().Changed(flag.name) && flag.value == 0 {
					errs = append(errs, fmt.Errorf("--%s = 0, must be %s", flag.name, flag.allowed))
				}
			}
			if len(errs) > 0 {
				return usage(errors.Join(errs...))
			}
			if req.Sigma == 0 && req.Epsilon == 0 {
				req.Sigma = defaultSigma
			}
			if err := req.Validate(); err != nil {
				return usage(err)
			}
			p, err := plan.Solve(req)
			if err != nil {
				return err
			}
			if !p.Feasible {
				fmt.Fprintf(cmd.ErrOrStderr(), "proactivedp: no plan: %s\n", p.Reason)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), p)
			}
			return p.WriteText(cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.IntVar(&req.N, "n", 10_000, "records N of the client")
	f.Float64Var(&req.Epochs, "epochs", 5, "gradient computations in epochs, k = K/N")
	f.Float64Var(&req.Sigma, "sigma", 0, fmt.Sprintf("noise multiplier σ; gives ε (default %g, unless --epsilon is given)", defaultSigma))
	f.Float64Var(&req.Epsilon, "epsilon", 0, "target ε; gives σ")
	f.Float64Var(&req.Delta, "delta", 0, "δ (default 1/N)")
	f.Float64Var(&req.Theta, "theta", 1, "θ = s_max/s̄ of the sample size sequence")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
