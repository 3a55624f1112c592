package experiments

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// guess is a Chooser that counts how often it is asked.
func guess(asked map[ChoiceRequest]int) Chooser {
	return func(_ context.Context, _ *train.Source, w ChoiceRequest) (train.Spec, error) {
		asked[w]++
		spec := w.Spec
		spec.NoiseMultiplier, spec.Schedule, spec.Beta = 0.2/w.Epsilon, string(sim.ZeroDecay), 0
		return spec, nil
	}
}

// The figures of budgets have every method with its certified ε and its gradients. The trainings that
// several of them show are requested only once.
func TestFiguresOfBudgets(t *testing.T) {
	figures, err := Select([]string{"phishing-equal-epsilon", "phishing-budget", "phishing-sampling"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := options(t, dir)
	o.Load = func(context.Context, string) (*data.Dataset, error) { return synth.OneHot(rng.New(3), 800), nil }
	if err := Make(t.Context(), figures, o); err == nil || !strings.Contains(err.Error(), "choose = nil") {
		t.Errorf("without a Chooser: error %v", err)
	}
	asked := map[ChoiceRequest]int{}
	o.Choose = guess(asked)
	if err := Make(t.Context(), figures, o); err != nil {
		t.Fatal(err)
	}
	for w, times := range asked {
		if times != 1 {
			t.Errorf("asked %d times for ε = %v, s = %s", times, w.Epsilon, w.Spec.SampleSize)
		}
	}
	var sigmas []float64 // of phishing-sampling: by series, and within it by ε
	for name, want := range map[string]struct{ series, trainings int }{
		"phishing-equal-epsilon": {6, 6}, "phishing-budget": {2, 6 + len(budgetEpsilons)},
		"phishing-sampling": {3, 3 * len(sampledRuns["phishing"].epsilons)},
	} {
		text, err := os.ReadFile(filepath.Join(dir, name, results.TableFile))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil || len(rows) != 1+o.Seeds*want.trainings {
			t.Fatalf("%s: %d rows of data, error %v; want a header and %d trainings of %d seeds", name, len(rows), err,
				want.trainings, o.Seeds)
		}
		column := map[string]int{}
		for i, c := range rows[0] {
			column[c] = i
		}
		series := map[string]bool{}
		for _, row := range rows[1:] {
			at := func(c string) float64 {
				v, err := strconv.ParseFloat(row[column[c]], 64)
				if err != nil {
					t.Fatalf("%s: %s: %v", name, c, err)
				}
				return v
			}
			series[row[column["series"]]] = true
			if name == "phishing-sampling" && at("seed") == 1 {
				sigmas = append(sigmas, at("sigma"))
			}
			if g := at("clients") * at("sample_size") * at("rounds"); g != at("gradients_of_all_clients") {
				t.Errorf("%s: %v gradients, clients × s × T = %v", name, at("gradients_of_all_clients"), g)
			}
			if e := at("certified_epsilon_per_record"); !(e > 0 && at("test_accuracy") > 0.3) {
				t.Errorf("%s: accuracy %v at a certified ε of %v", name, at("test_accuracy"), e)
			}
		}
		if len(series) != want.series {
			t.Errorf("%s: %d series, want %d", name, len(series), want.series)
		}
	}
	// Random allocation needs the least noise, and replacing a record in samples of a fixed size the most.
	for i := range len(sigmas) / 3 {
		poisson, allocation, fixed := sigmas[i], sigmas[i+len(sigmas)/3], sigmas[i+2*len(sigmas)/3]
		if !(0 < allocation && allocation <= poisson && poisson < fixed) {
			t.Errorf("σ = %v by allocation, %v by Poisson sampling, %v by samples of a fixed size", allocation, poisson, fixed)
		}
	}
}

// A tight plan has a sixteenth of the gradients in as many rounds.
func TestTightPlan(t *testing.T) {
	s := mnistExperiment(pool.MNIST(train.LeNet)).Train
	lean, err := tight(s)
	if err != nil {
		t.Fatal(err)
	}
	if lean.Clients != 1 || lean.SampleSize != "115" || lean.GradComps != 115*(s.GradComps/370) {
		t.Errorf("%d clients, s = %s, K = %d", lean.Clients, lean.SampleSize, lean.GradComps)
	}
	s.SampleSize = "linear:1,0.5"
	if _, err := tight(s); err == nil {
		t.Error("sizes that grow were accepted")
	}
}

// In the means of a figure of budgets, diverged runs count as accuracy 0. The caption says so.
func TestBudgetsSayWhatDiverged(t *testing.T) {
	for want, accuracy := range map[string][]float64{"": {0.9, 0.8, 0.7},
		" 1 run of accuracy 0 is in the means: it diverged.":     {0.9, 0, 0.7},
		" 2 runs of accuracy 0 are in the means: they diverged.": {0, 0, 0.7}} {
		all := []priced{{accuracy: []float64{0.9}}, {accuracy: accuracy}}
		if got := divergedNote(all); got != want {
			t.Errorf("of %v: %q, want %q", accuracy, got, want)
		}
	}
}

// The ε that a line needs for an accuracy is interpolated between its points, by log ε.
func TestNeeded(t *testing.T) {
	l := plots.Line{X: []float64{0.01, 0.1, 1}, Y: []float64{0.5, 0.7, 0.9}}
	for accuracy, want := range map[float64]string{
		0.4: "ε ≤ 0.01", 0.6: "ε ≈ 0.032", 0.8: "ε ≈ 0.32", 0.95: "–",
	} {
		if got := needed(l, accuracy); got != want {
			t.Errorf("%v: %s, want %s", accuracy, got, want)
		}
	}
}

// In the table, σ is rounded up. So whoever uses the printed σ pays no more than the certified ε next to
// it.
func TestEqualRowsRoundNoiseUp(t *testing.T) {
	for sigma, want := range map[float64]string{19.29962: "19.3", 8.640001: "8.641", 2: "2"} {
		p := priced{accuracy: []float64{0.9}}
		p.Train.NoiseMultiplier = sigma
		if row := equalRows([]priced{p})[1]; row[4] != want {
			t.Errorf("σ = %v is shown as %s, want %s", sigma, row[4], want)
		}
	}
}

// Eleven lines of two models cannot each have a colour and a mark. Those of a method share a colour, and those of a
// model a mark. Lines of a single model stay as they are.
func TestLinesShareTheirMethodsColour(t *testing.T) {
	var lines []plots.Line
	for _, name := range []string{"a: first", "a: second", "b: second", "b: first", "alone"} {
		lines = append(lines, plots.Line{Name: name})
	}
	byMethod(lines)
	for i, want := range []struct{ like, colour int }{{1, 0}, {1, 1}, {2, 1}, {2, 0}} {
		if l := lines[i]; l.Like != want.like || l.Colour != plots.Palette[want.colour] {
			t.Errorf("%s: like line %d, colour %v", l.Name, l.Like, l.Colour)
		}
	}
	if l := lines[4]; l.Like != 0 || l.Colour.A != 0 {
		t.Errorf("%s: like line %d, colour %v", l.Name, l.Like, l.Colour)
	}
}

// Two levels that the paper states can be distinguished without colours.
func TestStatedLevelsAreDistinct(t *testing.T) {
	s := convexExperiment(pool.Convex(train.Ridge, "phishing"))
	levels := s.statedLines([]plots.Line{{X: []float64{1, 2}}})
	if len(levels) != 2 || levels[0].Like == levels[1].Like || levels[0].Colour == levels[1].Colour {
		t.Errorf("%+v", levels)
	}
}

// Series that are already in a folder keep their rows, even if they would be chosen in another way now.
// The manifest says what made them. Published results get their own rows, but not in figures of drawn
// data.
func TestSeriesAreAdded(t *testing.T) {
	s := convexExperiment(pool.Convex(train.Ridge, "phishing"))
	others := []published{{"A", "model", "A 2020", 3, 0.5}}
	figure := func(sizes map[string]int, order ...string) Figure {
		fig := s.pricedFigure("phishing-budget", "a title", func(ctx context.Context, f *figureConfig) ([]priced, error) {
			var all []priced
			for _, name := range order {
				more, err := f.series(ctx, name, 2, func(i int) (train.Spec, error) {
					spec := s.Train
					spec.SampleSize, spec.GradComps = strconv.Itoa(sizes[name]+i), 100
					return spec, nil
				})
				if err != nil {
					return nil, err
				}
				all = append(all, more...)
			}
			return all, nil
		}, others, func(*figureConfig, []priced, *plots.Picture) string { return "" })
		fig.series = true
		return fig
	}
	d := synth.OneHot(rng.New(3), 800)
	d.Synthetic = false
	o := options(t, t.TempDir())
	o.Load = func(context.Context, string) (*data.Dataset, error) { return d, nil }
	o.Add = true
	rowsOf := func(name string, fig Figure) (rows [][]string) {
		t.Helper()
		k, err := readStored(o.Out, fig.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range k.table.Rows {
			if slices.Contains(row, name) {
				rows = append(rows, row)
			}
		}
		return rows
	}
	first := figure(map[string]int{"old": 5, "gone": 9}, "old", "gone")
	if err := Make(t.Context(), []Figure{first}, o); err != nil {
		t.Fatal(err)
	}
	old := rowsOf("old", first)
	if len(old) != 2*o.Seeds || len(rowsOf(publishedSeries, first)) != len(others) {
		t.Fatalf("rows of the first figure: %q", old)
	}
	second := figure(map[string]int{"old": 7, "new": 8}, "new", "old")
	if err := Make(t.Context(), []Figure{second}, o); err != nil {
		t.Fatal(err)
	}
	if got := rowsOf("old", second); !reflect.DeepEqual(got, old) {
		t.Errorf("kept: %q, must be %q", got, old)
	}
	if n := len(rowsOf("new", second)); n != 2*o.Seeds || len(rowsOf("gone", second)) != 0 {
		t.Errorf("%d new rows", n)
	}
	k, err := readStored(o.Out, second.Name)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Kept{{[]string{"old"}, k.Version, k.Made}}; !reflect.DeepEqual(k.Kept, want) || k.Cells != 2*o.Seeds {
		t.Errorf("kept by the manifest: %+v of %d cells, must be %+v", k.Kept, k.Cells, want)
	}
	if _, err := Redraw(t.Context(), []Figure{second}, MakeOptions{Out: o.Out, Load: o.Load}); err != nil {
		t.Error(err)
	}
	o.Seeds++
	if err := Make(t.Context(), []Figure{second}, o); err == nil || !strings.Contains(err.Error(), "seeds") {
		t.Errorf("other seeds: error %v", err)
	}
	if err := Make(t.Context(), []Figure{s.utilityFigure()}, o); err == nil || !strings.Contains(err.Error(), "add = true") {
		t.Errorf("a utility graph: error %v", err)
	}
	d.Synthetic = true
	o.Out = t.TempDir()
	if err := Make(t.Context(), []Figure{second}, o); err != nil || len(rowsOf(publishedSeries, second)) > 0 {
		t.Errorf("published results next to drawn data, error %v", err)
	}
}

// The committed page has the table of what a budget buys, with published results.
func TestTableOfBudgets(t *testing.T) {
	made, err := manifests("../results", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := writeBudgets(&text, "../results", made); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../results/README.md")
	if err != nil || text.Len() == 0 || !strings.Contains(string(page), text.String()) {
		t.Errorf("error %v; the page lacks %s", err, text.String())
	}
	for _, all := range publishedResults {
		for _, p := range all {
			if !strings.Contains(text.String(), p.model+" |") || !strings.Contains(text.String(), report.Fixed(100*p.accuracy, 1)) {
				t.Errorf("%s, %s is not in the table", p.by, p.model)
			}
		}
	}
}
