package pool

import (
	"context"
	"encoding/json"
	"io"
)

// Folder is the usual name of the folder in which the results of cells (trainings) are kept. It lies inside the
// output folder of the figure or search that needs the results.
const Folder = ".cells"

// Options says where [Run] keeps the results of cells (trainings), and how much of the machine it may use.
type Options struct {
	Folder  string // folder of results, which no other call may use at the same time; "" keeps nothing
	Workers int    // how many cells run at the same time, if the memory allows
	// Scale is only for error texts. In quick runs of an experiment, the caller gives the cells only a fraction of the
	// experiment's gradients, and Scale is this fraction. If a cell then has too few gradients to run, the error says
	// "at scale = …". 0 means 1.
	Scale    float64
	Progress io.Writer // gets a progress bar; nil means none
	// Memory is the largest memory of the process in bytes. 0 means the limit of the machine, the control group
	// (cgroup) or GOMEMLIMIT, and then trainings that run at the same time use at most about 3 GiB together.
	Memory int64
	// Elsewhere computes cells in other processes. If it is nil, this process computes all of them.
	Elsewhere Elsewhere
}

func (o Options) grid() grid {
	return grid{store: store{o.Folder}, workers: o.Workers, scale: o.Scale, progress: o.Progress,
		memory: o.Memory, elsewhere: o.Elsewhere}
}

// Run returns the result of every cell (a training with its evaluation) as JSON, in the order of the cells, and the
// work that they took. [Decode] reads a result. Run computes only cells whose results are not in o.Folder. If ctx is
// cancelled or a cell fails, Run stops the running cells and returns an error. Finished cells stay in the folder, so
// that the next call does not compute them again.
func Run(ctx context.Context, cells []Cell, o Options) ([]json.RawMessage, Spent, error) {
	return o.grid().run(ctx, cells)
}
