package privacy

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp/pld"
)

// accountantFlags are the flags that choose accountants.
type accountantFlags struct {
	name     string
	accuracy float64 // relative width of pld's intervals
}

// add adds the flags --accountant and --accuracy to cmd. extra lists further names that
// --accountant accepts.
func (a *accountantFlags) add(cmd *cobra.Command, extra ...string) {
	names := append(extra, answer.AccountantNames()...)
	usage := "one of " + strings.Join(names, ", ")
	if a.name == "" {
		usage += " (default all that cover the rounds; all also says why others do not)"
	}
	cmd.Flags().StringVar(&a.name, "accountant", a.name, usage)
	a.addAccuracy(cmd, "")
}

// addAccuracy adds the flag --accuracy to cmd. where describes its use in the help.
func (a *accountantFlags) addAccuracy(cmd *cobra.Command, where string) {
	cmd.Flags().Float64Var(&a.accuracy, "accuracy", a.accuracy,
		"relative width of the intervals of pld"+where+", in [1e-6, 0.5]")
}

// check returns an error for an accuracy of 0, which the JSON of a question would omit, and for an
// accuracy that the accountant does not use. The question checks the rest.
func (a *accountantFlags) check(cmd *cobra.Command) error {
	switch a.name {
	case "", answer.AllAccountants, answer.Opacus, pld.Accountant{}.Name():
		return cli.RefuseZeros(cmd, "accuracy")
	}
	if cmd.Flags().Changed("accuracy") {
		return fmt.Errorf("--accuracy is only for pld, must not be given with --accountant %s", a.name)
	}
	return nil
}
