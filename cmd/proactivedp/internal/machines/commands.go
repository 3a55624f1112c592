// Package machines has the commands for training on several machines, which communicate through a
// broker: host, join and status for a distributed training, workers that compute for other
// processes, and keys. Other commands use ServeFlags to be the server of a training, and SweepFlags
// to hand trainings to workers.
package machines

import "github.com/spf13/cobra"

// Commands returns the commands. Each call makes new ones.
func Commands() []*cobra.Command {
	return []*cobra.Command{newJoin(), newStatus(), newExpel(), newWorker(), newKeys()}
}
