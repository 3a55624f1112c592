// Package machines has the commands for several machines, which communicate through a broker: host, join and status
// for a distributed training, worker for computing trainings of other processes, and keys. Other commands use
// ServeFlags to be the server of a training, and SweepFlags to hand trainings to workers.
package machines

import "github.com/spf13/cobra"

// Commands returns new commands of this package, for the root command.
func Commands() []*cobra.Command {
	return []*cobra.Command{newJoin(), newStatus(), newExpel(), newWorker(), newKeys()}
}
