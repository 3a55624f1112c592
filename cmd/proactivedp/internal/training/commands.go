// Package training has the commands that train, search and compare, and those that use trained models: one run or
// many, proposed settings for a budget, the whole loop, and the paper's figures. They turn flags into specs of plain
// values, and other packages run these.
package training

import "github.com/spf13/cobra"

// Commands returns new commands of this package, for the root command.
func Commands() []*cobra.Command {
	return []*cobra.Command{newTrain(), newHost(), newPredict(), newExport(), newDelay(), newUtility(), newSearch(), newPropose(), newAuto(),
		newFigures()}
}
