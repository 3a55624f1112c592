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
	"strings"
	"sync/atomic"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/rng"
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
	r, err := p.Train(context.Background(), sim.Perf{})
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
	for _, want := range []string{"model", "clients = 0", "sample size", "delay", "partition", "sampling", "runner", "duration = \"x\"", "duration = \"y\"", "delta = 2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	s.Clients = 2
	if _, err := s.Prepare(drawn(), nil); err == nil || !strings.Contains(err.Error(), "clipping norm = -1") || !strings.Contains(err.Error(), "eta0 = 0") {
		t.Errorf("error lacks the training parameters:\n%v", err)
	}
}

func TestSelect(t *testing.T) {
	all, err := Select(nil)
	if err != nil || len(all) != 12 {
		t.Fatalf("%d figures, error %v; want 12: 2 data sets × 2 models × 3", len(all), err)
	}
	some, err := Select([]string{"phishing-logreg-*", "mushrooms-logreg-plain-epsilon"})
	if err != nil || len(some) != 7 {
		t.Errorf("%d figures, error %v; want 7", len(some), err)
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
		Out: dir, Seeds: 2, Quick: true, Workers: 2,
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
		if b := img.Bounds(); b.Dx() < 900 || b.Dy() < 600 {
			t.Errorf("%s: picture of %v", f.Name, b)
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name, tableFile))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil || len(rows) < 100 {
			t.Errorf("%s: %d rows of data, error %v", f.Name, len(rows), err)
		}
		text, err = os.ReadFile(filepath.Join(dir, f.Name, manifestFile))
		if err != nil {
			t.Fatal(err)
		}
		var m Manifest
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		if m.Figure != f.Name || !m.Data.Synthetic || !m.Quick || m.Seeds != 2 || m.Data.SHA256 != drawn().Hash() {
			t.Errorf("%s: manifest %+v", f.Name, m)
		}
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
			out = append(out, cell{spec: i / 2 * 2, run: func(context.Context) (any, error) { // each spec twice
				if computed.Add(1) == stopAt {
					ctx()
				}
				return i / 2 * 2 * 10, nil
			}})
		}
		return out
	}
	g := grid{store: store{dir}, workers: 1}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := g.run(ctx, cells(cancel, 4)); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(kept) != 4 {
		t.Fatalf("%d cells kept, error %v; want 4", len(kept), err)
	}
	results, err := g.run(context.Background(), cells(func() {}, -1))
	if err != nil {
		t.Fatal(err)
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

func TestDamagedCellIsComputedAgain(t *testing.T) {
	dir := t.TempDir()
	c := cell{spec: "x", run: func(context.Context) (any, error) { return 7, nil }}
	key, err := c.key()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, key+".json"), []byte(`{"half`), 0o666); err != nil {
		t.Fatal(err)
	}
	results, err := grid{store: store{dir}, workers: 1}.run(context.Background(), []cell{c})
	if err != nil || string(results[0]) != "7" {
		t.Errorf("result %s, error %v", results, err)
	}
}

func TestFailedCellNamesItsCause(t *testing.T) {
	fault := errors.New("planted fault")
	c := cell{spec: 1, run: func(context.Context) (any, error) { return nil, fault }}
	if _, err := (grid{store: store{t.TempDir()}, workers: 2}).run(context.Background(), []cell{c}); !errors.Is(err, fault) {
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
	u, err := s.Run(context.Background(), drawn(), sim.Perf{})
	if err != nil {
		t.Fatal(err)
	}
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
