package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// BenchmarkTraining compares trainings by messages, in one process, with trainings by the runner hogwild.
// It reports the updates per second, and the ratio. The models are one of the size for phishing (also with
// a client that may be four rounds ahead), LeNet, and vectors of 93 MB, the size of AlexNet. The broker
// writes every message to disk before it acknowledges it, or up to a second later. In both cases, clients
// flush each release to their journals. fsyncs/s is measured just before: it says how often per second as
// many goroutines as there are clients can each flush 340 bytes to their own file.
func BenchmarkTraining(b *testing.B) {
	lenet := smallSpec(200)
	lenet.Model, lenet.Clip, lenet.Eta0, lenet.Beta, lenet.Data = train.LeNet, 0.025, 0.015, 1e-5, "synth-mnist"
	phishing := smallSpec(4000)
	phishing.SampleSize, phishing.GradComps = "26", 26*4000
	far := phishing
	far.Delay = "4"
	long := smallSpec(8)
	long.Clients = 2
	for _, c := range []struct {
		name string
		spec train.Spec
		data *data.Dataset
	}{
		{"model=phishing", phishing, wide(68)},
		{"model=phishing/delay=4", far, wide(68)},
		{"model=lenet", lenet, synth.Digits(rng.New(1), 3500)},
		{"bytes=93e6", long, wide(23_200_000)},
	} {
		for _, every := range []time.Duration{0, time.Second} {
			b.Run(fmt.Sprintf("%s/sync=%v", c.name, every), func(b *testing.B) {
				benchmarkTraining(b, c.spec, c.data, every)
			})
		}
	}
}

func benchmarkTraining(b *testing.B, spec train.Spec, d *data.Dataset, every time.Duration) {
	for b.Loop() {
		b.ReportMetric(flushes(b, spec.Clients), "fsyncs/s")
		local := spec
		local.Runner = train.HogwildRunner
		p := prepare(b, local, d)
		begun := time.Now()
		r, err := sim.Hogwild(b.Context(), p.Config, nil)
		if err != nil {
			b.Fatal(err)
		}
		hogwild := float64(r.Updates) / time.Since(begun).Seconds()
		run := newTestRun(b, spec, d)
		run.quiet, run.within = true, 10*time.Minute
		run.serve = func(o *ServeOptions) { o.SaveEvery, o.Engine.Sync = 0, every }
		report, _ := run.run(b.Context())
		far := float64(report.Updates) / report.Seconds
		b.ReportMetric(hogwild, "hogwild-updates/s")
		b.ReportMetric(far, "updates/s")
		b.ReportMetric(far/hogwild, "ratio")
		b.ReportMetric(float64(report.Received)/1e6/report.Seconds, "MB/s")
	}
}

// flushes returns how many flushes a second so many goroutines get, each on its own file.
func flushes(b *testing.B, goroutines int) float64 {
	const each = 300
	dir := b.TempDir()
	var all sync.WaitGroup
	begun := time.Now()
	for g := range goroutines {
		all.Go(func() {
			f, err := os.Create(filepath.Join(dir, fmt.Sprint(g)))
			if err != nil {
				b.Error(err)
				return
			}
			defer f.Close()
			for range each {
				if _, err := f.Write(make([]byte, 340)); err != nil {
					b.Error(err)
				}
				if err := f.Sync(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return float64(goroutines*each) / time.Since(begun).Seconds()
}
