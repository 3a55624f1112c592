// Package privacy has the commands that compute what privacy costs: from rounds to ε, from a budget to a plan,
// trade-off curves, the paper's tables, and audits. Each command reads its flags, calls one function of another
// package, and prints the answer.
package privacy

import "github.com/spf13/cobra"

// Commands returns new commands of this package, for the root command.
func Commands() []*cobra.Command {
	return []*cobra.Command{newPlan(), newAccount(), newCalibrate(), newTradeoff(), newAudit(), newTables(), newAsk(), newRounds()}
}
