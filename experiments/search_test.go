package experiments

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/train"
)

// The page says which part of the paper's K was really run, and a search holds out
// the same part of any data.
func TestSearchSaysHowMuchItRan(t *testing.T) {
	spec := PaperSearch("", "mnist")
	spec.Train.Clients, spec.Train.GradComps, spec.Scale = 4, 3600, 0.5
	all := []found{{spec: spec.points()[0]}}
	spec.Sigmas = []float64{all[0].spec.NoiseMultiplier}
	text := oneLine(spec.readme(all, digits(70), "the command"))
	for _, want := range []string{"K = 1800 gradients for each of 4 clients (0.005 of the paper's K)",
		"how it was made: `the command`"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := oneLine(spec.readme(all, digits(70), "")); !strings.Contains(text, "how it was made ##") {
		t.Errorf("without a command:\n%s", text)
	}
	if err := spec.HoldOut(digits(700)); err != nil || spec.Train.Holdout != 100 {
		t.Errorf("%d of 600 training rows held out, error %v", spec.Train.Holdout, err)
	}
}

// A search ranks by the held-out records, keeps diverged runs at the bottom, and
// goes on where it was.
func TestSearch(t *testing.T) {
	spec := PaperSearch("", "synth-mnist:350")
	spec.Train.GradComps, spec.Train.SampleSize, spec.Train.Holdout = 400, "40", 60
	spec.Models, spec.Eta0, spec.Beta, spec.Sigmas, spec.Seeds = []string{train.LeNetReLU}, []float64{1e-9, 0.1, 1e29},
		[]float64{0}, []float64{0, 12}, 2
	dir := t.TempDir()
	o := SearchOptions{Out: dir, Workers: 2}
	r, err := Search(t.Context(), spec, train.NewSource(digits(350)), o)
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	rows, err := csv.NewReader(strings.NewReader(read(searchCSV))).ReadAll()
	if err != nil || len(rows) != 1+2*3*2 {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	best, worst := 0.0, 0
	for _, row := range rows[1:] {
		accuracy, err := strconv.ParseFloat(row[column("held_out_accuracy")], 64)
		if err != nil || row[column("held_out_rows")] != "60" {
			t.Fatalf("row %v", row)
		}
		if row[column("eta0")] == "0.1" && row[column("sigma")] == "0" {
			best = max(best, accuracy)
		}
		if row[column("diverged")] == "true" {
			worst++
		}
	}
	if len(r.Rankings) != 2 || len(r.Rankings[0].Candidates) != 3 {
		t.Fatalf("rankings %+v, must be 2 of 3 candidates", r.Rankings)
	}
	winner, last := r.Rankings[0].Winner, r.Rankings[0].Candidates[2]
	if winner.Eta0 != 0.1 || winner.Accuracy <= 0.3 || winner.Accuracy > best || winner.Diverged != 0 ||
		last.Accuracy > winner.Accuracy || r.HeldOutRows != 60 {
		t.Errorf("the winner without noise is %+v and the last %+v: must be 0.1, the best of the table %v", winner,
			last, best)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"without noise: the best is lenet-relu with step size 0.1/(1+0t), held-out accuracy",
		"60 held-out training records", "SYNTHETIC", "privacy: none; "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if best < 0.3 || worst == 0 {
		t.Errorf("best accuracy %v without noise, %d runs diverged", best, worst)
	}
	readme := oneLine(read(searchReadme))
	for _, want := range []string{"not covered by any privacy statement", "The test set is not looked at",
		"Synthetic stand-in", "Best: **lenet-relu, step size 0.1/(1+0t)**"} {
		if !strings.Contains(readme, want) {
			t.Errorf("no %q in\n%s", want, readme)
		}
	}
	var m SearchManifest
	if _, err := Search(t.Context(), spec, train.NewSource(digits(350)), o); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(read(manifestFile)), &m); err != nil || m.Computed != 0 || m.Cells != 12 ||
		m.Config.Train.Holdout != 60 {
		t.Errorf("error %v, manifest %+v: every run should be found finished", err, m)
	}

	spec.Train.Holdout, spec.Eta0, spec.Beta, spec.Scale = 0, []float64{-1}, nil, 2
	err = spec.Validate()
	for _, want := range []string{"holdout = 0", "eta0 = -1", "beta: none given", "scale = 2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

// oneLine returns a text on one line, wherever its lines were broken.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
