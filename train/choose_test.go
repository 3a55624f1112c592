package train

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
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
	p.Spec.SampleSize = "linear:64,1" // the first round is run, however few epochs are asked for
	if spec, _, err = p.Choose(t.Context(), Open{GradComps: true, Epochs: 0.01}, 1); err != nil || spec.GradComps != 64 {
		t.Errorf("0.01 epochs: K = %d, error %v", spec.GradComps, err)
	}
	few := Open{SampleSize: true, GradComps: true, Rounds: 2, MostSize: n - 5, Noise: true} // another seed has fewer records
	if spec, _, err = p.Choose(t.Context(), few, 1); err != nil || spec.SampleSize != strconv.Itoa(n-5) || spec.GradComps != 2*(n-5) {
		t.Errorf("2 rounds of at most %d records: s = %s, K = %d, error %v", n-5, spec.SampleSize, spec.GradComps, err)
	}
}

// For persons, the batch size is that of a plan for a record whose ε is a part of the person's, and σ is not the plan's.
func TestChooseDividesThePersonsEpsilon(t *testing.T) {
	d := synth.OneHot(rng.New(1), 2000)
	d.Person = make([]data.PersonKey, d.Len())
	for i := range d.Person {
		d.Person[i] = data.PersonOf(strconv.Itoa(i))
	}
	for _, atMost := range []int{1, 2, 3} {
		s := chosenFrom(1)
		s.AtMost, s.Split = atMost, RecordSplit
		p, err := s.Prepare(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := p.Config.Mechanism.DatasetSize
		want, err := plan.Solve(t.Context(), plan.Request{N: n, Epochs: UsualEpochs, Epsilon: 3 / float64(atMost), Delta: p.Delta})
		if err != nil {
			t.Fatal(err)
		}
		open := Open{SampleSize: true, GradComps: true, Noise: true}
		spec, text, err := p.Choose(t.Context(), open, 3)
		if err != nil || spec.SampleSize != strconv.Itoa(want.Recommended.SampleSize) ||
			strings.Contains(text, want.Recommended.Reason) != (atMost == 1) {
			t.Errorf("%d records of a person: %s, %v; want s = %d", atMost, text, err, want.Recommended.SampleSize)
		}
		open.Eta0 = true
		chosen, _, err := p.Choose(t.Context(), open, 3)
		if err != nil {
			t.Fatal(err)
		}
		spec.Eta0 = 1
		given, err := spec.Prepare(d, nil)
		if err == nil {
			given, err = given.Calibrate(t.Context(), 3)
		}
		if err != nil {
			t.Fatal(err)
		}
		if again, _, err := given.Choose(t.Context(), Open{Eta0: true}, 3); err != nil || math.Abs(again.Eta0/chosen.Eta0-1) > 2e-2 {
			t.Errorf("%d records of a person: η₀ = %v, with the noise that a person needs %v, %v", atMost, chosen.Eta0, again.Eta0, err)
		}
	}
}

// A warning is about few distinct records, or about one that is too frequent among many.
func TestWarningOfFewRows(t *testing.T) {
	for _, c := range []struct {
		rows JudgedRows
		warn bool
	}{
		{JudgedRows{0, 0, 0}, false}, {JudgedRows{1000, 200, 100}, false}, {JudgedRows{1000, 199, 5}, true},
		{JudgedRows{1000, 800, 101}, true}, {JudgedRows{1000, 199, 101}, true},
	} {
		if text := c.rows.Warning(false); (text != "") != c.warn {
			t.Errorf("%+v: %q", c.rows, text)
		}
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
