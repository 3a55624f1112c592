package experiments

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"proactivedp/data/synth"
	"proactivedp/internal/results"
	"proactivedp/propose"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// Spearman's correlation and the medians agree with a case computed by hand.
func TestScores(t *testing.T) {
	var all []PredictionCheck
	for _, c := range []struct{ predicted, real, utility float64 }{
		{0.5, 0.52, 0.9}, {0.6, 0.6, 0.8}, {0.7, 0.61, 0.7}, {0.8, 0.9, 0.6},
	} {
		all = append(all, PredictionCheck{Case: "a", Real: c.real, Utility: c.utility,
			Prediction: propose.Prediction{
				Accuracy: c.predicted, Low: c.predicted - 0.05, High: c.predicted + 0.05}})
	}
	r := NewPredictionReport(all)
	if len(r.Scores) != 2 || r.Scores[1].Case != "all" || r.Scores[1].Settings != 4 {
		t.Fatalf("%+v", r.Scores)
	}
	s := r.Scores[0]
	if s.Within != 0.5 || math.Abs(s.HalfWidth-0.05) > 1e-12 || math.Abs(s.Proxy.Median-0.055) > 1e-12 ||
		math.Abs(*s.Proxy.Rank-1) > 1e-12 || math.Abs(*s.Utility.Rank+1) > 1e-12 {
		t.Errorf("%+v", s)
	}
	if got := ranks([]float64{3, 1, 3}); got[0] != got[2] || got[1] >= got[0] {
		t.Errorf("ranks %v", got)
	}
}

// A check trains every setting that it predicts. The settings here use drawn data, about which everything
// is known, so the predictions must be near. If intervals of 90 % were independent, more than 5 of 12
// would miss with a probability below 0.001.
func TestPredictionsAreNear(t *testing.T) {
	base := train.DefaultSpec()
	base.Data, base.Clients = "synth-drawn", 1
	c := PredictionCase{Name: "drawn", Base: base, Epsilon: []float64{0.3, 1, 3}, Noise: []float64{1, 4},
		Walks: []float64{6, 24}, Rounds: 60, Clip: 0.3}
	source := train.NewSource(synth.OneHot(rng.New(3), 1500))
	all, err := c.Check(t.Context(), source, 3, pool.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	outside := 0
	for _, c := range all {
		if !c.Within() {
			outside++
		}
		if c.Real <= 0 || c.Utility <= 0 || c.Short <= 0 || c.Low >= c.High {
			t.Errorf("%+v", c)
		}
	}
	if len(all) != 12 || outside > 5 {
		t.Errorf("%d of %d test accuracies are outside their intervals", outside, len(all))
	}
}

// The settings of a case of proposals are those that a search with the same seeds lists first, with their predictions.
func TestProposalsAreChecked(t *testing.T) {
	base := train.DefaultSpec()
	base.Data, base.Clients = "synth-drawn", 1
	c := PredictionCase{Name: "drawn", Base: base, Epsilon: []float64{0.25, 0.5}, Proposals: 2}
	source := train.NewSource(synth.OneHot(rng.New(3), 120))
	o := pool.Options{Workers: 2} // without a folder: writing these small trainings takes longer than training again
	all, err := c.Check(t.Context(), source, 3, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 {
		t.Fatalf("%d settings, must be 2 at each of 2 budgets", len(all))
	}
	r := propose.DefaultRequest(base, 0.5)
	r.Seeds, r.Count = 3, 2
	want, err := propose.Propose(t.Context(), r, propose.Options{Data: source, Probe: source, Probing: propose.Own, Trials: o})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range want.Proposals {
		if got := all[2+i]; got.Setting != p.Setting || got.Prediction != p.Prediction || got.Proxy != p.Proxy || got.Epsilon != 0.5 ||
			got.Case != "drawn" {
			t.Errorf("setting %d is %+v, must be %+v", i, got, p)
		}
	}
	for i, c := range all {
		if c.Epsilon != []float64{0.25, 0.25, 0.5, 0.5}[i] || c.Real <= 0 || c.Utility <= 0 || c.Short <= 0 || c.Low >= c.High {
			t.Errorf("%+v", c)
		}
	}
}

// At least twenty proposals are trained, with data sets that train in seconds.
func TestProposedCasesAreTwenty(t *testing.T) {
	n := 0
	for _, c := range ProposedPredictionCases(1) {
		n += len(c.Epsilon) * c.Proposals
		if err := propose.DefaultRequest(c.Base, c.Epsilon[0]).Validate(); err != nil || train.IsNetwork(c.Base.Model) {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	if n < 20 {
		t.Errorf("%d settings", n)
	}
}

// A check of no settings is an error. If nothing was checked, there is no report.
func TestNothingToCheck(t *testing.T) {
	c := PredictionCase{Name: "empty", Base: train.DefaultSpec(), Walks: []float64{6}, Rounds: 60, Clip: 1}
	_, err := c.Check(t.Context(), nil, 3, pool.Options{})
	if want := "case empty: epsilon: none"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("no %q in %v", want, err)
	}
	source := train.NewSource(synth.OneHot(rng.New(3), 200))
	c.Base.Data, c.Epsilon = "synth-drawn", []float64{1}
	_, err = c.Check(t.Context(), source, 3, pool.Options{})
	if want := "case empty: noise: none"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("no %q in %v", want, err)
	}
	if _, err = PredictionCases()[0].Check(t.Context(), nil, 3, pool.Options{}); err == nil ||
		!strings.Contains(err.Error(), "must both be given") {
		t.Errorf("a case without a source: %v", err)
	}
	var text strings.Builder
	if err := NewPredictionReport(nil).WriteText(&text); err != nil || !strings.Contains(text.String(), "all") {
		t.Errorf("%q, %v", text.String(), err)
	}
}

// There is no rank correlation for a single setting, or if all predictions are equal. The report can still
// be written as JSON.
func TestScoresWithoutARank(t *testing.T) {
	one := PredictionCheck{Case: "one", Real: 0.9, Prediction: propose.Prediction{Accuracy: 0.8}}
	alike := []PredictionCheck{{Case: "alike", Real: 0.9}, {Case: "alike", Real: 0.8}}
	for _, s := range NewPredictionReport(append(alike, one)).Scores[:2] {
		if s.Proxy.Rank != nil {
			t.Errorf("%s: rank %v", s.Case, *s.Proxy.Rank)
		}
	}
	r := NewPredictionReport([]PredictionCheck{one})
	if text, err := json.Marshal(r); err != nil || !strings.Contains(string(text), `"rank_correlation":null`) {
		t.Errorf("%s, %v", text, err)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || strings.Contains(text.String(), "NaN") {
		t.Errorf("%s, %v", text.String(), err)
	}
}

// The data of a figure of predictions hold everything that its picture shows, so it can be drawn again. A setting
// that the data call within its interval, though it is not, is refused.
func TestStoredPredictions(t *testing.T) {
	r := NewPredictionReport([]PredictionCheck{{Case: "a", Epsilon: 0.5, Real: 0.9, Utility: 0.8, Short: 0.7,
		Setting:    train.Spec{SampleSize: "4", GradComps: 40, NoiseMultiplier: 2, Clip: 0.1, Eta0: 0.2},
		Prediction: propose.Prediction{Accuracy: 0.85, Low: 0.8, High: 0.95}}})
	rows := r.table()
	got, err := storedPredictions(results.Table{Header: rows[0], Rows: rows[1:]})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, r) {
		t.Errorf("%+v, want %+v", got, r)
	}
	if l := got.picture(3).Lines[0]; math.Abs(l.Y[0]-0.05) > 1e-12 || math.Abs(l.Lo[0]+0.05) > 1e-12 || math.Abs(l.Hi[0]-0.1) > 1e-12 {
		t.Errorf("the error is drawn as %+v", l)
	}
	within := slices.Index(rows[0], "within")
	rows[1][within] = "false"
	if _, err := storedPredictions(results.Table{Header: rows[0], Rows: rows[1:]}); err == nil || !strings.Contains(err.Error(), "within") {
		t.Errorf("error %v, want one that names the column", err)
	}
}
