//go:build unix

package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"proactivedp/internal/cpu"
	"proactivedp/internal/files"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/internal/version"
	"proactivedp/train"
)

// The folder has these files, the data and the manifest.
const (
	scalePicture = results.PictureFile
	scaleMemory  = "memory.png"
	scaleReadme  = "README.md"
)

// writeScale writes the folder: figures, data, manifest and README.
func writeScale(dir string, points []scalePoint, law *scaleLaw, runs int) error {
	m := scaleManifest{cpu.Describe(), runtime.NumCPU(), runs, *law, time.Now().UTC().Format(time.DateOnly), runtime.Version()}
	return results.WriteFiles(dir, m.pictures(points), scaleRecords(points, law), map[string]any{
		"command": "make scale", "version": version.Get().Source(), "go": m.Go,
		"machine": m.Machine, "cpus": m.CPUs, "made": m.Made, "runs": m.Runs, "law": law, "configurations": scaleRuns(), "manifest_sha256": "",
		"files": []string{scalePicture, scaleMemory, results.TableFile, scaleReadme},
	})
}

// pictures returns what writes the pictures of the points and the README, by the names of the files.
func (m *scaleManifest) pictures(points []scalePoint) map[string]func(io.Writer) error {
	caption := scaleCaption(m)
	return map[string]func(io.Writer) error{
		scalePicture: func(w io.Writer) error { return timeCost.draw(w, points, &m.Law, caption) },
		scaleMemory:  func(w io.Writer) error { return memoryCost.draw(w, points, &m.Law, caption) },
		scaleReadme:  files.Text(report.Markdown(scalePage(points, m))),
	}
}

func scaleCaption(m *scaleManifest) string {
	return fmt.Sprintf("%s, %d processors. Virtual runs used one processor, and hogwild runs all. %s Medians of %d runs. The "+
		"shading shows the smallest and the largest measured value. %s",
		m.Machine, m.CPUs, scaleSetting, m.Runs, lawText(&m.Law))
}

// scaleSetting describes what all runs have in common.
const scaleSetting = "The data are synthetic: rows with 30 nonzero entries for logistic regression, images for networks. " +
	"Batch size 1, permissible delay 1 round, the paper's noise, and default durations of rounds and messages."

// lawText returns the law and its errors in words. A caption of the pictures and the README print it.
func lawText(l *scaleLaw) string {
	return fmt.Sprintf("The law was fitted to logistic regression with the runner virtual, for n clients and d parameters. "+
		"Processor time of a client round in nanoseconds: %.4g %+.3g·log2(n) %+.3g·d %+.3g·m %+.3g·d·m, "+
		"where m = log2 max(1, 4(n+3)d/c) for a cache of c = %v KiB. Measured times differ from this by at most %.0f %% (root mean "+
		"square: %.0f %%). Memory in bytes: %.1f MiB + n·(%.0f + %.2f·4d). Measured memory differs from this by at most %.0f %%.",
		l.A, l.B, l.C, l.E, l.F, l.Cache/1024, 100*l.Time.Worst, 100*l.Time.RMS, l.Base/(1<<20), l.Client, l.Vectors,
		100*l.Memory.Worst)
}

// scaleRecords returns the table of all points. The first record is the header.
func scaleRecords(points []scalePoint, law *scaleLaw) [][]string {
	out := [][]string{{"runner", "model", "processors", "clients", "parameters", "client_rounds",
		"client_rounds_per_second",
		"processor_ns", "processor_ns_least", "processor_ns_most", "gradient_ns", "law_ns", "peak_mib", "law_mib"}}
	short := func(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }
	for _, p := range points {
		lawNs, lawMiB := "", ""
		if p.Runner == train.VirtualRunner {
			lawNs, lawMiB = short(lawNanoseconds(p, law)), short(law.MiB(p.Clients, p.Params))
		}
		out = append(out, []string{p.Runner, p.Model, strconv.Itoa(p.Processors), strconv.Itoa(p.Clients),
			strconv.Itoa(p.Params), strconv.Itoa(p.Updates), short(p.Rate),
			short(p.Nanoseconds), short(p.Least), short(p.Most), short(p.Gradient), lawNs, short(p.MiB), lawMiB})
	}
	return out
}

// lawNanoseconds returns the law's time of a round plus the gradient's time, which the law does not
// include.
func lawNanoseconds(p scalePoint, law *scaleLaw) float64 {
	return law.Nanoseconds(p.Clients, p.Params) + p.Gradient
}

// The targets are for 10,000 clients and logistic regression of phishing's size.
const (
	manyClients   = 10_000
	leastRate     = 400_000 // client rounds per second of one processor's time
	mostMiB       = 1024
	phishingSized = 69
)

// scaleFigures returns the measured values that have a target.
func scaleFigures(points []scalePoint) []figure {
	var all []figure
	for _, p := range points {
		if p.Runner != train.VirtualRunner || p.Params != phishingSized || p.Clients < manyClients {
			continue
		}
		rate, memory := atLeast, atMost
		if p.Clients > manyClients {
			rate, memory = noTarget, noTarget
		}
		of := thousands(float64(p.Clients)) + " clients, logistic regression, virtual"
		all = append(all,
			figure{of, "client rounds per second of one processor", 1e9 / p.Nanoseconds, 0, "", rate, leastRate},
			figure{of, "client rounds per second by wall-clock time", math.Round(p.Rate/1000) * 1000, 0, "", noTarget, 0},
			figure{of, "peak memory of the process", p.MiB, 0, " MiB", memory, mostMiB})
	}
	return all
}

// scalePage returns the README as Markdown.
func scalePage(points []scalePoint, m *scaleManifest) string {
	var w strings.Builder
	fmt.Fprintf(&w, "# Scale\n\nThis page shows how much processor time and memory a training needs, for different numbers of "+
		"clients and sizes of the model. Made by `make scale` on %s, %s, %d processors, %s. Values are medians of %d runs, each "+
		"in a separate process.\n\n![processor time of a client round](%s) ![memory](%s)\n\n",
		m.Made, m.Machine, m.CPUs, m.Go, m.Runs, scalePicture, scaleMemory)
	fmt.Fprintf(&w, "%s The runner virtual (a simulated clock) uses one processor, and the runner hogwild (a goroutine for each client) "+
		"uses all. Time is the processor time of the process "+
		"in the training loop, which other programs "+
		"hardly change. The rate is by wall-clock time. Memory is the peak resident memory of the process.\n\n",
		scaleSetting)
	w.WriteString(figureHeader)
	for _, f := range scaleFigures(points) {
		w.WriteString(f.String())
	}
	fmt.Fprintf(&w, "\n## Law\n\nA law predicts the processor time of a client round, and the peak memory. Use it to estimate the "+
		"cost of a training with other numbers of clients and parameters.\n\n%s\n\nThe term with m counts how much slower memory "+
		"is than the processor's cache. The models of all clients and three more vectors need 4(n+3)d bytes. m is the number of "+
		"doublings from a cache of c bytes to this size; c is the power of two for which the law fits best.\n\n"+
		"The law was not fitted to networks. In their rows, the column of the law is its time of a round plus the time "+
		"of the gradient, which was measured separately.\n\n", lawText(&m.Law))
	w.WriteString("| runner | model | d | clients | client rounds per second | ns of processors a round | law, ns | " +
		"peak memory, MiB | law, MiB |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range points {
		lawNs, lawMiB := "–", "–"
		if p.Runner == train.VirtualRunner {
			lawNs, lawMiB = thousands(lawNanoseconds(p, &m.Law)), thousands(m.Law.MiB(p.Clients, p.Params))
		}
		rate := thousands(p.Rate)
		if p.Rate < 100 {
			rate = strconv.FormatFloat(p.Rate, 'g', 3, 64)
		}
		fmt.Fprintf(&w, "| %s | %s | %d | %d | %s | %s | %s | %.0f | %s |\n",
			p.Runner, p.Model, p.Params, p.Clients, rate, thousands(p.Nanoseconds), lawNs, p.MiB, lawMiB)
	}
	return w.String()
}
