package experiments

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
)

// drawn is a small separable data set of one-hot rows.
func drawn() *data.Dataset {
	s := rng.New(3).Stream(rng.Synthetic, 9, 0)
	d := &data.Dataset{Name: "synth-drawn", Features: 20, Classes: 2, Start: []int{0}, Synthetic: true}
	for range 400 {
		z := 0.0
		for a := range 10 {
			level := s.IntN(2)
			z += float64(2*level-1) * float64(a%3)
			d.Index = append(d.Index, int32(2*a+level))
			d.Value = append(d.Value, 0.3)
		}
		d.Start = append(d.Start, len(d.Index))
		label := int32(0)
		if z+s.Normal() > 0 {
			label = 1
		}
		d.Label = append(d.Label, label)
	}
	return d
}

func smallSpec() TrainSpec {
	s := DefaultTrainSpec()
	s.Data, s.GradComps, s.SampleSize = "synth-drawn", 300, "6"
	return s
}

func TestTrainReports(t *testing.T) {
	s := smallSpec()
	p, err := s.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Train(context.Background(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Rounds != 50 || r.Updates != 250 || r.TestRows != 80 || len(r.ParamsSHA256) != 64 || !r.Synthetic {
		t.Errorf("report %+v", r)
	}
	client, record := r.Privacy.PerClient, r.Privacy.PerRecord
	if client.Rounds != 50 || record.Rounds != 250 || client.DatasetSize != 320 {
		t.Errorf("replicate: %d rounds per client and %d per record of N = %d, want 50, 250 and 320", client.Rounds, record.Rounds, client.DatasetSize)
	}
	if planned := p.PlannedPrivacy(); !equalJSON(t, planned, r.Privacy) {
		t.Errorf("planned privacy %+v, run %+v", planned, r.Privacy)
	}
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(x) == string(y)
}

// Law 3: with disjoint shards a record pays for its one client; with replicate
// for all of them.
func TestWhoPays(t *testing.T) {
	s := smallSpec()
	s.NoiseMultiplier, s.GradComps, s.SampleSize = 60, 600, "1"
	epsilon := func() (client, record float64) {
		p, err := s.Prepare(drawn(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r := p.PlannedPrivacy()
		if r.PerClient.EpsilonUpper == nil || r.PerRecord.EpsilonUpper == nil {
			t.Fatalf("not covered: %s; %s", r.PerClient.Reason, r.PerRecord.Reason)
		}
		return *r.PerClient.EpsilonUpper, *r.PerRecord.EpsilonUpper
	}
	if client, record := epsilon(); record <= client {
		t.Errorf("replicate: ε per record %v, per client %v", record, client)
	}
	s.Partition = string(data.Shard)
	if client, record := epsilon(); record != client {
		t.Errorf("shard: ε per record %v, per client %v", record, client)
	}
}

func TestWhatTheClosedFormDoesNotCover(t *testing.T) {
	for name, change := range map[string]func(*TrainSpec){
		"no noise":     func(s *TrainSpec) { s.NoiseMultiplier = 0 },
		"fixed":        func(s *TrainSpec) { s.Sampling = "fixed" },
		"little noise": func(s *TrainSpec) { s.NoiseMultiplier = 1.2 },
	} {
		s := smallSpec()
		change(&s)
		p, err := s.Prepare(drawn(), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r := p.PlannedPrivacy(); r.EpsilonUpper != nil || r.Reason == "" {
			t.Errorf("%s: ε %v, reason %q: want none and a reason", name, r.EpsilonUpper, r.Reason)
		}
	}
}

func TestPrepareReportsEveryProblem(t *testing.T) {
	s := TrainSpec{
		Model: "perceptron", Clients: 0, GradComps: 0, SampleSize: "x", NoiseMultiplier: math.NaN(), Clip: -1,
		Eta0: 0, Beta: -1, Schedule: "cubic", Delay: "-1", Partition: "halves", Sampling: "some",
		Runner: "real", Compute: "x", Latency: "y", Delta: 2,
	}
	_, err := s.Prepare(drawn(), nil)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"model", "clients = 0", "sample size", "delay", "partition", "sampling", "runner", "duration = \"x\"", "duration = \"y\"",
		"delta = 2", "clipping norm = -1", "noise multiplier = NaN", "eta0 = 0", "beta = -1", "schedule", "gradient computations per client = 0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

// Numbers that would fill the memory or never end are refused at once.
func TestHugeNumbersAreRefused(t *testing.T) {
	for name, change := range map[string]func(*TrainSpec){
		"rounds":         func(s *TrainSpec) { s.GradComps, s.SampleSize = math.MaxInt, "1" },
		"rounds, listed": func(s *TrainSpec) { s.GradComps, s.SampleSize = math.MaxInt, "list:1" },
		"clients":        func(s *TrainSpec) { s.Clients = math.MaxInt },
		"clock":          func(s *TrainSpec) { s.Compute, s.GradComps = "constant:1h", 3_000_000 },
		"clip":           func(s *TrainSpec) { s.Clip = 1e-300 },
		"eta0":           func(s *TrainSpec) { s.Eta0 = 1e300 },
	} {
		s := smallSpec()
		change(&s)
		if _, err := s.Prepare(drawn(), nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if (UtilitySpec{Sigmas: []float64{1}, Draws: math.MaxInt}).Validate() == nil {
		t.Error("draws: accepted")
	}
	if (MakeOptions{Out: "x", Seeds: math.MaxInt}).Validate() == nil {
		t.Error("seeds: accepted")
	}
}

// A run whose parameters end up infinite has failed; no report is made of it.
func TestDivergenceIsAnError(t *testing.T) {
	s := smallSpec()
	s.GradComps, s.NoiseMultiplier, s.Clip, s.Eta0 = 6, 1e15, 1e14, 1e10
	p, err := s.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Train(context.Background(), sim.Perf{}, nil); !errors.Is(err, models.ErrDiverged) {
		t.Errorf("error %v, want ErrDiverged", err)
	}
}

// Golden: what these specs mean. Where a change moves them, raise cellVersion
// and make the results anew.
func TestSpecsMeanTheseBits(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*TrainSpec)
		want   string
	}{
		"default":     {func(*TrainSpec) {}, "bae67239965b7987"},
		"plain":       {func(s *TrainSpec) { s.Model, s.Schedule = Plain, "sqrt" }, "4894a71a219de8a3"},
		"fixed":       {func(s *TrainSpec) { s.Sampling = "fixed" }, "41737fdee825ceb5"},
		"linear":      {func(s *TrainSpec) { s.SampleSize = "linear:2,0.5" }, "609f8d40f640fe5c"},
		"shard":       {func(s *TrainSpec) { s.Partition = "shard" }, "35b1ee453893a6af"},
		"exponential": {func(s *TrainSpec) { s.Latency, s.Delay = "exponential:1ms", "3" }, "bd5feaab915186fb"},
	} {
		s := smallSpec()
		c.change(&s)
		p, err := s.Prepare(drawn(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(context.Background(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.ParamsSHA256[:16]; got != c.want {
			t.Errorf("%s: parameters hash to %s, want %s", name, got, c.want)
		}
	}
}

// A README.md that somebody wrote is not taken for the index.
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
	if err != nil || len(all) != 19 {
		t.Fatalf("%d figures, error %v; want 19: 2 data sets × 2 models × 3, and 7 of delays", len(all), err)
	}
	if every, err := Select([]string{"*"}); err != nil || len(every) != 28 {
		t.Errorf("%d figures, error %v; want 28: 3 of each network and 3 of delays, too", len(every), err)
	}
	some, err := Select([]string{"phishing-logreg-*", "mushrooms-logreg-plain-epsilon"})
	if err != nil || len(some) != 14 {
		t.Errorf("%d figures, error %v; want 14", len(some), err)
	}
	if _, err := Select([]string{"mnist"}); err == nil || !strings.Contains(err.Error(), "phishing-logreg-utility") {
		t.Errorf("error %v should list the figures", err)
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
	// the ε figure is left to the real data.
	figures = slices.DeleteFunc(figures, func(f Figure) bool { return strings.HasSuffix(f.Name, "epsilon") })
	dir := t.TempDir()
	if err := Make(context.Background(), figures, options(t, dir)); err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		file, err := os.Open(filepath.Join(dir, f.Name, pictureFile))
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(file)
		file.Close()
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		tables := strings.HasSuffix(f.Name, "sample-size")
		if b := img.Bounds(); b.Dx() < 900 || b.Dy() < 600 || tables && b.Dy() < 900 {
			t.Errorf("%s: picture of %v", f.Name, b)
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name, tableFile))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil || len(rows) < 40 {
			t.Errorf("%s: %d rows of data, error %v", f.Name, len(rows), err)
		}
		if tables {
			checkCertifiedColumns(t, rows)
		}
		text, err = os.ReadFile(filepath.Join(dir, f.Name, manifestFile))
		if err != nil {
			t.Fatal(err)
		}
		var m Manifest
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		if m.Figure != f.Name || !m.Data.Synthetic || m.Scale != 0.05 || m.Seeds != 2 || m.Data.SHA256 != drawn().Hash() {
			t.Errorf("%s: manifest %+v", f.Name, m)
		}
	}
}

// Where both give an ε, the certified one is the smaller.
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

// An interrupted grid keeps what was finished, and goes on from there to the
// same results.
func TestGridGoesOnAfterAnInterruption(t *testing.T) {
	dir := t.TempDir()
	var computed atomic.Int32
	cells := func(ctx context.CancelFunc, stopAt int32) []cell {
		var out []cell
		for i := range 20 {
			out = append(out, cell{spec: i / 2 * 2, cost: free, run: func(context.Context, sim.Perf, func(float64), Keep) (any, error) { // each spec twice
				if computed.Add(1) == stopAt {
					ctx()
				}
				return i / 2 * 2 * 10, nil
			}, check: checkInt})
		}
		return out
	}
	g := grid{store: store{dir}, workers: 1}
	ctx, cancel := context.WithCancel(context.Background())
	if _, _, err := g.run(ctx, cells(cancel, 4)); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(kept) != 4 {
		t.Fatalf("%d cells kept, error %v; want 4", len(kept), err)
	}
	results, again, err := g.run(context.Background(), cells(func() {}, -1))
	if err != nil || again != 6 {
		t.Fatalf("%d cells computed, error %v; want the 6 that were left", again, err)
	}
	if got := computed.Load(); got != 10 {
		t.Errorf("%d cells computed in both runs, want each of the 10 once", got)
	}
	for i, r := range results {
		if got, err := decode[int](r); err != nil || got != i/2*2*10 {
			t.Errorf("cell %d: %d, error %v", i, got, err)
		}
	}
}

// free is the cost of a cell that takes nothing.
func free(int) (cost, error) { return cost{}, nil }

func checkInt(text json.RawMessage) error {
	_, err := decode[int](text)
	return err
}

func TestDamagedCellIsComputedAgain(t *testing.T) {
	for _, damage := range []string{`{"half`, `"text"`, ``} {
		dir := t.TempDir()
		c := cell{spec: "x", cost: free, run: func(context.Context, sim.Perf, func(float64), Keep) (any, error) { return 7, nil }, check: checkInt}
		key, err := c.key()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, key+".json"), []byte(damage), 0o666); err != nil {
			t.Fatal(err)
		}
		results, _, err := grid{store: store{dir}, workers: 1}.run(context.Background(), []cell{c})
		if err != nil || string(results[0]) != "7" {
			t.Errorf("%q: result %s, error %v", damage, results, err)
		}
	}
}

// Cells of figures are refused unless they have every point.
func TestFigureCellsAreChecked(t *testing.T) {
	d := drawn()
	curve := curveCell(smallSpec(), 10, d, d.Hash())
	utility := utilityCell(UtilitySpec{Train: smallSpec(), Sigmas: []float64{1}, Draws: 1}, d, d.Hash())
	for name, c := range map[string]cell{"curve": curve, "utility": utility} {
		for _, text := range []string{`null`, `{}`, `5`, `{"target":[1]}`, `{"points":[]}`} {
			if c.check(json.RawMessage(text)) == nil {
				t.Errorf("%s: %s was taken for a result", name, text)
			}
		}
		result, err := c.run(context.Background(), sim.Perf{}, func(float64) {}, Keep{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.check(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFailedCellNamesItsCause(t *testing.T) {
	fault := errors.New("planted fault")
	c := cell{spec: 1, cost: free, run: func(context.Context, sim.Perf, func(float64), Keep) (any, error) { return nil, fault }, check: checkInt}
	if _, _, err := (grid{store: store{t.TempDir()}, workers: 2}).run(context.Background(), []cell{c}); !errors.Is(err, fault) {
		t.Errorf("error %v, want the fault", err)
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
	train := smallSpec()
	train.GradComps, train.Beta = 6000, 0
	s := UtilitySpec{Train: train, Sigmas: []float64{0, 200}, Draws: 10}
	d := drawn()
	d.Note = "a note on the rows"
	r, err := s.Graph(context.Background(), d, []float64{0.1, 0.2}, sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Lines) != 2 || r.Lines[0].Clip != 0.1 || r.Lines[1].Clip != 0.2 || r.TestRows != 80 || !r.Synthetic || r.DataNote != d.Note {
		t.Errorf("report %+v", r)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "on the test set: 80 rows of synth-drawn (SYNTHETIC data); a note on the rows\n") {
		t.Errorf("error %v:\n%s", err, text.String())
	}
	u := r.Lines[0]
	if u.Points[0].Fraction != 1 || u.Points[0].FractionSD != 0 {
		t.Errorf("without noise the fraction is %v ± %v", u.Points[0].Fraction, u.Points[0].FractionSD)
	}
	if u.Points[1].Fraction > 0.85 {
		t.Errorf("noise of 200 times the clipping norm leaves %v of %v", u.Points[1].Fraction, u.Accuracy)
	}
	if err := (UtilitySpec{Sigmas: []float64{-1}, Draws: 0}).Validate(); err == nil || !strings.Contains(err.Error(), "draws") || !strings.Contains(err.Error(), "sigma") {
		t.Errorf("error %v should name sigma and draws", err)
	}
}

func TestWrapKeepsEveryWord(t *testing.T) {
	text := "one two three four\nfive " + strings.Repeat("x", 40)
	lines := wrap(text, func(s string) bool { return len(s) <= 10 })
	if got, want := strings.Join(strings.Fields(strings.Join(lines, " ")), " "), strings.Join(strings.Fields(text), " "); got != want {
		t.Errorf("wrapped to %q", lines)
	}
}
