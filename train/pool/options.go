package pool

import (
	"context"
	"encoding/json"
	"io"
)

// Folder is the folder that keeps finished cells, within that of a result.
const Folder = ".cells"

// Options says how trainings are run that are cells by themselves.
type Options struct {
	Folder   string  // where finished ones are kept, one call at a time; "": nowhere
	Workers  int     // how many go on at the same time, if the memory allows
	Scale    float64 // which part of K the trainings run, for errors; 0 stands for 1
	Progress io.Writer
	// the most that the process may take, in bytes; 0: what the machine, control group and GOMEMLIMIT allow,
	// and some 3 GiB of it for trainings that go on side by side
	Memory int64
	// Elsewhere computes trainings in other processes; nil: they are computed here.
	Elsewhere Elsewhere
}

func (o Options) grid() grid {
	return grid{store: store{o.Folder}, workers: o.Workers, scale: o.Scale, progress: o.Progress,
		memory: o.Memory, elsewhere: o.Elsewhere}
}

// Run returns the result of every cell, in order, as JSON, and what that took: those that
// the folder has are not computed. When the context is cancelled or a cell fails, the
// cells under way stop, the finished ones stay in the folder, and it fails.
func Run(ctx context.Context, cells []Cell, o Options) ([]json.RawMessage, Spent, error) {
	return o.grid().run(ctx, cells)
}
