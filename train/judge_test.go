package train

import (
	"math"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/sim"
)

// Three quarters of a data set are of one class, as in a9a. If noise has ruined a model, it is only as
// accurate as guessing, and the report says so. A model that has learnt gets no warning.
func TestAccuracyStandsBesideTheMajority(t *testing.T) {
	var rows [][]float32
	var labels []int32
	for i := range 400 {
		label := int32(0)
		if i%4 == 0 {
			label = 1
		}
		rows = append(rows, []float32{float32(label), 1 - float32(label), float32(i%3) / 3})
		labels = append(labels, label)
	}
	d, err := data.FromRows("unequal", rows, labels)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		eta   float64
		beats bool
	}{{"learnt", 1, true}, {"not learnt", 1e-12, false}} {
		s := smallSpec()
		s.Data, s.NoiseMultiplier, s.Clip, s.Eta0, s.GradComps, s.Delta = "unequal", 0, 10, c.eta, 3000, 1e-5
		p, err := s.Prepare(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(t.Context(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for class := range int32(2) {
			n := 0
			for _, row := range p.Test.Rows {
				if labels[row] == class {
					n++
				}
			}
			most = max(most, float64(n)/float64(p.Test.Len()))
		}
		if r.MajorityShare != most || r.BeatsMajority != c.beats || r.BeatsMajority != (r.TestAccuracy > most) {
			t.Errorf("%s: accuracy %v, majority %v, want %v: %+v", c.name, r.TestAccuracy, r.MajorityShare, most,
				r.Judgement)
		}
		if r.AUC == nil || c.beats && *r.AUC < 0.99 || r.Loss == nil || !(*r.Loss > 0) || !c.beats &&
			math.Abs(*r.Loss-math.Ln2) > 1e-6 {
			t.Errorf("%s: %+v", c.name, r.Judgement)
		}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), MajorityWarning) == c.beats ||
			!strings.Contains(text.String(), "by always predicting the most frequent class\n") {
			t.Errorf("%s:\n%s", c.name, &text)
		}
	}
}

// The warning advises only what the training does not have: noise that can be less, or class weights.
func TestBaselineWarningAdvisesWhatApplies(t *testing.T) {
	plain := DefaultSpec()
	silent := plain
	silent.NoiseMultiplier = 0
	weighted := plain
	weighted.ClassWeights = "1:9"
	for _, c := range []struct {
		spec           Spec
		noise, weights bool
	}{{plain, true, true}, {silent, false, true}, {weighted, true, false}} {
		got := c.spec.BaselineWarning()
		if !strings.HasPrefix(got, MajorityWarning) || strings.Contains(got, "a larger ε") != c.noise ||
			strings.Contains(got, "--class-weights") != c.weights {
			t.Errorf("σ = %v, weights %q: %s", c.spec.NoiseMultiplier, c.spec.ClassWeights, got)
		}
	}
}
