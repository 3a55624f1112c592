package dist

import (
	"testing"
	"time"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// BenchmarkTraining trains by messages in one process, with every message on disk before it
// is acknowledged, and by hogwild, and reports updates a second and the ratio: of a model of
// phishing's size, LeNet, and vectors of 93 MB, as AlexNet's.
func BenchmarkTraining(b *testing.B) {
	lenet := smallSpec(200)
	lenet.Model, lenet.Clip, lenet.Eta0, lenet.Beta, lenet.Data = train.LeNet, 0.025, 0.015, 1e-5, "synth-mnist"
	phishing := smallSpec(4000)
	phishing.SampleSize, phishing.GradComps = "26", 26*4000
	long := smallSpec(8)
	long.Clients = 2
	for _, c := range []struct {
		name string
		spec train.Spec
		data *data.Dataset
	}{
		{"model=phishing", phishing, wide(68)},
		{"model=lenet", lenet, synth.Digits(rng.New(1), 3500)},
		{"bytes=93e6", long, wide(23_200_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				local := c.spec
				local.Runner = train.HogwildRunner
				p := prepare(b, local, c.data)
				begun := time.Now()
				r, err := sim.Hogwild(b.Context(), p.Config, nil)
				if err != nil {
					b.Fatal(err)
				}
				hogwild := float64(r.Updates) / time.Since(begun).Seconds()
				run := newTestRun(b, c.spec, c.data)
				run.quiet, run.within = true, 10*time.Minute
				run.serve = func(o *ServeOptions) { o.SaveEvery = 0 }
				report, _ := run.run(b.Context())
				far := float64(report.Updates) / report.Seconds
				b.ReportMetric(hogwild, "hogwild-updates/s")
				b.ReportMetric(far, "updates/s")
				b.ReportMetric(far/hogwild, "ratio")
				b.ReportMetric(float64(report.Received)/1e6/report.Seconds, "MB/s")
			}
		})
	}
}
