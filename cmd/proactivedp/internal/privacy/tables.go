package privacy

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp/pld"
	"proactivedp/internal/papertables"
)

func newTables() *cobra.Command {
	o := papertables.Options{Out: "out/tables", Workers: runtime.GOMAXPROCS(0)}
	by := accountantFlags{accuracy: 1e-4}
	cmd := &cobra.Command{
		Use:   "tables",
		Short: "Recompute the paper's tables of privacy budgets, with a verdict on each number",
		Long: `Recompute every number of the paper's tables of privacy budgets: by the closed form
as printed and corrected, and by certified intervals of pld for Poisson sampling
under add-or-remove and replace-one adjacency. The command writes tables.md, tables.csv,
figures of ε against the sample size, and a README.md with the findings.`,
		Example: "  proactivedp tables --out out/tables",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Accountant = pld.Accountant{Accuracy: by.accuracy}
			o.Progress = cmd.ErrOrStderr()
			if err := errors.Join(o.Validate(), by.check(cmd), answer.CheckAccuracy(by.accuracy), cli.CheckWorkers(o.Workers)); err != nil {
				return cli.Usage(err)
			}
			if err := papertables.Make(cmd.Context(), o); err != nil {
				return err
			}
			cli.Say(cmd, "tables in %s", o.Out)
			return nil
		},
	}
	cmd.Flags().StringVar(&o.Out, "out", o.Out, "`folder` to write to")
	cli.CountVar(cmd.Flags(), &o.Workers, "workers", o.Workers,
		"parts computed at the same time, at least 1; never changes the result")
	by.addAccuracy(cmd, "")
	return cmd
}
