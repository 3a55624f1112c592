package propose

import (
	"errors"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// numbers returns a source of a drawn table with real targets, and what proposals for it have in common.
func numbers(t *testing.T, rows, features int, noise float64, metric string) (*train.Source, train.Spec) {
	t.Helper()
	d, err := synth.Numbers(rng.New(uint64(rows)), "numbers", synth.TableShape{Rows: rows, Features: features, Noise: noise},
		data.TargetBounds{Low: 0, High: 800_000})
	if err != nil {
		t.Fatal(err)
	}
	base := train.DefaultSpec()
	base.Data, base.Model, base.Clients, base.Metric, base.Split = d.Name, train.Linear, 1, metric, train.RecordSplit
	return train.NewSource(d), base
}

// Proposals for linear regression are ranked by the metric in its own direction, and the predicted interval covers the
// metric of trainings of the first. DefaultRequest's search covers 85 of 90 trainings on three tables (1,500 to 8,000
// rows, 6 to 100 features, R² of 0.88, 0.58 and 0.72).
func TestProposeForRegression(t *testing.T) {
	for _, metric := range []string{"", "rmse"} {
		source, base := numbers(t, 1200, 4, 0.2, metric)
		r := DefaultRequest(base, 1)
		r.Rounds, r.Seeds, r.Count = []int{60}, 4, 3
		o := Options{Data: source, Probe: source, Probing: Own, Trials: pool.Options{Workers: 2}}
		report := propose(t, r, o)
		first, covered := report.Proposals[0], 0
		for seed := range uint64(5) {
			spec := first.Setting
			spec.Seed = seed + 1
			p, err := source.Prepare(spec)
			if err != nil {
				t.Fatal(err)
			}
			run, err := p.Run(t.Context(), options(2).Perf, nil)
			if err != nil {
				t.Fatal(err)
			}
			if v := p.Judge()(run.Params); v >= first.Low && v <= first.High {
				covered++
			}
		}
		if covered < 4 || !(first.Low < first.Accuracy && first.Accuracy < first.High) {
			t.Errorf("metric %q: %+v covers %d of 5", metric, first.Prediction, covered)
		}
		of := base.MetricOf()
		if text := new(strings.Builder); report.WriteText(text) != nil || report.Metric != of.String() ||
			!strings.Contains(text.String(), "predicted "+of.String()+" "+of.Text(first.Accuracy)) {
			t.Errorf("metric %q:\n%s", report.Metric, text)
		}
		for _, p := range report.Proposals[1:] {
			if len(p.Seeds) == len(first.Seeds) && of.Exceeds(p.Accuracy, first.Accuracy, 4*rankStep*map[bool]float64{false: 1, true: 200_000}[of.Smaller()]) {
				t.Errorf("metric %q: the second, %v, is better than %v", metric, p.Accuracy, first.Accuracy)
			}
		}
		// A larger budget is not worse.
		least, most := report.Frontier[0], report.Frontier[len(report.Frontier)-1]
		if of.Exceeds(least.Accuracy, most.Accuracy, 0) {
			t.Errorf("metric %q: %v at ε = %v, %v at %v", metric, least.Accuracy, least.Epsilon, most.Accuracy, most.Epsilon)
		}
		// A target that no setting reaches, and one that the mean reaches.
		r.TargetAccuracy = map[bool]float64{false: 0.99, true: 1000}[of.Smaller()]
		_, err := Propose(t.Context(), r, o)
		if e, ok := errors.AsType[*Infeasible](err); !ok || !strings.Contains(e.Error(), "the target "+of.String()+" to ") {
			t.Errorf("metric %q: %v", metric, err)
		}
		if of.Smaller() {
			r.TargetAccuracy = 300_000
			if _, err := Propose(t.Context(), r, o); err == nil || !strings.Contains(err.Error(), "target rmse = 300000, must be below ") {
				t.Error(err)
			}
		}
	}
}

// The least ε for a target error is below that for a smaller error. Private probes are refused: their noise is for counts.
func TestLeastEpsilonForAnError(t *testing.T) {
	source, base := numbers(t, 1200, 4, 0.2, "mae")
	r := DefaultRequest(base, 0)
	r.Rounds, r.Seeds, r.Count = []int{60}, 3, 1
	o := Options{Data: source, Probe: source, Probing: Own, Trials: pool.Options{Workers: 2}}
	var least []float64
	for _, r.TargetAccuracy = range []float64{105_000, 92_000} {
		report := propose(t, r, o)
		least = append(least, report.TargetEpsilon)
		if p := report.Proposals[0]; p.Accuracy > r.TargetAccuracy {
			t.Errorf("predicted mae %v, must be at most %v", p.Accuracy, r.TargetAccuracy)
		}
	}
	if !(least[0] < least[1]) {
		t.Errorf("ε = %v", least)
	}
	o.Probing, r.TargetAccuracy, r.Epsilon = Private, 0, 1
	if err := o.Validate(r); err == nil || !strings.Contains(err.Error(), `metric = "mae" with private probes, must be accuracy`) {
		t.Error(err)
	}
}
