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
	"proactivedp/models"
	"proactivedp/models/lenet"
	"proactivedp/rng"
)

// heavy stands in for a neural network: a vector of the size given, a gradient
// that costs passes over it, and a scratch.
type heavy struct {
	models.Bounded
	params, passes, scratch int
}

func (m heavy) NumParams() int                { return m.params }
func (heavy) Init(p []float32, s *rng.Stream) { f32.AddNormal(p[:min(len(p), 100)], 1, s) }
func (m heavy) NewScratch() models.Scratch    { return make([]float32, m.scratch) }
func (heavy) Shade() float64                  { return 0 }
func (m heavy) WideGradSum(sum []float64, w []float32, b data.Batch, _ float64, s models.Scratch) error {
	f32.Widen(sum, w)
	for range m.passes {
		for i, x := range w {
			sum[i] += 1e-9 * float64(b.Len()) * float64(x)
		}
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
	all := d.All()
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
	cfg.Model, cfg.Rows, cfg.Mechanism.DatasetSize = lenet.NewReLU(), slices.Repeat([]data.Subset{train}, 5),
		train.Len()
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

// The number of vectors does not depend on the length of a run. Five clients of AlexNet (23,272,266
// parameters) stay below 4 GiB, with half a GiB for each of the two gradients under way. All memory that
// was ever allocated is counted, including garbage.
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
			estimate := int64(0)
			for _, part := range cfg.Vectors(Perf{Workers: c.workers}, c.hogwild) {
				estimate += int64(part.Count) * part.Bytes / (4 * params)
			}
			gib := (vectors*4*23_272_266 + 2*(1<<29)) / (1 << 30)
			t.Logf("%s, %s: %.1f vectors of %d estimated, %.2f GiB for AlexNet", timing.name, c.name, vectors, estimate,
				gib)
			if vectors > float64(estimate)+1 || gib > 3.7 {
				t.Errorf("%s, %s: %.1f vectors, %d were estimated, %.2f GiB for AlexNet, want at most 3.7", timing.name,
					c.name, vectors, estimate, gib)
			}
		}
	}
}

// A round is handed to workers if its arithmetic at the mean batch size is large enough: for LeNet at any
// size, for logistic regression from 2^17 parameters × examples on.
func TestWhatIsWorthAWorker(t *testing.T) {
	const enough = 1 << 17
	for _, c := range []struct {
		name   string
		model  models.Model
		sizes  dp.Sizes
		rounds int
		want   int
	}{
		{"LeNet, one example", lenet.New(), dp.ConstantSizes(1), 5, 3},
		{"LeNet, growing sizes", lenet.New(), dp.PolynomialSizes{First: 1, Slope: 1, Power: 1}, 5, 3},
		{"just enough", heavy{params: enough / 4}, dp.ConstantSizes(4), 5, 3},
		{"a bit less", heavy{params: enough/4 - 1}, dp.ConstantSizes(4), 5, 1},
		{"grown to enough", heavy{params: enough / 4}, dp.ListSizes{1, 7}, 2, 3},
		{"not grown to enough", heavy{params: enough / 4}, dp.ListSizes{1, 6}, 2, 1},
	} {
		cfg := heavyConfig(heavy{}, 1)
		cfg.Model, cfg.Mechanism.Sizes, cfg.GradComps = c.model, c.sizes, 0
		for i := range c.rounds {
			cfg.GradComps += c.sizes.At(i)
		}
		if got := cfg.Computing(Perf{Workers: 3}); got != c.want {
			t.Errorf("%s: %d rounds at a time, want %d", c.name, got, c.want)
		}
	}
}

// Without a bound on the delay, each client of Hogwild may hold three broadcasts, and the server one. With
// a bound, there are only as many as may be read, and the next one.
func TestBroadcastsOfHogwild(t *testing.T) {
	for _, c := range []struct {
		delay Delay
		want  int
	}{{Unlimited{}, 16}, {AtMost(100), 16}, {AtMost(6), 8}, {AtMost(0), 2}} {
		cfg := heavyConfig(heavy{params: 1}, 3)
		cfg.Delay = c.delay
		for _, part := range cfg.Vectors(Perf{}, true) {
			if part.What == "broadcasts" && part.Count != c.want {
				t.Errorf("Υ = %v: %d broadcasts, want %d", c.delay, part.Count, c.want)
			}
		}
	}
}
