//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"

	"proactivedp/internal/report"
	"proactivedp/train"
)

// scaleRuns lists the runs in the order of the figures' lines. They have one to a hundred thousand
// clients, and models from the size of phishing's to AlexNet, as long as the clients' models
// together are below 2 GiB.
func scaleRuns() []scaleRun {
	virtual, hogwild := train.VirtualRunner, train.HogwildRunner
	var runs []scaleRun
	for _, line := range []struct {
		runner, model string
		columns       int
		rounds        int // rounds of all clients together, which take a second or less
		clients       []int
	}{
		{virtual, train.Ridge, 68, 300_000, []int{1, 5, 10, 100, 1000, 10_000, 100_000}},
		{virtual, train.Ridge, 1 << 10, 300_000, []int{1, 5, 10, 100, 1000, 10_000}},
		{virtual, train.Ridge, 1 << 14, 40_000, []int{1, 5, 10, 100, 1000}},
		{virtual, train.Ridge, 1 << 18, 2000, []int{1, 5, 10, 100}},
		{virtual, train.LeNetReLU, 0, 3000, []int{1, 5, 10, 100, 1000}},
		{virtual, train.AlexNet, 0, 20, []int{1, 5}},
		{hogwild, train.Ridge, 68, 300_000, []int{1, 5, 10, 100, 1000, 10_000, 100_000}},
	} {
		for _, n := range line.clients {
			runs = append(runs, scaleRun{line.runner, line.model, line.columns, n,
				max(leastScaleRounds, line.rounds/n)})
		}
	}
	return runs
}

// leastScaleRounds is enough rounds that one-time costs, such as each client's first use of its
// vectors, hardly matter.
const leastScaleRounds = 10

// processors returns how many processors the run may use.
func (r scaleRun) processors() int {
	if r.Runner == train.HogwildRunner {
		return runtime.NumCPU()
	}
	return 1
}

// point measures the run several times, each time in a separate process, and returns medians.
func (r scaleRun) point(runs int) (scalePoint, error) {
	p := scalePoint{Runner: r.Runner, Model: r.Model, Processors: r.processors(), Clients: r.Clients}
	self, err := os.Executable()
	if err != nil {
		return p, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return p, err
	}
	var rates, times, gradients, memories []float64
	for range runs {
		out, memory, _, err := run(p.Processors, self, "-scale-run", string(text))
		if err != nil {
			return p, err
		}
		var c scaleCost
		if err := json.Unmarshal(out, &c); err != nil {
			return p, fmt.Errorf("%+v: %w", r, err)
		}
		updates := float64(c.Updates)
		p.Params, p.Updates = c.Params, c.Updates
		rates, times = append(rates, updates/c.Seconds), append(times, 1e9*c.Processor/updates)
		gradients, memories = append(gradients, 1e9*c.Gradient), append(memories, memory)
	}
	p.Rate, p.Nanoseconds, p.Gradient, p.MiB = report.Median(rates), report.Median(times), report.Median(gradients), report.Median(memories)
	p.Least, p.Most = slices.Min(times), slices.Max(times)
	return p, nil
}

// scale measures all runs and writes the folder.
func scale(dir string, runs int) error {
	var points, lawful []scalePoint
	for _, r := range scaleRuns() {
		p, err := r.point(runs)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s, %s, %d parameters, %d clients: %.0f client rounds per second, %.0f ns, %.0f MiB\n",
			p.Runner, p.Model, p.Params, p.Clients, p.Rate, p.Nanoseconds, p.MiB)
		if points = append(points, p); p.lawful() {
			lawful = append(lawful, p)
		}
	}
	law, err := fitScale(lawful)
	if err != nil {
		return err
	}
	return writeScale(dir, points, law, runs)
}
