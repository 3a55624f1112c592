package train

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/memory"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
)

func TestNetworksNeedTheirImages(t *testing.T) {
	for _, c := range []struct {
		model string
		d     *data.Dataset
		want  string
	}{
		{Ridge, digits(350), `model = "logreg" needs rows in 2 classes, synth-mnist has 1×28×28 pixels in 10 classes, ` +
			`which softmax, lenet, lenet-relu, convnet, mlp, mlp-relu take`},
		{Plain, digits(350), `model = "logreg-plain" needs`},
		{LeNet, drawn(), `model = "lenet" needs images of sides that are multiples of 4, and at least 12, ` +
			`synth-drawn has 20 features in 2 classes, which logreg, logreg-plain, softmax, mlp, mlp-relu take`},
		{Plain, synth.Objects(rng.New(1), 60), `synth-cifar10 has 3×32×32 pixels in 10 classes, which softmax, lenet, ` +
			`lenet-relu, alexnet, alexnet-dropout, convnet, mlp, mlp-relu take`},
		{AlexNet, digits(350), `model = "alexnet" needs images of sides that are multiples of 16`},
	} {
		s := smallLeNet()
		s.Model = c.model
		if _, err := s.Prepare(c.d, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s: error %v, want %s", c.model, c.d.Name, err, c.want)
		}
	}
}

// Networks are built for every shape and number of classes that their layers allow. 9 data sets, of which
// MNIST and CIFAR-10 have the parameters that the papers print.
func TestNetworksOfOtherShapes(t *testing.T) {
	for _, c := range []struct {
		channels, side, classes int
		params                  map[string]int // without a model, it cannot be trained
	}{
		{1, 28, 10, map[string]int{LeNet: 61_706, LeNetReLU: 61_706, ConvNet: 54_666}},
		{3, 32, 10, map[string]int{LeNet: 83_126, LeNetReLU: 83_126, ConvNet: 64_554, AlexNet: 23_272_266,
			AlexNetDropout: 23_272_266}},
		{1, 28, 47, map[string]int{LeNet: 64_851, LeNetReLU: 64_851, ConvNet: 170_735}},                                                   // EMNIST balanced
		{3, 28, 8, map[string]int{LeNet: 61_836, LeNetReLU: 61_836, ConvNet: 48_680}},                                                     // BloodMNIST
		{3, 32, 100, map[string]int{LeNet: 90_776, LeNetReLU: 90_776, ConvNet: 433_284, AlexNet: 23_640_996, AlexNetDropout: 23_640_996}}, // CIFAR-100
		{1, 64, 2, map[string]int{LeNet: 389_346, LeNetReLU: 389_346, ConvNet: 56_066, AlexNet: 35_821_250,
			AlexNetDropout: 35_821_250}},
		{1, 8, 10, map[string]int{ConvNet: 25_866}}, // digits of scikit-learn
		{1, 30, 10, nil},
		{3, 96, 10, map[string]int{LeNet: 0, LeNetReLU: 0, ConvNet: 0, AlexNet: 0, AlexNetDropout: 0}}, // STL-10
	} {
		d := &data.Dataset{Name: "d", Features: c.channels * c.side * c.side, Classes: c.classes,
			Images: &data.Images{Channels: c.channels, Height: c.side, Width: c.side}}
		for _, name := range []string{LeNet, LeNetReLU, ConvNet, AlexNet, AlexNetDropout} {
			k, err := kindOf(name)
			if err != nil {
				t.Fatal(err)
			}
			m, err := k.make(d, 0)
			want, ok := c.params[name]
			if ok != (err == nil) {
				t.Errorf("%s on %s: %v, want it to be trained: %v", name, d.Shape(), err, ok)
			} else if ok && want != 0 && m.NumParams() != want {
				t.Errorf("%s on %s in %d classes: %d parameters, want %d", name, d.Shape(), c.classes, m.NumParams(), want)
			}
		}
	}
}

// The accuracy is measured on held-out records of the training set. They are not trained on, and are not
// in the test set.
func TestHoldout(t *testing.T) {
	d := digits(350) // 300 for training
	s := smallLeNet()
	s.Holdout = 0.15
	p, err := s.Prepare(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	held := p.Test.Len()
	if held < 20 || held > 70 { // of 300, by expectation 45: 4 deviations of a binomial
		t.Errorf("%d of 300 records are held out, must be about 45", held)
	}
	for _, part := range p.Config.Rows {
		if part.Len() != 300-held {
			t.Errorf("a client holds %d rows, must be the other %d", part.Len(), 300-held)
		}
		for _, row := range p.Test.Rows {
			if row >= 300 || slices.Contains(part.Rows, row) {
				t.Errorf("row %d judges, and is trained on or of the test set", row)
			}
		}
	}
	if n := 300 - held; p.Config.Mechanism.DatasetSize != n || p.Delta != 1/float64(n) {
		t.Errorf("accounted for N = %d, δ = %v, must be of %d", p.Config.Mechanism.DatasetSize, p.Delta, n)
	}
	r, err := p.Train(t.Context(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.TestRows != held || r.JudgedOn != "held-out training rows" {
		t.Errorf("%d rows, %s", r.TestRows, r.JudgedOn)
	}
	for _, bad := range []float64{-1, math.NaN(), 1, 40, 1e-9} { // 40 is what a number of records was before
		s.Holdout = bad
		if _, err := s.Prepare(d, nil); err == nil || !strings.Contains(err.Error(), "holdout") {
			t.Errorf("holdout %v: error %v", bad, err)
		}
	}
}

// A forecast has the rounds and the privacy of the run that follows.
func TestForecastIsOfTheRun(t *testing.T) {
	p, err := smallLeNet().Prepare(digits(350), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.Forecast(t.Context(), sim.Perf{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Train(t.Context(), sim.Perf{Workers: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Rounds != r.Rounds || f.Updates != r.Updates || f.GradComps != r.GradComps || f.Remainder != r.Remainder ||
		!equalJSON(t, f.Privacy, r.Privacy) {
		t.Errorf("forecast %+v, run %+v", f, r)
	}
	// 61,706 parameters; 1,131,960 multiplications forward, backward and of the weights.
	if f.Parameters != 61_706 || f.FLOPs != 2*1_131_960 || f.TotalFLOPs != f.FLOPs*60*5 {
		t.Errorf("%d parameters, %v FLOP a gradient, %v in all", f.Parameters, f.FLOPs, f.TotalFLOPs)
	}
	if f.MemoryBytes != total(f.Memory) || f.Computing != 2 || !(f.Seconds > 0) || math.IsInf(f.Seconds, 0) {
		t.Errorf("%+v", f)
	}
	var text strings.Builder
	if err := f.WriteText(&text); err != nil || !strings.Contains(text.String(), "nothing is trained") ||
		!strings.Contains(text.String(), "synth-mnist:350 (SYNTHETIC data)") ||
		strings.Contains(text.String(), "0 MiB") {
		t.Errorf("error %v:\n%s", err, text.String())
	}
}

// inBlocks is a model of which a batch takes a millisecond for each block of 16 examples,
// on the clock of a synctest bubble.
type inBlocks struct{ models.Model }

func (m inBlocks) ClippedGradSum(_, _ []float32, b data.Batch, _ float64, _ models.Scratch) error {
	time.Sleep(time.Duration(1+b.Len()/16) * time.Millisecond)
	return nil
}

// The time of a forecast is that of the run: of rounds at their mean size, of whole
// blocks of examples. A sample of mean 1 is in one block, one of mean 20 in 1.85
// (P(n ≥ 16) = 0.84, P(n ≥ 32) = 0.01). The seed is fixed, and the clock is the bubble's:
// nothing here depends on the machine.
func TestForecastOfTheTime(t *testing.T) {
	d := digits(700)
	forecast := func(size string) (speed float64) {
		s := smallLeNet()
		s.SampleSize, s.GradComps = size, 40
		p, err := s.Prepare(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Config.Model = inBlocks{p.Config.Model}
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			f, err := p.Forecast(t.Context(), sim.Perf{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took < enoughTime {
				t.Errorf("sizes %s: measured for %v, must be at least %v", size, took, enoughTime)
			}
			speed = f.Speed
		})
		return speed
	}
	for size, want := range map[string]float64{"1": 1 / 1.0, "20": 20 / 1.85, "list:1,39": 20 / 1.85} {
		if r := forecast(size) / (1000 * want); r < 0.75 || r > 1.33 {
			t.Errorf("sizes %s: %.3g times the speed of samples of their mean size", size, r)
		}
	}
}

// With more batches at the same time than processors, the forecast time does not fall.
func TestForecastOnOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p, err := smallLeNet().Prepare(digits(350), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.Forecast(t.Context(), sim.Perf{Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	if least := 5 * float64(f.GradComps) / f.Speed; f.Computing != 4 || f.Seconds < least {
		t.Errorf("%d gradients at a time on one processor: %v s, want at least %v", f.Computing, f.Seconds, least)
	}
}

// The text leaves out parts of the memory with no bytes, and lists the parts after them.
func TestForecastTextListsTheMemory(t *testing.T) {
	f := Forecast{Memory: []sim.Part{
		{What: "models", Count: 3, Bytes: 3 << 20}, {What: "broadcasts", Count: 2}, {What: "data", Count: 1,
			Bytes: 5 << 20},
	}}
	var text strings.Builder
	if err := f.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	const want = "estimated\n  models  3 × 3 MiB\n  data    1 × 5 MiB\n"
	if !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, text.String())
	}
}

// AlexNet with 5 clients is forecast to stay below 4 GiB with either runner.
func TestAlexNetFits(t *testing.T) {
	s := smallSpec()
	s.Model, s.Data, s.SampleSize, s.Clip = AlexNet, "synth-cifar10:60", "40", 0.025
	for _, s.Runner = range []string{VirtualRunner, HogwildRunner} {
		p, err := s.Prepare(synth.Objects(rng.New(1), 60), nil)
		if err != nil {
			t.Fatal(err)
		}
		if bytes := total(p.memory(sim.Perf{Workers: 2})); bytes > 3<<30 {
			t.Errorf("%s: %s", s.Runner, memory.Text(bytes))
		}
	}
}
