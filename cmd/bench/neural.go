//go:build unix

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/perf/benchfmt"

	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/internal/report"
)

// suite is the benchmarks of one package, run with one class of kernels.
type suite struct {
	pkg, pattern string
	kernels      string // the class of kernels; "" means the machine's best
}

// measured has the median of every metric of every benchmark, by the benchmark's name without its
// prefix, and by unit.
type measured map[string]map[string]float64

func (s suite) run(runs int) (measured, error) {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", s.pattern, "-cpu", "1", "-count", strconv.Itoa(runs),
		"./"+s.pkg)
	if s.kernels != "" {
		cmd.Env = append(os.Environ(), "PROACTIVEDP_KERNELS="+s.kernels)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("benchmarks of %s: %w: %s", s.pkg, err, out)
	}
	m, err := medians(bytes.NewReader(out))
	if err == nil && len(m) == 0 {
		err = fmt.Errorf("benchmarks of %s: none matches %s", s.pkg, s.pattern)
	}
	return m, err
}

// medians reads Go's benchmark format.
func medians(r io.Reader) (measured, error) {
	all := map[string]map[string][]float64{}
	results := benchfmt.NewReader(r, "benchmarks")
	for results.Scan() {
		result, ok := results.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		name := result.Name.String()
		if all[name] == nil {
			all[name] = map[string][]float64{}
		}
		for _, v := range result.Values {
			all[name][v.Unit] = append(all[name][v.Unit], v.Value)
		}
	}
	m := measured{}
	for name, units := range all {
		m[name] = map[string]float64{}
		for unit, values := range units {
			m[name][unit] = report.Median(values)
		}
	}
	return m, results.Err()
}

// writeNeural measures the kernels and the networks' steps on one processor.
func writeNeural(w io.Writer, runs int) error {
	fmt.Fprintf(w, "\n## Networks\n\nOn one processor; medians of %d runs of Go benchmarks, in processor time. A private step is the sum of the "+
		"batch's clipped gradients, the noise, and the update. "+
		"A plain step has no norms, clipping and noise. Plain and private steps are measured in turns. "+
		"Peak is `BenchmarkPeakFMA`: multiply-adds between registers.\n\n", runs)
	fmt.Fprint(w, figureHeader)
	kernels, err := suite{pkg: "internal/f32", pattern: "PeakFMA|Gaussian|ProductOfMatrices"}.run(runs)
	if err != nil {
		return err
	}
	n := neural{w: w}
	best := f32.Kernels().String()
	peak := n.get(kernels, "PeakFMA/class="+best, "GFLOP/s")
	n.row("peak FMA, "+best, "arithmetic", peak, 0, " GFLOP/s", noTarget, 0)
	product := n.get(kernels, "ProductOfMatrices/class="+best+"/n=1024", "GFLOP/s")
	n.row("GEMM 1024³", "part of peak", 100*product/peak, 1, " %", atLeast, 85)
	n.row("Gaussian noise, 61,706 floats", "time a float, key stream included",
		1e9*n.get(kernels, "Gaussian/n=61706/"+best, "sec/float"), 2, " ns", atMost, 1)

	for _, net := range []struct {
		pkg, title string
		steps      []step
		tiled      bool // whether matrix tiles make some of its products
	}{
		{"models/lenet", "LeNet", []step{
			{"batch=26", "ReLU, batch 26", 28_000, 0, 12},
			{"batch=370", "ReLU, batch 370", 36_000, 70, 5},
			{"batch=1409", "ReLU, batch 1409", 36_000, 70, 5},
			{"variant=classic/batch=26", "tanh, batch 26", 0, 0, 12},
			{"variant=classic/batch=370", "tanh, batch 370", 30_000, 0, 5},
			{"variant=classic/batch=1409", "tanh, batch 1409", 0, 0, 5},
		}, false},
		{"models/convnet", "AlexNet", []step{
			{"batch=64", "batch 64", 0, 0, 0},
			{"batch=256", "batch 256", 160, 0, 15},
		}, true},
	} {
		steps, err := suite{pkg: net.pkg, pattern: "DPStep|Privacy"}.run(runs)
		if err != nil {
			return err
		}
		for _, s := range net.steps {
			n.step(net.title+", "+s.title, s, steps, peak)
		}
		if k := f32.Kernels(); k != cpu.AVX512 && k != cpu.AMX {
			continue
		}
		if last := net.steps[len(net.steps)-1]; net.tiled {
			n.precise(net.title+", "+last.title, net.pkg, last.name, n.get(steps, "DPStep/"+last.name, "samples/s"), runs)
		}
		first := net.steps[1] // the first batch has the size of the paper's setting
		narrow, err := suite{pkg: net.pkg, pattern: "DPStep/^" + first.name + "$", kernels: cpu.AVX2.String()}.run(runs)
		if err != nil {
			return err
		}
		n.row(net.title+", "+first.title, "private step with AVX2, samples/s",
			n.get(narrow, "DPStep/"+first.name, "samples/s"), 0, "", atLeast, narrowPart*first.samples)
	}
	return n.err
}

// precise writes what a private step of usual samples a second is compared with: a step with the next slower kernels than matrix
// tiles, and steps in the precisions that the machine has.
func (n *neural) precise(what, pkg, name string, usual float64, runs int) {
	for _, s := range []struct {
		has bool
		suite
		benchmark, title string
	}{
		{f32.Tiled(), suite{pkg, "DPStep/^" + name + "$", cpu.AVX512.String()}, "DPStep/",
			"private step with AVX-512"},
		{f32.BF16(), suite{pkg, "BF16Step/^" + name + "$", ""}, "BF16Step/", "private step in bf16"},
		{f32.Tiled(), suite{pkg, "BF16x3Step/^" + name + "$", ""}, "BF16x3Step/", "private step in bf16x3"},
	} {
		if !s.has {
			continue
		}
		m, err := s.run(runs)
		if err != nil {
			n.err = errors.Join(n.err, err)
			continue
		}
		rate := n.get(m, s.benchmark+name, "samples/s")
		n.row(what, s.title+", samples/s", rate, 0, "", noTarget, 0)
		n.row(what, s.title+" over the usual one", rate/usual, 2, "", noTarget, 0)
	}
}

// narrowPart is the fraction of the target that AVX2 must reach.
const narrowPart = 0.6

// step is a benchmark of a network with its targets, or 0 for none: samples per second, per cent of
// the peak, and the per cent of time that privacy may add.
type step struct {
	name, title              string
	samples, ofPeak, privacy float64
}

// neural writes rows. Its err is the first error.
type neural struct {
	w   io.Writer
	err error
}

// get returns a metric, which must have been reported.
func (n *neural) get(m measured, name, unit string) float64 {
	v, ok := m[name][unit]
	if !ok {
		n.err = cmp.Or(n.err, fmt.Errorf("benchmark %s reported no %s", name, unit))
	}
	return v
}

func (n *neural) row(of, what string, value float64, decimals int, unit string, sign sign, target float64) {
	if target == 0 {
		sign = noTarget
	}
	fmt.Fprint(n.w, figure{of, what, value, decimals, unit, sign, target})
}

func (n *neural) step(of string, s step, steps measured, peak float64) {
	private := "DPStep/" + s.name
	samples := n.get(steps, private, "samples/s")
	n.row(of, "private step, samples/s", samples, 0, "", atLeast, s.samples)
	n.row(of, "part of peak", 100*n.get(steps, private, "GFLOP/s")/peak, 0, " %", atLeast, s.ofPeak)
	n.row(of, "privacy's part of the plain step's time", n.get(steps, "Privacy/"+s.name, "privacy-%"), 1, " %", atMost,
		s.privacy)
}
