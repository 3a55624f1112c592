package train

import (
	"strconv"
	"strings"
	"testing"

	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/rng"
	"proactivedp/sim"
)

// Choose sets the open settings: the batch size and steps that the planner recommends, within ε. Given
// settings stay.
func TestChoose(t *testing.T) {
	p, err := chosenFrom(2).Prepare(synth.OneHot(rng.New(1), 2000), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := p.Config.Mechanism.DatasetSize
	all := Open{SampleSize: true, GradComps: true, Delta: true, Clip: true, Eta0: true, Schedule: true, Noise: true}
	spec, text, err := p.Choose(t.Context(), all, 1)
	if err != nil {
		t.Fatal(err)
	}
	size, _ := strconv.Atoi(spec.SampleSize)
	if steps := spec.GradComps / size; size < 2 || steps < 100 || steps > 1000 || spec.GradComps < UsualEpochs*n ||
		spec.GradComps >= UsualEpochs*n+size {
		t.Errorf("s = %d, K = %d of N = %d", size, spec.GradComps, n)
	}
	if spec.Clip != UsualClip || spec.Schedule != string(sim.ZeroDecay) || spec.Delta != dp.DefaultDelta(n) || spec.Eta0 == 1 {
		t.Errorf("%+v", spec)
	}
	if !strings.Contains(text, "2 clients that hold the same data, with ") || !strings.Contains(text, "within ε = 1: batch size") {
		t.Errorf("said %q", text)
	}
	again, err := spec.Prepare(p.source.data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Calibrate(t.Context(), 1); err != nil {
		t.Error(err)
	}

	given := p.Spec
	given.SampleSize, given.GradComps, given.NoiseMultiplier = "8", 800, 0
	if p, err = given.Prepare(p.source.data, nil); err != nil {
		t.Fatal(err)
	}
	spec, text, err = p.Choose(t.Context(), Open{Eta0: true}, 1)
	if err != nil {
		t.Fatal(err)
	}
	// Without noise nothing but the largest multiple m = 32 of (sum/C)/s bounds the step size.
	if given.Eta0 = decimal.Digits(mostStep/(given.Clip*8), 3); spec != given {
		t.Errorf("%+v\nwant\n%+v", spec, given)
	}
	if strings.Contains(text, "ε") {
		t.Errorf("said %q of a training whose noise is given", text)
	}
	if spec, text, err = p.Choose(t.Context(), Open{}, 1); err != nil || text != "" || spec != p.Spec {
		t.Errorf("nothing is open: %q, error %v, %+v", text, err, spec)
	}
	spec, _, err = p.Choose(t.Context(), Open{SampleSize: true, GradComps: true, Rounds: 50, Noise: true}, 1)
	if size, _ := strconv.Atoi(spec.SampleSize); err != nil || size*50 != spec.GradComps || size != (UsualEpochs*n+25)/50 {
		t.Errorf("50 rounds: s = %s, K = %d, error %v", spec.SampleSize, spec.GradComps, err)
	}
}

// The step sizes on features of package scatter are those of the settings in results/mnist-scatter and
// results/cifar10-scatter, within a factor of 1.7.
func TestUsualStepsOnScatter(t *testing.T) {
	s := Spec{Model: Softmax, FeatureMap: "scatter:fold=no"}
	s.Clip = s.UsualClip()
	for _, c := range []struct {
		features, size, rounds int
		sigma, eta0            float64
	}{{3969, 2048, 250, 2.230651, 0.830078}, {3969, 4096, 250, 1.737421, 0.976562},
		{7776, 2048, 366, 3.089489, 0.683594}, {7776, 4096, 366, 2.359756, 0.683594}} {
		eta0 := UsualStep(s, 10*c.features, c.sigma, float64(c.size), c.rounds)
		if s.Clip != 0.01 || eta0 > 1.7*c.eta0 || eta0 < c.eta0/1.7 {
			t.Errorf("%+v: C = %v, η₀ = %v", c, s.Clip, eta0)
		}
	}
	plain := Spec{Model: Softmax}
	if plain.UsualClip() != UsualClip || len(plain.TriedClips()) != 3 || len(s.TriedClips()) != 1 {
		t.Error("pixels have other clipping norms")
	}
}

func chosenFrom(clients int) Spec {
	s := DefaultSpec()
	s.Data, s.Clients, s.SampleSize, s.GradComps = "synth-drawn", clients, "1", 1000
	return s
}

// About 500 records are held out, and at most a sixth. Below ε = 0.5 it is half as many.
func TestDefaultHoldout(t *testing.T) {
	for _, c := range []struct {
		n             int
		epsilon, want float64
	}{{10_000, 1, 0.05}, {10_000, 0.5, 0.05}, {10_000, 0.49, 0.025}, {600, 3, UsualHoldout}, {600, 0.03, UsualHoldout / 2}} {
		if got := DefaultHoldout(c.n, c.epsilon); got != c.want {
			t.Errorf("%d records at ε = %v: %v, want %v", c.n, c.epsilon, got, c.want)
		}
	}
}
