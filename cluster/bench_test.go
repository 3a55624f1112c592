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

// BenchmarkTraining trains by messages in one process, and by hogwild, and reports updates a
// second and the ratio: of a model of phishing's size, also where a client may be four rounds
// ahead, LeNet, and vectors of 93 MB, as AlexNet's; with every message on the broker's disk
// before it is acknowledged, and a second later. Clients flush each release to their journals
// in both. fsyncs/s is how often so many goroutines as there are clients can flush 340 bytes,
// each to its own file, right before.
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
