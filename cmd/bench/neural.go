//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/perf/benchfmt"
)

// suite is the benchmarks of one package, run with one class of kernels.
type suite struct {
	pkg, pattern string
	kernels      string // "": the machine's best
}

// measured is the median of every metric of every benchmark, by the
// benchmark's name without its prefix and by unit.
type measured map[string]map[string]float64

// run runs the benchmarks on one processor.
func (s suite) run(runs int) (measured, error) {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", s.pattern, "-cpu", "1", "-count", strconv.Itoa(runs), "./"+s.pkg)
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
			m[name][unit] = median(values)
		}
	}
	return m, results.Err()
}

// get returns a metric; one that was not reported is an error.
func (m measured) get(name, unit string) (float64, error) {
	v, ok := m[name][unit]
	if !ok {
		return 0, fmt.Errorf("benchmark %s reported no %s", name, unit)
	}
	return v, nil
}
