package privacy

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp/pld"
)

// accountantFlags chooses accountants.
type accountantFlags struct {
	name     string
	accuracy float64 // relative width of pld's intervals
}

// add gives cmd the flags --accountant, with the names in extra allowed too,
// and --accuracy.
func (a *accountantFlags) add(cmd *cobra.Command, extra ...string) {
	names := append(extra, answer.AccountantNames()...)
	cmd.Flags().StringVar(&a.name, "accountant", a.name, "one of "+strings.Join(names, ", "))
	a.addAccuracy(cmd, "")
}

// addAccuracy gives cmd the flag --accuracy; where says for what.
func (a *accountantFlags) addAccuracy(cmd *cobra.Command, where string) {
	cmd.Flags().Float64Var(&a.accuracy, "accuracy", a.accuracy,
		"relative width of the intervals of pld"+where+", in [1e-6, 0.5]")
}

// check reports an accuracy of 0, which a question in JSON omits, and one that the accountant has no
// use for. The rest is checked with the question.
func (a *accountantFlags) check(cmd *cobra.Command) error {
	switch a.name {
	case "", answer.AllAccountants, answer.Opacus, pld.Accountant{}.Name():
		return cli.RefuseZeros(cmd, "accuracy")
	}
	if cmd.Flags().Changed("accuracy") {
		return fmt.Errorf("--accuracy is of pld alone, must not be given with --accountant %s", a.name)
	}
	return nil
}
