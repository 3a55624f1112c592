package pool

import (
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/train"
)

// drawn is a small separable data set of one-hot rows.
func drawn() *data.Dataset { return synth.OneHot(rng.New(3), 400) }

// smallSpec is a training on drawn that takes no time.
func smallSpec() train.Spec {
	s := train.DefaultSpec()
	s.Data, s.GradComps, s.SampleSize = "synth-drawn", 300, "6"
	return s
}

// longSpec is long enough to be stopped: small runs look at the context seldom.
func longSpec() train.Spec {
	s := smallSpec()
	s.GradComps *= 200
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

// smallLeNet is a training of LeNet on few digits that takes no time.
func smallLeNet() train.Spec {
	s := Train("", "synth-mnist:350")
	s.GradComps, s.SampleSize = 60, "20"
	return s
}
