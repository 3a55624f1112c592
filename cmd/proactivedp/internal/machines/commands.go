// Package machines has the commands of several machines, who meet at a broker: the clients
// of a training and its operators, workers that compute for others, and keys. What makes a
// command elsewhere the server of a training (ServeFlags), or lets it hand out its trainings
// (SweepFlags), is here, too.
package machines

import "github.com/spf13/cobra"

// Commands returns the commands, made anew at each call.
func Commands() []*cobra.Command {
	return []*cobra.Command{newJoin(), newStatus(), newExpel(), newWorker(), newKeys()}
}
