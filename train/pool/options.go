package pool

import (
	"context"
	"encoding/json"
	"io"
)

// Folder is the name of the folder of finished cells, inside the folder of a result.
const Folder = ".cells"

// Options has the folder and the limits for computing cells.
type Options struct {
	Folder   string  // folder of finished cells, for one call at a time; "" stores nothing
	Workers  int     // how many cells run at the same time, if the memory allows
	Scale    float64 // the fraction of K that the trainings run, for errors; 0 means 1
	Progress io.Writer
	// Memory limits the process, in bytes. 0 means what the machine, the control group and
	// GOMEMLIMIT allow; then trainings that run at the same time use at most about 3 GiB.
	Memory int64
	// Elsewhere, unless it is nil, computes trainings in other processes.
	Elsewhere Elsewhere
}

func (o Options) grid() grid {
	return grid{store: store{o.Folder}, workers: o.Workers, scale: o.Scale, progress: o.Progress,
		memory: o.Memory, elsewhere: o.Elsewhere}
}

// Run returns the result of every cell as JSON, in order, and the time that they took. It does not
// compute cells that the folder already has. If the context is cancelled or a cell fails, Run stops
// the running cells and returns an error. Finished cells stay in the folder.
func Run(ctx context.Context, cells []Cell, o Options) ([]json.RawMessage, Spent, error) {
	return o.grid().run(ctx, cells)
}
