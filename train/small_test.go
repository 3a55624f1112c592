package train

import (
	"path/filepath"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/sim"
)

// drawn is a small separable data set of one-hot rows.
func drawn() *data.Dataset { return synth.OneHot(rng.New(3), 400) }

// smallSpec is a training on drawn that takes no time.
func smallSpec() Spec {
	s := DefaultSpec()
	s.Data, s.GradComps, s.SampleSize = "synth-drawn", 300, "6"
	return s
}

// digits returns drawn images like MNIST's, 6 of 7 for training.
func digits(rows int) *data.Dataset { return synth.Digits(rng.New(1), rows) }

// smallLeNet is a training of LeNet on few digits that takes no time.
func smallLeNet() Spec {
	s := DefaultSpec()
	s.Model, s.Data, s.GradComps, s.SampleSize, s.NoiseMultiplier = LeNet, "synth-mnist:350", 60, "20", 12.10881
	s.Clip, s.Eta0, s.Beta = 0.025, 0.015, 1e-5
	return s
}

// savedOf trains p on the data set d, and returns its report and the model that was saved and read again.
func savedOf(t *testing.T, p *Prepared, d *data.Dataset) (*Report, *Saved) {
	t.Helper()
	r, err := p.Train(t.Context(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model")
	if err := r.Save(path, NewInputs(d, "", nil)); err != nil {
		t.Fatal(err)
	}
	m, err := OpenModel(path)
	if err != nil {
		t.Fatal(err)
	}
	return r, m
}
