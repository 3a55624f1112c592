package experiments

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"proactivedp/data/synth"
	"proactivedp/internal/results"
	"proactivedp/propose"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// proposalRequest is about 800 drawn rows, at an ε at which they can be told apart. Proxies look at the
// rows themselves.
func proposalRequest(workers int) (propose.Request, propose.Options) {
	base := train.DefaultSpec()
	base.Data, base.Clients = "drawn", 2
	r := propose.DefaultRequest(base, 0.5)
	r.Rounds, r.Seeds, r.Count = []int{60}, 3, 2
	source := train.NewSource(synth.OneHot(rng.New(3), 800))
	return r, propose.Options{Data: source, Probe: source, Probing: propose.Own,
		Trials: pool.Options{Workers: workers}}
}

// A grid has all combinations, and costs at least the requested multiple of the arithmetic. Its best
// setting is the most accurate one. The two winners are judged with seeds of their own.
func TestAgainstGrid(t *testing.T) {
	r, o := proposalRequest(2)
	r.Rounds = []int{60}
	g := ProposalGrid(r)
	g.Walks = []float64{6, 24}
	report, err := AgainstGrid(t.Context(), r, o, g, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := len(g.Rounds) * len(g.Noise) * len(g.Clips) * len(g.Walks) * len(g.Schedules) * len(g.Averages)
	if report.Settings != want {
		t.Errorf("%d settings, must be %d", report.Settings, want)
	}
	if report.Times < 2 {
		t.Errorf("%v times the arithmetic, must be at least 2", report.Times)
	}
	mean := 0.0
	for i, c := range report.all {
		if c.accuracy > report.Best.HeldOut {
			t.Errorf("setting %d has %v on held-out rows, the best %v", i, c.accuracy, report.Best.HeldOut)
		}
	}
	for i := range report.Best.Test {
		mean += (report.Best.Test[i] - report.Proposed.Test[i]) / 3
	}
	if math.Abs(mean-report.Regret) > 1e-12 || !(report.RegretSE >= 0) || len(report.Proposed.Test) != 3 {
		t.Errorf("regret %v ± %v, must be %v", report.Regret, report.RegretSE, mean)
	}
	if rows := report.table(); len(rows) != 1+report.Settings+6 {
		t.Errorf("%d rows", len(rows))
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nbest of the grid", "\nregret ", ", standard error 0.",
		"\nε is that of a record in one training of a setting, certified by pld, δ = 0.",
		"add-or-remove adjacency, poisson sampling"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in %s", want, &text)
		}
	}
	dir := t.TempDir()
	err = report.Write(dir, "a command", results.Drawing{}, []*train.Source{o.Data}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"figure.png", "data.csv", "manifest.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// All errors of a grid are reported at once.
func TestAgainstGridSaysAll(t *testing.T) {
	r, o := proposalRequest(1)
	_, empty := AgainstGrid(t.Context(), r, o, propose.Grid{Clips: []float64{1}}, 1, 2)
	r.Epsilon, r.TargetAccuracy, o.Probing, r.Seeds = 0, 0.9, propose.Other, 1
	_, err := AgainstGrid(t.Context(), r, o, ProposalGrid(r), 0.5, 1)
	if empty == nil || !strings.Contains(empty.Error(), "walks: none") ||
		strings.Contains(empty.Error(), "clips") {
		t.Errorf("a grid of nothing: %v", empty)
	}
	for _, want := range []string{"times of a grid = 0.5", "1 test seeds", "may use themselves", "seeds = 1",
		"target accuracy = 0.9, must be 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// A fresh check has at least forty settings of its own, within their ranges. They depend only on its seed.
func TestFreshPredictionCases(t *testing.T) {
	settings := 0
	for seed := range uint64(20) {
		cases := FreshPredictionCases(seed)
		settings = 0
		for i, c := range cases {
			if again := FreshPredictionCases(seed)[i]; again.Base != c.Base || again.Epsilon[0] != c.Epsilon[0] {
				t.Fatalf("seed %d draws another case", seed)
			}
			settings += len(c.Epsilon) * len(c.Noise) * len(c.Walks)
			r := propose.DefaultRequest(c.Base, c.Epsilon[0])
			r.Rounds = []int{c.Rounds}
			if err := r.Validate(); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	}
	if settings < 40 {
		t.Errorf("%d settings, must be at least 40", settings)
	}
}

// Captions with an ε say what it protects, which accountant computed it, and for which neighbouring data
// sets.
func TestCaptionsSayOfWhatTheirEpsilonIs(t *testing.T) {
	setting := train.DefaultSpec()
	checked := NewPredictionReport([]PredictionCheck{{Case: "a", Setting: setting, Epsilon: 0.1, Real: 0.9}})
	compared := GridReport{Delta: 0.000125, all: []gridSetting{{spec: setting}}}
	compared.Proposed.Setting, compared.Best.Setting = setting, setting
	compared.Proposed.Test, compared.Best.Test = []float64{0.9, 0.8}, []float64{0.9, 0.8}
	for want, caption := range map[string]string{
		"by pld, add-or-remove adjacency, poisson sampling, δ = 1/N where": checked.picture(2).Caption,
		"by pld, δ = 0.000125, add-or-remove adjacency, poisson sampling;": compared.picture().Caption,
	} {
		if !strings.Contains(caption, want) {
			t.Errorf("caption %q, want one with %q", caption, want)
		}
	}
}
