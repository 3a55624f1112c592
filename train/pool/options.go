package pool

import "io"

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
