package experiments

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/results"
	"proactivedp/internal/testkit"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// A README.md that the program did not write is not replaced by the index.
func TestIndexReplacesNobodysFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, indexFile)
	if err := os.WriteFile(path, []byte("# Mine\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	figures, err := Select([]string{"phishing-logreg-sample-size"})
	if err != nil {
		t.Fatal(err)
	}
	if err := Make(context.Background(), figures, options(t, dir)); err == nil {
		t.Error("accepted")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "# Mine\n" {
		t.Errorf("the file is now %q, error %v", text, err)
	}
}

func TestSelect(t *testing.T) {
	all, err := Select(nil)
	if err != nil || len(all) != 24 {
		t.Fatalf("%d figures, error %v; want 24: 2 data sets × 2 models × 4, and 8 of delays", len(all), err)
	}
	if every, err := Select([]string{"*"}); err != nil || len(every) != 57 {
		t.Errorf("%d figures, error %v; want 57: 4 of each network, 1 of step sizes, 3 of delays and 2 × 2 of runners, 2 of budgets of "+
			"4 settings, 2 of scattering features, 2 of ways of sampling, 3 of w*, 2 courses", len(every), err)
	}
	some, err := Select([]string{"phishing-logreg-*", "mushrooms-logreg-plain-epsilon"})
	if err != nil || len(some) != 20 {
		t.Errorf("%d figures, error %v; want 20", len(some), err)
	}
	_, err = Select([]string{"phishing-logreg-utlity", "mnist"})
	if err == nil || !strings.Contains(err.Error(), "did you mean phishing-logreg-utility?") ||
		!strings.Contains(err.Error(), "did you mean mnist-") {
		t.Errorf("error %v should name the nearest figure of each", err)
	}
	if _, err := Select([]string{"x"}); err == nil || !strings.Contains(err.Error(), "figures --list lists them") {
		t.Errorf("error %v should say what lists the figures", err)
	}
	if _, err := Select([]string{"[", "phishing-*"}); err == nil {
		t.Error("a malformed pattern was accepted")
	}
}

func options(t *testing.T, dir string) MakeOptions {
	t.Helper()
	return MakeOptions{
		Out: dir, Seeds: 2, Scale: 0.05, Workers: 2,
		Load: func(context.Context, string) (*data.Dataset, error) { return drawn(), nil },
	}
}

func TestMakeWritesPictureDataAndManifest(t *testing.T) {
	figures, err := Select([]string{"phishing-logreg-*"})
	if err != nil {
		t.Fatal(err)
	}
	// The drawn set has 320 training rows: sample sizes above are refused, so
	// the ε figure is left to the real data. Two are of the real time that runs take.
	figures = slices.DeleteFunc(figures, func(f Figure) bool {
		return strings.HasSuffix(f.Name, "epsilon") || strings.HasSuffix(f.Name, "runners") ||
			strings.HasSuffix(f.Name, "throughput") || (testing.Short() || testkit.Sweeps(t) == 1) && !oneOfEachKind(f.Name)
	})
	dir := t.TempDir()
	o := options(t, dir)
	o.Command = func(figure Figure, _ bool) string { return "made " + figure.Name }
	if err := Make(context.Background(), figures, o); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(dir, indexFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		row := fmt.Sprintf("synthetic stand-in**, **0.05 of K** | `made %[1]s` | [picture](%[1]s/figure.png), "+
			"[data](%[1]s/data.csv), [manifest](%[1]s/manifest.json) |", f.Name)
		if !strings.Contains(string(index), row) {
			t.Errorf("the index lacks %s", row)
		}
		if f.Equal { // its picture has measured times, which are other ones each time
			forgetTimes(t, o, f)
			if _, err := Redraw(t.Context(), []Figure{f}, MakeOptions{Out: dir, Load: o.Load}); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name, results.PictureFile))
		if err != nil {
			t.Fatal(err)
		}
		if oneOfEachKind(f.Name) {
			testkit.Golden(t, f.Name, func(w io.Writer) error {
				_, err := w.Write(text)
				return err
			})
		}
		text, err = os.ReadFile(filepath.Join(dir, f.Name, results.TableFile))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil || len(rows) < 21 {
			t.Errorf("%s: %d rows of data, error %v", f.Name, len(rows), err)
		}
		if strings.HasSuffix(f.Name, "sample-size") {
			checkCertifiedColumns(t, rows)
		}
		text, err = os.ReadFile(filepath.Join(dir, f.Name, results.ManifestFile))
		if err != nil {
			t.Fatal(err)
		}
		var m Manifest
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		seeds := 2
		if strings.HasSuffix(f.Name, "-timeline") {
			seeds = 1 // the first alone
		}
		if m.Figure != f.Name || !m.Data.Synthetic || m.Scale != 0.05 || m.Seeds != seeds ||
			m.Data.SHA256 != drawn().Hash() {
			t.Errorf("%s: manifest %+v", f.Name, m)
		}
	}
}

// oneOfEachKind reports whether a figure is the one of its kind that is looked at.
func oneOfEachKind(figure string) bool {
	return !strings.Contains(figure, "plain") && !strings.Contains(figure, "without-noise") && !strings.Contains(figure, "skewed")
}

// checkCertifiedColumns checks that the certified ε is the smaller where both are given.
func checkCertifiedColumns(t *testing.T, rows [][]string) {
	t.Helper()
	number := func(row []string, column string) (float64, bool) {
		text := row[slices.Index(rows[0], column)]
		if text == "" {
			return 0, false
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v, true
	}
	both := 0
	for _, row := range rows[1:] {
		for _, view := range []string{"per_client", "per_record"} {
			certified, ok := number(row, "certified_epsilon_"+view)
			if !ok {
				t.Fatalf("nothing is certified in %v", row)
			}
			if closed, ok := number(row, "epsilon_"+view); ok {
				if both++; certified > closed {
					t.Errorf("%s: certified %v, closed form %v", view, certified, closed)
				}
			}
		}
	}
	if both == 0 {
		t.Error("no row has both")
	}
}

func TestUnwritableFolderIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	figures, err := Select([]string{"phishing-logreg-utility"})
	if err != nil {
		t.Fatal(err)
	}
	if err := Make(context.Background(), figures, options(t, filepath.Join(file, "out"))); err == nil {
		t.Error("a folder below a file was written to")
	}
}

// Utility at σ = 0 is that of w* itself, and falls with σ.
func TestUtility(t *testing.T) {
	spec := smallSpec()
	spec.GradComps, spec.Beta = 6000, 0
	s := pool.UtilitySpec{Train: spec, Sigmas: []float64{0, 200}, Draws: 10}
	d := drawn()
	d.Note = "a note on the rows"
	r, err := Graph(context.Background(), s, train.NewSource(d), []float64{0.1, 0.2}, sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Graph(t.Context(), s, train.NewSource(d), nil, sim.Perf{}, nil); err == nil ||
		!strings.Contains(err.Error(), "clips: none given") {
		t.Errorf("a graph without lines: %+v, %v", r, err)
	}
	if len(r.Lines) != 2 || r.Lines[0].Clip != 0.1 || r.Lines[1].Clip != 0.2 || r.TestRows != 80 || !r.Synthetic ||
		r.DataNote != d.Note {
		t.Errorf("report %+v", r)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(),
		"on the test set: 80 rows of synth-drawn (SYNTHETIC data); a note on the rows\n") {
		t.Errorf("error %v:\n%s", err, text.String())
	}
	u := r.Lines[0]
	if u.Points[0].Fraction != 1 || u.Points[0].FractionSD != 0 {
		t.Errorf("without noise the fraction is %v ± %v", u.Points[0].Fraction, u.Points[0].FractionSD)
	}
	if u.Points[1].Fraction > 0.85 {
		t.Errorf("noise of 200 times the clipping norm leaves %v of %v", u.Points[1].Fraction, u.Accuracy)
	}
	if err := (pool.UtilitySpec{Sigmas: []float64{-1}, Draws: 0}).Validate(); err == nil ||
		!strings.Contains(err.Error(), "draws") || !strings.Contains(err.Error(), "sigma") {
		t.Errorf("error %v should name sigma and draws", err)
	}
}

// The function that loads the data must be given. An unknown figure is an error.
func TestFiguresNeedWhatTheyAreMadeOf(t *testing.T) {
	figures, err := Select([]string{"phishing-logreg-utility"})
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, t.TempDir())
	_, none := Redraw(t.Context(), figures, MakeOptions{Out: o.Out})
	without := o
	without.Load = nil
	for want, err := range map[string]error{
		"load = nil, must be given":          none,
		"load = nil":                         Make(t.Context(), figures, without),
		`figure = "own", must be one of Fig`: Make(t.Context(), []Figure{{Name: "own"}}, o),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Numbers with which a figure would never be finished are refused at once.
func TestHugeNumbersAreRefused(t *testing.T) {
	if (pool.UtilitySpec{Sigmas: []float64{1}, Draws: math.MaxInt}).Validate() == nil {
		t.Error("draws: accepted")
	}
	if (MakeOptions{Out: "x", Seeds: math.MaxInt}).Validate() == nil {
		t.Error("seeds: accepted")
	}
}
