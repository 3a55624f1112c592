package privacy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/internal/message"
)

// accountantFlags chooses accountants.
type accountantFlags struct {
	name     string
	accuracy float64        // relative width of pld's intervals
	choices  []string       // the names that --accountant may have
	flags    *pflag.FlagSet // which have --accuracy
}

// add gives cmd the flags --accountant, with the names in extra allowed too,
// and --accuracy.
func (a *accountantFlags) add(cmd *cobra.Command, extra ...string) {
	a.choices = append(extra, answer.AccountantNames()...)
	cmd.Flags().StringVar(&a.name, "accountant", a.name, "one of "+strings.Join(a.choices, ", "))
	a.addAccuracy(cmd, "")
}

// addAccuracy gives cmd the flag --accuracy; where says for what.
func (a *accountantFlags) addAccuracy(cmd *cobra.Command, where string) {
	a.flags = cmd.Flags()
	a.flags.Float64Var(&a.accuracy, "accuracy", a.accuracy,
		"relative width of the intervals of pld"+where+", in [1e-6, 0.5]")
}

// checkAccuracy reports an accuracy that pld does not have.
func (a *accountantFlags) checkAccuracy() error {
	if !(a.accuracy >= 1e-6 && a.accuracy <= 0.5) {
		return fmt.Errorf("--accuracy = %v, must be in [1e-6, 0.5]", a.accuracy)
	}
	return nil
}

// all returns every accountant, the sharpest guarantee first and the one
// without a guarantee last.
func (a *accountantFlags) all() []dp.Accountant {
	return answer.Accountants(a.accuracy)
}

// one returns the accountant that was asked for.
func (a *accountantFlags) one() (dp.Accountant, error) {
	i := slices.Index(answer.AccountantNames(), a.name)
	if i < 0 {
		return nil, errors.Join(a.checkAccuracy(), fmt.Errorf("--accountant = %q, must be one of %s%s",
			a.name, strings.Join(a.choices, ", "), cli.Meant(message.Nearest(a.name, a.choices))))
	}
	if a.flags.Changed("accuracy") && a.name != (pld.Accountant{}).Name() {
		return nil, fmt.Errorf("--accuracy is of pld alone, must not be given with --accountant %s", a.name)
	}
	return a.all()[i], a.checkAccuracy()
}

// chosen returns the accountant that was asked for, or all.
func (a *accountantFlags) chosen() ([]dp.Accountant, error) {
	if a.name == answer.AllAccountants {
		return a.all(), a.checkAccuracy()
	}
	acc, err := a.one()
	return []dp.Accountant{acc}, err
}
