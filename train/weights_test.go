package train

import (
	"slices"
	"strings"
	"testing"

	"proactivedp/sim"
)

func TestClassWeights(t *testing.T) {
	labels := []string{"no", "yes", "a:b"}
	for text, want := range map[string][]float64{"yes:9": {1, 9, 1}, "no:0.5,a:b:2": {0.5, 1, 2}} {
		if got, err := parseClassWeights(text, labels); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, error %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"maybe:2":       `the label "maybe" is unknown, must be one of no, yes, a:b`,
		"9":             `"9", must be LABEL:WEIGHT`,
		"yes:1,yes:2":   `the label "yes" is given twice`,
		"yes:0":         `"0" of the label "yes", must be in [0.001, 1000]`,
		"yes:NaN,no:-1": `"-1" of the label "no"`,
		"":              "must be LABEL:WEIGHT",
	} {
		if _, err := parseClassWeights(text, labels); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, must have %q", text, err, want)
		}
	}
}

// A large weight of a class raises its recall, changes the model and neither ε nor the batches.
func TestClassWeightsRaiseRecall(t *testing.T) {
	d := drawn()
	s := smallSpec()
	s.Data, s.NoiseMultiplier, s.Clip, s.Eta0, s.GradComps = d.Name, 1, 1, 0.1, 2000
	run := func(weights string) *Report {
		t.Helper()
		s.ClassWeights = weights
		p, err := s.Prepare(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(t.Context(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	even, uneven := run(""), run("1:50")
	if uneven.PerClass[1].Recall < even.PerClass[1].Recall || uneven.PerClass[1].Predicted <= even.PerClass[1].Predicted ||
		uneven.ParamsSHA256 == even.ParamsSHA256 {
		t.Errorf("%+v with the weight, %+v without", uneven.PerClass, even.PerClass)
	}
	if *uneven.Privacy.EpsilonUpper != *even.Privacy.EpsilonUpper || uneven.Updates != even.Updates {
		t.Errorf("privacy %+v with the weight, %+v without", uneven.Privacy, even.Privacy)
	}
	if !slices.ContainsFunc(uneven.Notes, func(n string) bool { return strings.Contains(n, "weighted by class (1:50)") }) {
		t.Errorf("notes %q", uneven.Notes)
	}
}
