package experiments

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// The ε of a curve holds for each of its seeds, although the split by record gives them different numbers
// of records. A target that one of the seeds would miss is refused.
func TestCurveStatesTheSeedThatCostsMost(t *testing.T) {
	spec := train.DefaultSpec()
	spec.Data, spec.GradComps, spec.NoiseMultiplier, spec.Split = "drawn", 520, 2, train.RecordSplit
	source := train.NewSource(synth.OneHot(rng.New(3), 300))
	const seeds = 6
	l, err := TrainCurve(t.Context(), source, spec, seeds, pool.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	stated, first := *l.Privacy.Certified.PerRecord.EpsilonUpper, 0.0
	for i := range seeds {
		one := spec
		one.Seed += uint64(i)
		p, err := source.Prepare(one)
		if err != nil {
			t.Fatal(err)
		}
		planned, err := p.PlannedPrivacy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e := *planned.Certified.PerRecord.EpsilonUpper
		if e > stated {
			t.Errorf("seed %d costs %v, stated is %v", one.Seed, e, stated)
		}
		if i == 0 {
			first = e
		}
	}
	if !(first < stated) {
		t.Fatalf("the first seed costs %v, must be below another's, %v, or nothing is tested", first, stated)
	}
	spec.TargetEpsilon = (first + stated) / 2
	_, err = TrainCurve(t.Context(), source, spec, seeds, pool.Options{Workers: 2})
	if err == nil || !strings.Contains(err.Error(), "must be at most the target") {
		t.Errorf("a target that one seed exceeds: %v", err)
	}
}

// A curve ends at the accuracy that each seed's training has by itself. Its table has every point of every
// seed.
func TestCurveEndsWhereTrainingsEnd(t *testing.T) {
	spec := train.DefaultSpec()
	spec.Data, spec.GradComps, spec.NoiseMultiplier, spec.Seed = "drawn", 1040, 2, 5
	source := train.NewSource(synth.OneHot(rng.New(3), 600))
	o := pool.Options{Workers: 2, Folder: t.TempDir()}
	l, err := TrainCurve(t.Context(), source, spec, 3, o)
	if err != nil {
		t.Fatal(err)
	}
	var ends []float64
	for i := range 3 {
		one := spec
		one.Seed += uint64(i)
		trials, _, err := pool.Trials(t.Context(), source, []train.Spec{one}, o)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, trials[0].Accuracy)
	}
	mean, sd := report.Spread(ends)
	if math.Abs(l.TestAccuracy-mean) > 1e-12 || math.Abs(l.TestSD-sd) > 1e-12 || l.Seeds != 3 {
		t.Errorf("%v ± %v, must be %v ± %v", l.TestAccuracy, l.TestSD, mean, sd)
	}
	for i, at := range l.Points {
		if i > 0 && at.GradComps <= l.Points[i-1].GradComps || len(at.BySeed) != 3 {
			t.Errorf("point %d: %+v", i, at)
		}
	}
	dir := t.TempDir()
	if err := l.Write(dir, "proactivedp train", results.Drawing{}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "data.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if rows, err := csv.NewReader(f).ReadAll(); err != nil || len(rows) != 1+3*len(l.Points) {
		t.Errorf("%d rows (%v), must be %d", len(rows), err, 1+3*len(l.Points))
	}
	var text strings.Builder
	if err := l.WriteText(&text); err != nil || !strings.Contains(text.String(), "privacy of ONE of the 3 trainings") ||
		!strings.Contains(text.String(), report.SpreadText(mean, sd, 3)) {
		t.Errorf("%s (%v)", &text, err)
	}
}

// Check reports everything that a curve cannot show at once.
func TestCheckSaysAll(t *testing.T) {
	spec := train.DefaultSpec()
	spec.SeedFromOS, spec.Average = true, "tail:0.5"
	err := CheckLearning(spec, 0)
	for _, want := range []string{"seeds = 0, must be in", "numbered seeds", "average = "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// "No average" has two names. A curve can use both.
func TestCheckTakesNoAverage(t *testing.T) {
	spec := train.DefaultSpec()
	for _, spec.Average = range []string{"", "none"} {
		if err := CheckLearning(spec, 1); err != nil {
			t.Errorf("average %q: %v", spec.Average, err)
		}
	}
}

// Without a certified ε, the caption says that no ε is claimed. Otherwise it says for what and under which
// conditions ε holds.
func TestCaptionsClaimWhatThereIs(t *testing.T) {
	epsilon := 0.1
	l := LearningCurve{Spec: train.DefaultSpec(), Seeds: 2, TestRows: 3,
		Points: []LearningPoint{{Accuracy: 0.5, BySeed: []float64{0.5, 0.5}}}}
	l.Privacy.Delta, l.Privacy.Adjacency, l.Privacy.Sampling = 0.001, dp.AddOrRemove, dp.Poisson
	l.Privacy.Certified.PerRecord.Accountant = "pld"
	for _, c := range []struct {
		sigma float64
		upper *float64
		group int
		want  string
	}{
		{0, nil, 0, "No ε is claimed."}, {2, nil, 0, "No ε is claimed."},
		{2, &epsilon, 3, "certified by pld, for a person with up to 3 records, δ = 0.001"},
		{2, &epsilon, 0, "ε is that of one training, certified by pld, per record, δ = 0.001, add-or-remove adjacency, " +
			"poisson sampling. Numbered seeds: a simulation, no release."},
	} {
		l.Privacy.NoiseMultiplier, l.Privacy.Certified.PerRecord.EpsilonUpper, l.Privacy.Group = c.sigma, c.upper, c.group
		got := l.picture().Caption
		if !strings.Contains(got, c.want) || strings.Contains(got, "certified") != (c.upper != nil) {
			t.Errorf("σ = %v: %s, want %s", c.sigma, got, c.want)
		}
	}
}
