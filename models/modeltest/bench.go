package modeltest

import (
	"math"
	"slices"
	"testing"
	"time"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// BenchmarkStep measures how fast m trains privately on the records of d: one step is the sum of the clipped
// gradients of a batch of size records, the noise, and the update of the parameters. flops is the number of
// floating-point operations for one example. It reports samples and operations per second of processor time.
func BenchmarkStep(b *testing.B, m models.Model, flops int, d *data.Dataset, size int) {
	s := newStepper(m, d, size)
	s.step(b, true) // the first one lets the scratch grow
	b.ReportAllocs()
	start := cpu.Used()
	for b.Loop() {
		s.step(b, true)
	}
	perSecond := float64(size) * float64(b.N) / (cpu.Used() - start).Seconds()
	b.ReportMetric(perSecond, "samples/s")
	b.ReportMetric(perSecond*float64(flops)/1e9, "GFLOP/s")
}

// BenchmarkPrivacy measures by how many per cent private training of m takes longer than training without privacy, on
// batches of size records of d. It compares a step of [BenchmarkStep] with a step without norms, clipping and noise.
// Because the speed of a machine can change from minute to minute, it runs the two kinds of steps in turn and reports
// the median over the pairs.
func BenchmarkPrivacy(b *testing.B, m models.Model, d *data.Dataset, size int) {
	s := newStepper(m, d, size)
	s.step(b, true)
	var costs []float64
	for b.Loop() {
		private, plain := s.timed(b, true), s.timed(b, false)
		costs = append(costs, 100*(private.Seconds()/plain.Seconds()-1))
	}
	slices.Sort(costs)
	b.ReportMetric((costs[len(costs)/2]+costs[(len(costs)-1)/2])/2, "privacy-%")
}

// stepper trains a model repeatedly on one batch.
type stepper struct {
	mech      dp.Mechanism
	root      *rng.Root
	params, u []float32
	sums      *models.Sums
	scratch   models.Scratch
	batch     data.Batch
	noise     *rng.Stream
	round     int
}

func newStepper(m models.Model, d *data.Dataset, size int) *stepper {
	s := &stepper{
		root: rng.New(1), sums: models.NewSums(m), scratch: m.NewScratch(), noise: new(rng.Stream),
		mech: dp.Mechanism{Sampling: dp.Poisson, ClipNorm: 0.025, NoiseMultiplier: 12, DatasetSize: d.Len(),
			Sizes: dp.ConstantSizes(size)},
		params: make([]float32, m.NumParams()), u: make([]float32, m.NumParams()),
		batch: data.Batch{Data: d, Rows: make([]int32, size)},
	}
	m.Init(s.params, s.root.Stream(rng.Init, 0, 0))
	draws := s.root.Stream(rng.Sampling, 0, 0)
	for i := range s.batch.Rows {
		s.batch.Rows[i] = int32(draws.IntN(d.Len()))
	}
	return s
}

// step runs one step, with or without norms, clipping and noise.
func (s *stepper) step(b *testing.B, private bool) {
	const stepSize = 1e-9 // so small that the parameters do not change
	clip := math.Inf(1)
	if private {
		clip = s.mech.ClipNorm
		s.root.Reseed(s.noise, rng.Noise, 0, s.round)
		s.mech.Noise(s.u, s.noise)
		s.round++
	} else {
		clear(s.u)
	}
	if err := s.sums.AddGradSum(s.u, s.params, s.batch, clip, s.scratch); err != nil {
		b.Fatal(err)
	}
	f32.Axpy(-stepSize, s.u, s.params)
}

// timed returns the processor time of a step.
func (s *stepper) timed(b *testing.B, private bool) time.Duration {
	start := cpu.Used()
	s.step(b, private)
	return cpu.Used() - start
}
