//go:build unix

package main

import (
	"fmt"
	"io"
	"runtime"

	"proactivedp/internal/report"
)

// writeTraining measures whole trainings of networks in separate processes.
func (b *bencher) writeTraining(w io.Writer) error {
	fmt.Fprintf(w, "\n## Training networks\n\nTraining with 5 clients on real data, with the paper's parameters; medians of %d runs. Times are "+
		"processor times of the whole process.\n\n",
		b.runs)
	fmt.Fprint(w, figureHeader)
	const most, maxMiB = 1.15, 4096
	for _, runner := range []string{"virtual", "hogwild"} {
		// A tenth of the paper's K takes some seconds.
		factor, err := b.factor("--runner", runner, "--model", "lenet-relu", "--data", "mnist", "--grad-computations",
			"36000")
		if err != nil {
			return err
		}
		fmt.Fprint(w, figure{"LeNet on MNIST, s = 370, " + runner, "processor time with 2 processors over that with 1",
			factor, 2, "", atMost, most})
	}
	for _, runner := range []string{"virtual", "hogwild"} {
		rate, memory, err := b.train(runtime.NumCPU(), "--runner", runner, "--model", "alexnet", "--data", "cifar10",
			"--grad-computations", "1378")
		if err != nil {
			return err
		}
		fmt.Fprint(w, figure{"AlexNet on CIFAR-10, s = 689, " + runner, "client rounds per processor second", rate, 2, "",
			noTarget, 0})
		fmt.Fprint(w, figure{"AlexNet on CIFAR-10, s = 689, " + runner, "peak memory, data included", memory, 0, " MiB",
			atMost, maxMiB})
	}
	return nil
}

// factor returns how many times as much processor time a training takes on two processors as on one: the median over
// the runs, with the two measured one after the other.
func (b *bencher) factor(args ...string) (float64, error) {
	one := bencher{runs: 1, dir: b.dir, program: b.program}
	var factors []float64
	for range b.runs {
		alone, _, err := one.train(1, args...)
		if err != nil {
			return 0, err
		}
		both, _, err := one.train(2, args...)
		if err != nil {
			return 0, err
		}
		factors = append(factors, alone/both)
	}
	return report.Median(factors), nil
}
