//go:build unix

// Command bench measures how fast ProactiveDP is on this machine, and writes the tables of results/bench.md. It runs
// the program several times for each row and reports medians: of the client rounds per second of processor time,
// and of the peak resident memory of the whole process. It measures kernels and networks with Go's benchmarks, and
// the accounting in a separate process. It compares the values with targets. The networks need the real data sets
// (PROACTIVEDP_DATA, or the cache).
//
// With -scale it measures how the cost of a client round and of a training depends on the numbers of clients and
// parameters, and writes results/scale. With -own it compares the command auto with a single training for the whole
// budget, and writes results/auto-against-plain.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"proactivedp/internal/cpu"
	"proactivedp/internal/files"
	"proactivedp/internal/report"
)

func main() {
	runs := flag.Int("runs", 5, "runs of each row; the median is reported")
	out := flag.String("out", "bench.md", "file to write")
	alone := flag.Bool("accounting", false, "measure only the accounting, in this process, and print its rows")
	scaleDir := flag.String("scale", "",
		"measure only the cost for different numbers of clients and parameters, and write figures to this folder")
	scaleAgain := flag.String("scale-redraw", "", "draw the figures and write the README of this folder, which -scale wrote, again from its data")
	scaleOne := flag.String("scale-run", "", "measure one such run, given as JSON, in this process")
	ownDir := flag.String("own", "", "compare auto with plain stages on tables treated as own files, and write this folder")
	flag.Parse()
	var err error
	switch {
	case *runs < 1:
		err = fmt.Errorf("runs = %d, must be at least 1", *runs)
	case *alone:
		err = accounting(os.Stdout, *runs)
	case *scaleOne != "":
		err = measureScale(os.Stdout, *scaleOne)
	case *ownDir != "":
		err = files.InFolder(*ownDir, func() error { return compareOwn(context.Background(), *ownDir, os.Stderr) })
	case *scaleAgain != "":
		err = redrawScale(*scaleAgain)
	case *scaleDir != "":
		err = scale(*scaleDir, *runs)
	default:
		err = files.Write(*out, func(w io.Writer) error { // which finds out before the measurements whether it can write
			var text strings.Builder
			if err := bench(&text, *runs); err != nil {
				return err
			}
			_, err := io.WriteString(w, report.Markdown(text.String()))
			return err
		})
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func bench(w io.Writer, runs int) error {
	dir, err := os.MkdirTemp("", "proactivedp-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bencher{runs: runs, dir: dir, program: filepath.Join(dir, "proactivedp")}
	build := exec.Command("go", "build", "-o", b.program, "./cmd/proactivedp")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	fmt.Fprintf(w, "# Benchmarks\n\nMade by `make bench` on %s, %s, %d processors, %s; medians of %d runs.\n\n",
		time.Now().UTC().Format(time.DateOnly), cpu.Describe(), runtime.NumCPU(), runtime.Version(), runs)
	fmt.Fprint(w, "## Client rounds\n\nA client round is sampling, the clipped gradient, noise, the local update and both messages. "+
		"Here it is measured for ridge logistic regression on phishing (69 parameters), with batch size 1, a permissible delay of "+
		"1 round, and the paper's other parameters. Times are processor times of the whole process. A round allocates no heap memory (`TestNoAllocationPerRound` of package "+
		"`sim`).\n\n"+
		"| runner | clients | processors | client rounds per processor second | ns a round | ns a round / log₂(clients) | peak "+
		"memory, MiB |\n|---|---|---|---|---|---|---|\n")
	for _, row := range []struct {
		runner         string
		clients, procs int
	}{
		{"virtual", 5, 1}, {"virtual", 100, 1}, {"virtual", 1000, 1}, {"virtual", 10_000, 1},
		{"hogwild", 5, 2}, {"hogwild", 100, 2}, {"hogwild", 10_000, 2},
	} {
		// Every run has about 2,000,000 client rounds, so that the loop takes most of the time.
		rounds := 2_000_000 / row.clients
		rate, memory, err := b.train(row.procs, "--runner", row.runner, "--clients", strconv.Itoa(row.clients),
			"--sample-size", "1", "--grad-computations", strconv.Itoa(rounds))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s | %d | %d | %s | %.0f | %.0f | %.0f |\n", row.runner, row.clients, row.procs,
			thousands(rate), 1e9/rate, 1e9/rate/math.Log2(float64(row.clients)), memory)
	}
	fmt.Fprint(w, "\n## All logistic-regression figures\n\nThe processor time to make these figures for both data sets and both models, with 5 seeds, all "+
		"of the paper's gradients, and no stored results; one run.\n\n"+
		"| processors | processor seconds | peak memory, MiB |\n|---|---|---|\n")
	seconds, memory, err := b.figures()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "| %d | %.1f | %.0f |\n", runtime.NumCPU(), seconds, memory)
	if err := writeNeural(w, runs); err != nil {
		return err
	}
	if err := b.writeTraining(w); err != nil {
		return err
	}
	if err := writeReading(w, dir, runs); err != nil {
		return err
	}
	return writeAccounting(w, runs)
}

type bencher struct {
	runs         int
	dir, program string
}

// train returns the median rate, in client rounds per second of processor time, and the median peak memory of a
// training.
func (b *bencher) train(procs int, args ...string) (rate, memory float64, err error) {
	var rates, memories []float64
	for range b.runs {
		out, peak, used, err := run(procs, b.program, append([]string{"train", "--json"}, args...)...)
		if err != nil {
			return 0, 0, err
		}
		var report struct {
			Updates int `json:"updates"`
		}
		if err := json.Unmarshal(out, &report); err != nil {
			return 0, 0, fmt.Errorf("train %v: %w", args, err)
		}
		rates = append(rates, float64(report.Updates)/used.Seconds())
		memories = append(memories, peak)
	}
	return report.Median(rates), report.Median(memories), nil
}

// figures makes the figures once and returns the processor time and the peak memory.
func (b *bencher) figures() (seconds, memory float64, err error) {
	_, memory, used, err := run(runtime.NumCPU(), b.program, "figures", "--out", filepath.Join(b.dir, "out"))
	return used.Seconds(), memory, err
}

// run runs a program and returns its output, its peak memory in MiB and its processor time.
func run(procs int, program string, args ...string) (stdout []byte, memory float64, used time.Duration, err error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(procs))
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, 0, 0, fmt.Errorf("%v: %w: %s", args, err, exit.Stderr)
		}
		return nil, 0, 0, fmt.Errorf("%v: %w", args, err)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		memory = float64(usage.Maxrss) / 1024 // Linux reports kibibytes
	}
	return out, memory, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// thousands formats a count with separators.
func thousands(x float64) string {
	s := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
