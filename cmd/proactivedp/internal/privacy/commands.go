// Package privacy has the commands that compute what privacy costs: from rounds to ε, from a budget
// to a plan, trade-off curves, the paper's tables, and audits. Each reads its flags, asks one
// question of a package below, and prints the answer.
package privacy

import "github.com/spf13/cobra"

// Commands returns the commands. Each call makes new ones.
func Commands() []*cobra.Command {
	return []*cobra.Command{newPlan(), newAccount(), newCalibrate(), newTradeoff(), newAudit(), newTables(), newAsk(), newRounds()}
}
