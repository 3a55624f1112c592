//go:build !race

// These are long trainings of what shorter tests run under the race detector.

package experiments

import (
	"context"
	"os"
	"testing"

	"proactivedp/data"
	"proactivedp/data/fetch"
	"proactivedp/data/mnist"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

const realSeeds = 5

func meanAccuracy(t *testing.T, d *data.Dataset, spec train.Spec) float64 {
	t.Helper()
	sum := 0.0
	for seed := range realSeeds {
		spec.Seed = uint64(seed + 1)
		p, err := spec.Prepare(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(t.Context(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum += r.TestAccuracy
	}
	return sum / realSeeds
}

// The paper's pattern on phishing (Figures 1b, 1c, 2c), mean of 5 seeds: no
// noise 0.93, ε 0.1 0.91, ε 0.05 0.86, and accuracy that grows with s. The
// intervals are those that independent prototypes reached, but for s = 5, where it
// is around the 0.77 of this simulator.
func TestPhishingFollowsThePaper(t *testing.T) {
	d := realData(t, "phishing")
	accuracy := map[string]float64{}
	for _, c := range []struct {
		name, model, size string
		sigma, lo, hi     float64
	}{
		{"no noise", train.Ridge, "26", 0, 0.905, 1},
		{"s 26", train.Ridge, "26", 19.29962, 0.84, 0.90},
		{"s 55", train.Ridge, "55", 13.06742, 0.895, 1},
		{"s 5", train.Ridge, "5", 19.29962, 0.74, 0.80},
		{"s 1", train.Ridge, "1", 19.29962, 0, 0.70},
		{"plain, s 26", train.Plain, "26", 19.29962, 0.865, 1},
	} {
		spec := pool.Convex(c.model, "phishing").Train
		spec.SampleSize, spec.NoiseMultiplier = c.size, c.sigma
		got := meanAccuracy(t, d, spec)
		accuracy[c.name] = got
		t.Logf("%-12s %.4f", c.name, got)
		if got < c.lo || got > c.hi {
			t.Errorf("%s: test accuracy %.4f, want it in [%v, %v]", c.name, got, c.lo, c.hi)
		}
	}
	if !(accuracy["s 1"] < accuracy["s 5"] && accuracy["s 5"] < accuracy["s 26"]) {
		t.Errorf("accuracy does not grow with s: %v", accuracy)
	}
}

// The paper's utility graph: σ up to about 20 costs at most about a tenth of
// the accuracy at C = 0.1 (Figure 1a).
func TestPhishingUtilityFollowsThePaper(t *testing.T) {
	d := realData(t, "phishing")
	const seeds = 2 // each has many draws of noise
	sums := map[float64]float64{}
	spec, _ := PaperUtilitySpec(train.Ridge, "phishing")
	spec.Sigmas = []float64{5, 18}
	for seed := range seeds {
		spec.Train.Seed = uint64(seed + 1)
		r, err := Graph(context.Background(), spec, train.NewSource(d), []float64{spec.Train.Clip}, sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Lines[0].Points {
			sums[p.Sigma] += p.Fraction / seeds
		}
	}
	t.Logf("fraction of accuracy at C = 0.1: %v", sums)
	if sums[5] < 0.98 || sums[18] < 0.85 || sums[18] > 0.95 {
		t.Errorf("fractions %v, want at least 0.98 at σ = 5 and 0.85 to 0.95 at σ = 18", sums)
	}
}

// LeNet on MNIST learns in a fiftieth of the paper's K, and less with the paper's noise. The
// bounds are well below what a run of it gave, 0.87 and 0.69.
func TestMNISTIsLearned(t *testing.T) {
	dir := os.Getenv("PROACTIVEDP_DATA")
	if dir == "" {
		t.Skip("PROACTIVEDP_DATA is not set: the real MNIST is not there to test on")
	}
	d, err := mnist.Load(t.Context(), fetch.Locator{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := mnistExperiment(pool.MNIST(pool.MNISTModel))
	accuracy := func(spec train.Spec) float64 {
		spec.GradComps /= 50
		p, err := spec.Prepare(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(t.Context(), sim.Perf{Workers: 2}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.TestRows != 10_000 || r.Privacy.PerClient.DatasetSize != 60_000 {
			t.Errorf("%d rows judged by, N = %d", r.TestRows, r.Privacy.PerClient.DatasetSize)
		}
		return r.TestAccuracy
	}
	plain, private := accuracy(s.WithoutNoise()), accuracy(s.Train)
	t.Logf("no noise %.4f, σ = %v %.4f", plain, s.Train.NoiseMultiplier, private)
	if plain < 0.82 || private < 0.62 || private >= plain {
		t.Errorf("test accuracy %.4f without noise, %.4f with", plain, private)
	}
}

// Under stragglers (5 clients, Pareto compute times) asynchronous training reaches
// what the synchronous one ends with, less the stated tolerance, at least twice as
// soon on the virtual clock; each of 3 seeds does.
func TestAsynchronousIsTwiceAsSoonUnderStragglers(t *testing.T) {
	d := realData(t, "phishing")
	spec := DefaultDelaySpec("", "phishing")
	spec.Delays = []string{"16", "unlimited"}
	r, err := spec.Compare(t.Context(), train.NewSource(d), DelayOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Delays[1:] {
		if s.SpeedUp == nil || *s.SpeedUp < 2 || *s.LeastUp < 2 {
			t.Errorf("%s: %+v, want a speed-up of at least 2", s.Name, s)
			continue
		}
		t.Logf("%-12s %.2f times as soon, the least of a seed %.2f", s.Name, *s.SpeedUp, *s.LeastUp)
	}
}
