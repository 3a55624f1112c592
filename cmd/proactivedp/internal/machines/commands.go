// Package machines has the commands for several machines, which talk through a broker: host, join
// and status of a distributed training, workers that compute for others, and keys. Other commands
// use ServeFlags to be the server of a training, and SweepFlags to give trainings to workers.
package machines

import "github.com/spf13/cobra"

// Commands returns the commands, made anew at each call.
func Commands() []*cobra.Command {
	return []*cobra.Command{newJoin(), newStatus(), newExpel(), newWorker(), newKeys()}
}
