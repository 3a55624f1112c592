package sim

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/internal/f32"
	"proactivedp/internal/rng"
	"proactivedp/models"
	"proactivedp/models/lenet"
)

// heavy stands in for a neural network: a vector of the size given, a gradient
// that costs passes over it, and a scratch.
type heavy struct {
	models.Model
	params, passes, scratch int
}

func (m heavy) NumParams() int                { return m.params }
func (heavy) Init(p []float32, s *rng.Stream) { f32.AddNormal(p[:min(len(p), 100)], 1, s) }
func (m heavy) NewScratch() models.Scratch    { return make([]float32, m.scratch) }
func (m heavy) ClippedGradSum(sum, w []float32, b data.Batch, _ float64, s models.Scratch) error {
	copy(sum, w)
	for range m.passes {
		f32.Axpy(1e-9*float32(b.Len()), w, sum)
	}
	for i := range s.([]float32) {
		s.([]float32)[i]++
	}
	return nil
}

// heavyConfig is 5 clients of a heavy model, with the sizes of the paper's MNIST
// setting.
func heavyConfig(m heavy, rounds int) *Config {
	cfg := handDriven(5, 1, AtMost(1))
	d := cfg.Rows[0].Data
	d.Label, d.Start = make([]int32, 60_000), make([]int, 60_001)
	all := data.Subset{Data: d}
	for i := range d.Len() {
		all.Rows = append(all.Rows, int32(i))
	}
	cfg.Model, cfg.Rows = m, slices.Repeat([]data.Subset{all}, 5)
	cfg.Mechanism = dp.Mechanism{
		Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 0.025, NoiseMultiplier: 12.10881,
		DatasetSize: d.Len(), Sizes: dp.ConstantSizes(370),
	}
	cfg.GradComps = 370 * rounds
	cfg.Steps = StepSize{Eta0: 0.02, Beta: 0.01, Decay: SqrtDecay}
	return cfg
}

// How much faster two processors are than one, for LeNet at the paper's sample
// size.
func BenchmarkTwoProcessors(b *testing.B) {
	d := synth.Digits(rng.New(1), 7000)
	train, _, err := data.Split(d, rng.New(1))
	if err != nil {
		b.Fatal(err)
	}
	cfg := heavyConfig(heavy{}, 20)
	cfg.Model, cfg.Rows, cfg.Mechanism.DatasetSize = lenet.NewReLU(), slices.Repeat([]data.Subset{train}, 5), train.Len()
	for _, runner := range []string{"virtual", "hogwild"} {
		for _, procs := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/procs=%d", runner, procs), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				for range b.N {
					if runner == "virtual" {
						runVirtual(b, cfg, Perf{Workers: procs})
					} else if _, err := Hogwild(b.Context(), cfg, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*5*cfg.Run().Computed)/b.Elapsed().Seconds(), "samples/s")
			})
		}
	}
}

// The vectors that a run keeps do not depend on how long it is, and 5 clients of
// AlexNet's 23,272,266 parameters, with half a GiB for each of the two gradients
// under way, stay below 4 GiB. All that was ever allocated is counted, garbage
// too.
func TestVectorsOfALargeModel(t *testing.T) {
	const params, rounds = 1 << 17, 30
	cfg := heavyConfig(heavy{params: params}, rounds)
	for _, timing := range []struct {
		name string
		set  option
	}{{"default", func(*Config) {}}, {"exponential", exponentialTiming}} {
		timing.set(cfg)
		for _, c := range []struct {
			name    string
			workers int
			hogwild bool
		}{{"virtual", 1, false}, {"virtual, 2 workers", 2, false}, {"hogwild", 2, true}} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if !c.hogwild {
				runVirtual(t, cfg, Perf{Workers: c.workers})
			} else if _, err := Hogwild(t.Context(), cfg, nil); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			vectors := float64(after.TotalAlloc-before.TotalAlloc) / (4 * params)
			estimate := 0
			for _, part := range cfg.Vectors(Perf{Workers: c.workers}, c.hogwild) {
				estimate += part.Count
			}
			gib := (vectors*4*23_272_266 + 2*(1<<29)) / (1 << 30)
			t.Logf("%s, %s: %.1f vectors of %d estimated, %.2f GiB for AlexNet", timing.name, c.name, vectors, estimate, gib)
			if vectors > float64(estimate)+1 || gib > 3.5 {
				t.Errorf("%s, %s: %.1f vectors, %d were estimated, %.2f GiB for AlexNet, want at most 3.5", timing.name, c.name, vectors, estimate, gib)
			}
		}
	}
}
