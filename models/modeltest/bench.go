package modeltest

import (
	"math"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// BenchmarkStep measures one step of training on batches of the given size: the
// sum of the gradients, clipped, the noise, and the update of the parameters; or
// without clipping and noise. flops is what one example costs.
func BenchmarkStep(b *testing.B, m models.Model, flops int, d *data.Dataset, size int, private bool) {
	const stepSize = 1e-9 // so small that the parameters stay where they are
	mech := dp.Mechanism{Sampling: dp.Poisson, ClipNorm: 0.025, NoiseMultiplier: 12, DatasetSize: d.Len(),
		Sizes: dp.ConstantSizes(size)}
	root := rng.New(1)
	params, u := make([]float32, m.NumParams()), make([]float32, m.NumParams())
	sums := models.NewSums(m)
	m.Init(params, root.Stream(rng.Init, 0, 0))
	batch := data.Batch{Data: d, Rows: make([]int32, size)}
	draws := root.Stream(rng.Sampling, 0, 0)
	for i := range batch.Rows {
		batch.Rows[i] = int32(draws.IntN(d.Len()))
	}
	clip := math.Inf(1)
	if private {
		clip = mech.ClipNorm
	}
	noise, scratch, round := new(rng.Stream), m.NewScratch(), 0
	step := func() {
		if private {
			root.Reseed(noise, rng.Noise, 0, round)
			mech.Noise(u, noise)
			round++
		} else {
			clear(u)
		}
		if err := sums.AddGradSum(u, params, batch, clip, scratch); err != nil {
			b.Fatal(err)
		}
		f32.Axpy(-stepSize, u, params)
	}
	step() // the first one lets the scratch grow
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	perSecond := float64(size) * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(perSecond, "samples/s")
	b.ReportMetric(perSecond*float64(flops)/1e9, "GFLOP/s")
}
