package train

import (
	"math"
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
		"no:1,no:1":     `the label "no" is given twice`,
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

// A gradient is clipped after it is weighted, so that a weight above 1 needs a larger clipping norm. With the usual one,
// weights of 1 and 9 are those of 1/9 and 1, whose norm is the ninth part: only the unit of the loss differs.
func TestClassWeightsRaiseTheUsualClip(t *testing.T) {
	d := drawn()
	chosen := func(weights string) (Spec, *Report) {
		t.Helper()
		s := smallSpec()
		s.Data, s.Clients, s.NoiseMultiplier, s.GradComps, s.ClassWeights, s.Model = d.Name, 1, 1, 2000, weights, Plain
		p, err := s.Prepare(d, nil)
		if err == nil {
			s, _, err = p.Choose(t.Context(), Open{Clip: true, Eta0: true, Schedule: true}, 0)
		}
		if err == nil {
			p, err = s.Prepare(d, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(t.Context(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s, r
	}
	raised, up := chosen("1:9")
	lowered, down := chosen("0:0.1111111111")
	even, same := chosen("")
	if raised.Clip != 2.7 || lowered.Clip != UsualClip || even.Clip != UsualClip || !slices.Equal(raised.TriedClips(), []float64{0.9, 2.7, 9}) {
		t.Errorf("C = %v, %v and %v", raised.Clip, lowered.Clip, even.Clip)
	}
	if math.Abs(*up.Loss/9-*down.Loss) > 0.02**down.Loss || up.PerClass[1].Predicted <= same.PerClass[1].Predicted {
		t.Errorf("losses %v and %v, predicted %d and, without weights, %d", *up.Loss/9, *down.Loss, up.PerClass[1].Predicted,
			same.PerClass[1].Predicted)
	}
}

// Proxies on other data have the weights of the classes in the same order.
func TestWeightsOnOtherData(t *testing.T) {
	d := *drawn()
	d.Names = []string{"no", "yes"}
	s := Spec{ClassWeights: "yes:9"}
	if got, err := s.WeightsOn(&d, drawn()); err != nil || got != "0:1,1:9" {
		t.Errorf("%q, %v", got, err)
	}
	three := *drawn()
	three.Classes = 3
	if _, err := s.WeightsOn(&d, &three); err == nil || !strings.Contains(err.Error(), "of 2 classes, but") {
		t.Error(err)
	}
	if got, err := (Spec{}).WeightsOn(&d, &three); err != nil || got != "" {
		t.Errorf("%q, %v without weights", got, err)
	}
}
