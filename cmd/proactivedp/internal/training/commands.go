// Package training has the commands that train, search and compare, and those that use what
// was trained: one run or many, settings proposed for a budget, the whole loop, and the
// paper's figures. Flags become specs of plain values, which packages below carry out.
package training

import "github.com/spf13/cobra"

// Commands returns the commands, made anew at each call.
func Commands() []*cobra.Command {
	return []*cobra.Command{newTrain(), newHost(), newPredict(), newExport(), newDelay(), newUtility(), newSearch(), newPropose(), newAuto(),
		newFigures()}
}
