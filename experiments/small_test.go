package experiments

import (
	"encoding/json"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// drawn is a small separable data set of one-hot rows.
func drawn() *data.Dataset { return synth.OneHot(rng.New(3), 400) }

// smallSpec is a training on drawn that takes no time.
func smallSpec() train.Spec {
	s := train.DefaultSpec()
	s.Data, s.GradComps, s.SampleSize = "synth-drawn", 300, "6"
	return s
}

func prepared(t *testing.T, s train.Spec, d *data.Dataset) *train.Prepared {
	t.Helper()
	p, err := s.Prepare(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// digits returns drawn images like MNIST's, 6 of 7 for training.
func digits(rows int) *data.Dataset { return synth.Digits(rng.New(1), rows) }

// kindOf returns what a cell is called, and the spec of its training.
func kindOf(t *testing.T, c pool.Cell) (string, train.Spec) {
	t.Helper()
	text, err := json.Marshal(c.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var of struct {
		Kind  string
		Train train.Spec
	}
	if err := json.Unmarshal(text, &of); err != nil {
		t.Fatal(err)
	}
	return of.Kind, of.Train
}
