package experiments

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/rng"
	"proactivedp/sim"
)

// digits are drawn images like MNIST's, 6 of 7 for training.
func digits(rows int) *data.Dataset { return synth.Digits(rng.New(1), rows) }

// smallLeNet trains on few of them in no time.
func smallLeNet() TrainSpec {
	s := PaperTrainSpec("", "synth-mnist:350")
	s.GradComps, s.SampleSize = 60, "20"
	return s
}

func TestNetworksNeedTheirImages(t *testing.T) {
	for _, c := range []struct {
		model string
		d     *data.Dataset
		want  string
	}{
		{Ridge, digits(350), `model = "logreg" needs sparse rows in 2 classes, synth-mnist has 1×28×28 pixels in 10`},
		{Plain, digits(350), `model = "logreg-plain" needs`},
		{LeNet, drawn(), `model = "lenet" needs 1×28×28 pixels in 10 classes, synth-drawn has 20 features in 2`},
		{LeNetReLU, synth.Objects(rng.New(1), 60), `synth-cifar10 has 3×32×32 pixels in 10`},
		{AlexNet, digits(350), `model = "alexnet" needs 3×32×32 pixels in 10 classes`},
	} {
		s := smallLeNet()
		s.Model = c.model
		if _, err := s.Prepare(c.d, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s: error %v, want %s", c.model, c.d.Name, err, c.want)
		}
	}
}

// Tables "Basic parameter setting for non-convex problem with MNIST data set" and
// "… for CIFAR10 data set", and what is taken if only one of model and data is
// said.
func TestPaperSettings(t *testing.T) {
	for _, c := range []struct {
		model, data         string
		wantModel, wantData string
		k                   int
		size                string
		sigma, clip         float64
	}{
		{"", "", Ridge, "phishing", 50_000, "26", 19.29962, 0.1},
		{"", "own.libsvm", Ridge, "own.libsvm", 50_000, "26", 19.29962, 0.1},
		{Plain, "mushrooms", Plain, "mushrooms", 50_000, "26", 19.29962, 0.1},
		{"", "mnist", mnistModel, "mnist", 360_000, "370", 12.10881, 0.025},
		{LeNetReLU, "", LeNetReLU, "mnist", 360_000, "370", 12.10881, 0.025},
		{LeNet, "synth-mnist:700", LeNet, "synth-mnist:700", 360_000, "370", 12.10881, 0.025},
		{AlexNet, "", AlexNet, "cifar10", 350_000, "689", 6.572, 0.025},
		{"", "synth-cifar10", AlexNet, "synth-cifar10", 350_000, "689", 6.572, 0.025},
		{"tree", "", "tree", "phishing", 50_000, "26", 19.29962, 0.1},
	} {
		s := PaperTrainSpec(c.model, c.data)
		if s.Model != c.wantModel || s.Data != c.wantData || s.GradComps != c.k || s.SampleSize != c.size ||
			s.NoiseMultiplier != c.sigma || s.Clip != c.clip || s.Clients != 5 || s.Delay != "1" || s.Delta != 0 {
			t.Errorf("model %q, data %q: %+v", c.model, c.data, s)
		}
	}
	if s := PaperTrainSpec(AlexNet, ""); s.Schedule != string(sim.SqrtDecay) {
		t.Errorf("AlexNet: schedule %s, want that of the non-convex case", s.Schedule)
	}
}

// The members of a network's figures are the paper's 7 sizes, and 7 budgets with
// a run without noise.
func TestNetworkFiguresHaveThePapersMembers(t *testing.T) {
	f := &frame{data: digits(3500), hash: "x", seeds: 2, scale: 0.5}
	for _, c := range []struct {
		figure Figure
		cells  int
	}{
		{mnistSetting(LeNet).sampleSizeFigure(), 7 * 2},
		{mnistSetting(LeNet).epsilonFigure(), 8 * 2},
		{mnistSetting(LeNet).utilityFigure(), 4 * 2},
		{cifarSetting().sampleSizeFigure(), 7 * 2},
		{cifarSetting().epsilonFigure(), 8 * 2},
	} {
		if cells := c.figure.cells(f); len(cells) != c.cells {
			t.Errorf("%s: %d cells, want %d", c.figure.Name, len(cells), c.cells)
		}
	}
	for _, c := range mnistSetting(LeNet).sampleSizeFigure().cells(f) {
		if k := c.spec.(curveSpec).Train.GradComps; k != 180_000 {
			t.Errorf("K = %d at half of the paper's", k)
		}
	}
}

// The last records of the training set are judged by, and no others: neither
// trained on nor of the test set.
func TestHoldout(t *testing.T) {
	d := digits(350) // 300 for training
	s := smallLeNet()
	s.Holdout = 40
	p, err := s.Prepare(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Test.Rows; len(got) != 40 || got[0] != 260 || got[39] != 299 {
		t.Errorf("judged by rows %v, want 260 to 299", got)
	}
	for _, part := range p.Config.Rows {
		if n := part.Len(); n != 260 || slices.Max(part.Rows) != 259 {
			t.Errorf("a client holds %d rows up to %d, want the first 260", n, slices.Max(part.Rows))
		}
	}
	if p.Config.Mechanism.DatasetSize != 260 || p.Delta != 1.0/260 {
		t.Errorf("accounted for N = %d, δ = %v", p.Config.Mechanism.DatasetSize, p.Delta)
	}
	r, err := p.Train(t.Context(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.TestRows != 40 || r.JudgedOn != "held-out training rows" {
		t.Errorf("%d rows, %s", r.TestRows, r.JudgedOn)
	}
	for _, bad := range []int{-1, 300} {
		s.Holdout = bad
		if _, err := s.Prepare(d, nil); err == nil || !strings.Contains(err.Error(), "holdout") {
			t.Errorf("holdout %d: error %v", bad, err)
		}
	}
}

// A forecast is of the run that follows: its rounds, its privacy.
func TestForecastIsOfTheRun(t *testing.T) {
	p, err := smallLeNet().Prepare(digits(350), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.Forecast(sim.Perf{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Train(t.Context(), sim.Perf{Workers: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Rounds != r.Rounds || f.Updates != r.Updates || f.GradComps != r.GradComps || f.Remainder != r.Remainder || !equalJSON(t, f.Privacy, r.Privacy) {
		t.Errorf("forecast %+v, run %+v", f, r)
	}
	// 61,706 parameters; 1,131,960 multiplications forward, backward and of the weights.
	if f.Parameters != 61_706 || f.FLOPs != 2*1_131_960 || f.TotalFLOPs != f.FLOPs*60*5 {
		t.Errorf("%d parameters, %v FLOP a gradient, %v in all", f.Parameters, f.FLOPs, f.TotalFLOPs)
	}
	if f.MemoryBytes != total(f.Memory) || f.Computing != 2 || !(f.Seconds > 0) || math.IsInf(f.Seconds, 0) {
		t.Errorf("%+v", f)
	}
	var text strings.Builder
	if err := f.WriteText(&text); err != nil || !strings.Contains(text.String(), "nothing is trained") || !strings.Contains(text.String(), "synth-mnist:350 (SYNTHETIC data)") || strings.Contains(text.String(), "0 MiB") {
		t.Errorf("error %v:\n%s", err, text.String())
	}
}

// The time of a forecast is that of the run: of rounds at their mean size, of
// whole blocks of examples, on no more processors than there are. Both are timed
// here, so the bounds are wide.
func TestForecastOfTheTime(t *testing.T) {
	d := digits(700)
	forecast := func(size string, workers int) *Forecast {
		s := smallLeNet()
		s.SampleSize, s.GradComps = size, 40
		p, err := s.Prepare(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := p.Forecast(sim.Perf{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	one, twenty, growing := forecast("1", 1), forecast("20", 1), forecast("list:1,39", 1)
	if r := twenty.Speed / one.Speed; r < 3 {
		t.Errorf("a gradient in samples of 20 is %.2g times as fast as alone, want at least 3: a block of 16 costs about as much as one of its examples", r)
	}
	if r := growing.Speed / twenty.Speed; r < 0.34 || r > 3 {
		t.Errorf("sizes 1 and 39: %.2g times the speed of size 20, want about as much", r)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f := forecast("20", 4)
	if least := 5 * float64(f.GradComps) / f.Speed; f.Computing != 4 || f.Seconds < least {
		t.Errorf("%d gradients at a time on one processor: %v s, want at least %v", f.Computing, f.Seconds, least)
	}
}

// AlexNet with 5 clients is forecast to stay below 4 GiB with either runner.
func TestAlexNetFits(t *testing.T) {
	s := PaperTrainSpec(AlexNet, "synth-cifar10:60")
	s.SampleSize = "40"
	for _, s.Runner = range []string{VirtualRunner, HogwildRunner} {
		p, err := s.Prepare(synth.Objects(rng.New(1), 60), nil)
		if err != nil {
			t.Fatal(err)
		}
		if bytes := total(p.memory(sim.Perf{Workers: 2})); bytes > 3<<30 {
			t.Errorf("%s: %s", s.Runner, mebibytes(bytes))
		}
	}
}

func TestFigureOfANetwork(t *testing.T) {
	figures, err := Select([]string{"mnist-*-sample-size"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	d := digits(700)
	d.Note = "a note on the rows"
	o := MakeOptions{Out: dir, Seeds: 1, Scale: 0.0011, Workers: 2, Load: func(context.Context, string) (*data.Dataset, error) { return d, nil }}
	if err := Make(t.Context(), figures, o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, figures[0].Name, manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if m.Scale != 0.0011 || m.Data.Train != 600 || m.Data.Note != d.Note || !strings.Contains(m.Command, "--scale 0.0011") {
		t.Errorf("manifest %+v", m)
	}
	index, err := os.ReadFile(filepath.Join(dir, indexFile))
	if err != nil || !strings.Contains(string(index), "0.0011 of K") {
		t.Errorf("error %v, index\n%s", err, index)
	}
}

// Cells too large to lie side by side run one after another, each with all
// workers; the others first, all at a time with one worker each.
func TestLargeCellsRunAlone(t *testing.T) {
	type seen struct{ workers, at int }
	var order []seen
	underWay := make(chan int, 1)
	underWay <- 0
	of := func(name string, memory int64) cell {
		return cell{
			spec: name, check: checkInt,
			cost: func(int) (cost, error) { return cost{work: 10, memory: memory}, nil },
			run: func(_ context.Context, perf sim.Perf, progress func(float64), _ Keep) (any, error) {
				n := <-underWay + 1
				order = append(order, seen{perf.Workers, n})
				underWay <- n
				progress(0.5)
				underWay <- <-underWay - 1
				return 1, nil
			},
		}
	}
	cells := []cell{of("a", 2<<30), of("b", 1), of("c", memoryLimit), of("d", 1<<20)}
	if _, _, err := (grid{store: store{t.TempDir()}, workers: 2}).run(t.Context(), cells); err != nil {
		t.Fatal(err)
	}
	if len(order) != 4 {
		t.Fatalf("%d cells ran", len(order))
	}
	for i, s := range order {
		if large := i >= 2; large && (s.workers != 2 || s.at != 1) || !large && s.workers != 1 {
			t.Errorf("cell %d ran with %d workers, %d at a time", i, s.workers, s.at)
		}
	}
}

// Workers add to a cell's memory: it gets as many as fit, beside the other cells.
func TestLargeCellsHaveTheWorkersThatFit(t *testing.T) {
	for _, c := range []struct {
		name           string
		fixed, each    int64 // of the memory, by worker
		workers, given int
	}{
		{"alone", 2 << 30, 1 << 28, 8, 4},
		{"by twos", 1 << 30, 1 << 28, 8, 2},
		{"hardly one", memoryLimit - 1, 1 << 28, 8, 1},
		{"too large by itself", memoryLimit, 1, 8, 1},
		{"all", 2 << 30, 0, 2, 2},
	} {
		var mu sync.Mutex
		inUse, most := int64(0), int64(0)
		memory := func(workers int) int64 { return c.fixed + int64(workers)*c.each }
		var cells []cell
		for name := range 4 {
			cells = append(cells, cell{
				spec: name, check: checkInt,
				cost: func(workers int) (cost, error) { return cost{work: 1, memory: memory(workers)}, nil },
				run: func(_ context.Context, perf sim.Perf, _ func(float64), _ Keep) (any, error) {
					add := func(n int64) {
						mu.Lock()
						defer mu.Unlock()
						inUse += n
						most = max(most, inUse)
					}
					add(memory(perf.Workers))
					if perf.Workers != c.given {
						t.Errorf("%s: %d workers, want %d", c.name, perf.Workers, c.given)
					}
					add(-memory(perf.Workers))
					return 1, nil
				},
			})
		}
		if _, _, err := (grid{store: store{t.TempDir()}, workers: c.workers}).run(t.Context(), cells); err != nil {
			t.Fatal(err)
		}
		if most > max(memoryLimit, memory(1)) {
			t.Errorf("%s: %s at a time", c.name, mebibytes(most))
		}
	}
}

// A finished cell of a network is not taken for one that the portable kernels
// compute: they give other bits. All other classes give the same, and logistic
// regression has the same with every class; their identities are those of specs
// alone.
func TestCellsOfPortableNetworksAreKeptApart(t *testing.T) {
	keys := func(s TrainSpec) map[string]bool {
		out := map[string]bool{}
		for _, c := range []cell{curveCell(s, 3, nil, "x"), utilityCell(UtilitySpec{Train: s}, nil, "x"), trialCell(s, nil, "x")} {
			key, err := c.key()
			if err != nil {
				t.Fatal(err)
			}
			out[key] = true
			c.kernels = ""
			if plain, err := c.key(); err != nil || (plain == key) != (f32.Kernels() != cpu.Portable || s.Model == Ridge) {
				t.Errorf("%s, %v: key %s, of the spec alone %s, error %v", s.Model, f32.Kernels(), key, plain, err)
			}
		}
		return out
	}
	all := map[string]bool{}
	for _, class := range f32.Classes() {
		restore, err := f32.Use(class)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, keys(smallSpec()))
		maps.Copy(all, keys(smallLeNet()))
		restore()
	}
	want := 3 + 3 // of logistic regression, of LeNet
	if len(f32.Classes()) > 1 {
		want += 3 // of portable LeNet
	}
	if len(all) != want {
		t.Errorf("%d identities with %v, want %d", len(all), f32.Classes(), want)
	}
}

// The stated command says all that a flag has changed, and the part of the paper's
// K that was really run.
func TestSearchStatesItsCommand(t *testing.T) {
	spec := PaperSearch("", "mnist")
	plain := spec.command()
	for _, word := range []string{"--clients", "--grad-computations", "--delay", "--partition", "--sampling", "--runner", "--compute-time", "--latency"} {
		if strings.Contains(plain, word) {
			t.Errorf("%s is the paper's, but said: %s", word, plain)
		}
	}
	s := &spec.Train
	s.Clients, s.GradComps, s.Delay, s.Partition = 4, 3600, "unlimited", string(data.Shard)
	s.Sampling, s.Runner, s.Compute, s.Latency = string(dp.FixedSize), HogwildRunner, "constant:1ms", "constant:2ms"
	spec.Scale = 0.5
	const want = " --clients 4 --grad-computations 3600 --delay unlimited --partition shard --sampling fixed --runner hogwild --compute-time constant:1ms --latency constant:2ms"
	if got := spec.command(); !strings.HasSuffix(got, " --scale 0.5 --seeds 1"+want) {
		t.Errorf("command %s", got)
	}
	all := []found{{spec: spec.points()[0]}}
	spec.Sigmas = []float64{all[0].spec.NoiseMultiplier}
	if text := spec.readme(all, digits(70)); !strings.Contains(text, "K = 1800 gradients for each of 4 clients (0.005 of the paper's K)") {
		t.Error(text)
	}
	if err := spec.HoldOut(digits(700)); err != nil || spec.Train.Holdout != 100 {
		t.Errorf("%d of 600 training rows held out, error %v", spec.Train.Holdout, err)
	}
}

// A scale that leaves less than a round is named.
func TestTooSmallAScaleIsNamed(t *testing.T) {
	o := options(t, t.TempDir())
	figures, err := Select([]string{"phishing-logreg-sample-size"})
	if err != nil {
		t.Fatal(err)
	}
	o.Scale = 1e-4
	if err := Make(t.Context(), figures, o); err == nil || !strings.Contains(err.Error(), "scale = 0.0001") {
		t.Errorf("error %v", err)
	}
}

// Where a step size is not the paper's, the caption says where it is from.
func TestCaptionsSayWhoFoundTheStepSize(t *testing.T) {
	const found = ", searched on held-out records"
	for _, s := range settings() {
		want := ""
		if s.train.Data == "mnist" || s.train.Data == "cifar10" {
			want = found
		}
		if got := s.foundBy(); got != want {
			t.Errorf("%s: %q, want %q", s.name(), got, want)
		}
	}
}

// A search ranks by the held-out records, keeps diverged runs at the bottom, and
// goes on where it was.
func TestSearch(t *testing.T) {
	spec := PaperSearch("", "synth-mnist:350")
	spec.Train.GradComps, spec.Train.SampleSize, spec.Train.Holdout = 400, "40", 60
	spec.Models, spec.Eta0, spec.Beta, spec.Sigmas, spec.Seeds = []string{LeNetReLU}, []float64{1e-9, 0.1, 1e29}, []float64{0}, []float64{0, 12}, 2
	dir := t.TempDir()
	o := SearchOptions{Out: dir, Workers: 2}
	if err := Search(t.Context(), spec, digits(350), o); err != nil {
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
	if best < 0.3 || worst == 0 {
		t.Errorf("best accuracy %v without noise, %d runs diverged", best, worst)
	}
	readme := read(searchReadme)
	for _, want := range []string{"not covered by any privacy statement", "The test set is not looked at", "Synthetic stand-in", "Best: **lenet-relu, step size 0.1/(1+0t)**"} {
		if !strings.Contains(readme, want) {
			t.Errorf("no %q in\n%s", want, readme)
		}
	}
	var m SearchManifest
	if err := Search(t.Context(), spec, digits(350), o); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(read(manifestFile)), &m); err != nil || m.Computed != 0 || m.Cells != 12 || m.Config.Train.Holdout != 60 {
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
