package pool

import (
	"context"
	"encoding/json"
	"io"
)

// Folder is the name of the folder in which the results of cells (trainings) are kept. It is inside the folder of the
// figure or search that needs them.
const Folder = ".cells"

// Options says where the results of cells (trainings) are kept, and how much of the machine Run may use.
type Options struct {
	Folder   string  // folder of finished cells, for one call at a time; "" stores nothing
	Workers  int     // how many cells run at the same time, if the memory allows
	Scale    float64 // the fraction of the experiment's gradients that the trainings run; only named in errors; 0 means 1
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

// Run returns the result of every cell (a training with its evaluation) as JSON, in the order of the cells, and the
// work that they took. It computes only cells whose results are not in the folder. If ctx is cancelled or a cell
// fails, Run stops the running cells and returns an error. Finished cells stay in the folder.
func Run(ctx context.Context, cells []Cell, o Options) ([]json.RawMessage, Spent, error) {
	return o.grid().run(ctx, cells)
}
