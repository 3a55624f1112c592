package pool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"proactivedp/data/synth"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// overlap is what cells that run together see of each other, on a clock that only goes on
// when nothing more can begin.
type overlap struct {
	mu      sync.Mutex
	running int
	inUse   int64 // memory
	most    int64 // of it at a time
	workers []int // of each cell, in the order in which they began
	beside  []int // how many ran at the same time, itself included
}

// run is a cell that takes two seconds, and looks around in the middle.
func (o *overlap) run(workers int, memory int64) {
	o.mu.Lock()
	at := len(o.workers)
	o.workers, o.beside = append(o.workers, workers), append(o.beside, 0)
	o.running++
	o.inUse += memory
	o.most = max(o.most, o.inUse)
	o.mu.Unlock()
	time.Sleep(time.Second)
	o.mu.Lock()
	o.beside[at] = o.running
	o.mu.Unlock()
	time.Sleep(time.Second)
	o.mu.Lock()
	o.running--
	o.inUse -= memory
	o.mu.Unlock()
}

// Cells too large to lie side by side run one after another, each with all
// workers; the others first, all at a time with one worker each.
func TestLargeCellsRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o overlap
		of := func(name string, memory int64) Cell {
			return Cell{
				Spec: name, Check: checkInt,
				Cost: func(int) (train.Cost, error) { return train.Cost{Work: 10, Memory: memory}, nil },
				Run: func(_ context.Context, perf sim.Perf, progress func(float64), _ train.Keep) (any, error) {
					progress(0.5)
					o.run(perf.Workers, memory)
					return 1, nil
				},
			}
		}
		cells := []Cell{of("a", 2<<30), of("b", 1), of("c", memoryLimit), of("d", 1<<20)}
		if _, _, err := Run(t.Context(), cells, Options{Folder: t.TempDir(), Workers: 2}); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 1, 2, 2}; !slices.Equal(o.workers, want) {
			t.Errorf("workers of the cells: %v, want %v", o.workers, want)
		}
		if want := []int{2, 2, 1, 1}; !slices.Equal(o.beside, want) {
			t.Errorf("cells at a time: %v, want %v", o.beside, want)
		}
	})
}

// Workers add to a cell's memory: it gets as many as fit, beside the other cells.
func TestLargeCellsHaveTheWorkersThatFit(t *testing.T) {
	for _, c := range []struct {
		name                   string
		fixed, each            int64 // memory that a cell takes as such, and for each worker
		workers, given, beside int
	}{
		{"alone", 2 << 30, 1 << 28, 8, 4, 1},
		{"by twos", 1 << 30, 1 << 28, 8, 2, 2},
		{"hardly one", memoryLimit - 1, 1 << 28, 8, 1, 1},
		{"too large by itself", memoryLimit, 1, 8, 1, 1},
		{"all", 2 << 30, 0, 2, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o overlap
				memory := func(workers int) int64 { return c.fixed + int64(workers)*c.each }
				var cells []Cell
				for name := range 4 {
					cells = append(cells, Cell{
						Spec: name, Check: checkInt,
						Cost: func(workers int) (train.Cost, error) {
							return train.Cost{Work: 1, Memory: memory(workers)}, nil
						},
						Run: func(_ context.Context, perf sim.Perf, _ func(float64), _ train.Keep) (any, error) {
							o.run(perf.Workers, memory(perf.Workers))
							return 1, nil
						},
					})
				}
				if _, _, err := Run(t.Context(), cells,
					Options{Folder: t.TempDir(), Workers: c.workers}); err != nil {
					t.Fatal(err)
				}
				if want := slices.Repeat([]int{c.given}, 4); !slices.Equal(o.workers, want) {
					t.Errorf("workers of the cells: %v, want %v", o.workers, want)
				}
				if want := slices.Repeat([]int{c.beside}, 4); !slices.Equal(o.beside, want) {
					t.Errorf("cells at a time: %v, want %v", o.beside, want)
				}
				if o.most > max(memoryLimit, memory(1)) {
					t.Errorf("%d bytes at a time", o.most)
				}
			})
		})
	}
}

// Who gives a limit lets cells share all of it, and more of them go on side by side.
func TestCellsShareTheMemoryThatIsGiven(t *testing.T) {
	const size = 2 << 30
	for given, want := range map[int64]int{0: 1, size + size/2: 1, 4*size + size/2: 4} {
		synctest.Test(t, func(t *testing.T) {
			var o overlap
			var cells []Cell
			for name := range 4 {
				cells = append(cells, Cell{
					Spec: name, Check: checkInt,
					Cost: func(int) (train.Cost, error) { return train.Cost{Work: 1, Memory: size}, nil },
					Run: func(_ context.Context, perf sim.Perf, _ func(float64), _ train.Keep) (any, error) {
						o.run(perf.Workers, size)
						return 1, nil
					},
				})
			}
			if _, _, err := Run(t.Context(), cells, Options{Workers: 8, Memory: given}); err != nil {
				t.Fatal(err)
			}
			if want := slices.Repeat([]int{want}, 4); !slices.Equal(o.beside, want) {
				t.Errorf("with %d bytes given, cells at a time: %v, want %v", given, o.beside, want)
			}
		})
	}
}

// A finished cell of a network is not taken for one that the portable kernels
// compute: they give other bits. All other classes give the same, and logistic
// regression has the same with every class; their identities are those of specs
// alone.
func TestCellsOfPortableNetworksAreKeptApart(t *testing.T) {
	keys := func(s train.Spec) map[string]bool {
		out := map[string]bool{}
		for _, c := range []Cell{OfCurve(s, 3, train.NewSource(drawn())),
			OfUtility(UtilitySpec{Train: s}, train.NewSource(drawn())), OfTrial(s, train.NewSource(drawn()))} {
			key, err := c.Key()
			if err != nil {
				t.Fatal(err)
			}
			out[key] = true
			c.Kernels = ""
			if plain, err := c.Key(); err != nil || (plain == key) != (f32.Kernels() != cpu.Portable ||
				s.Model == train.Ridge) {
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
	want := 3 + 3 // three cells of logistic regression, and three of LeNet
	if len(f32.Classes()) > 1 {
		want += 3 // three of LeNet by the portable kernels
	}
	if len(all) != want {
		t.Errorf("%d identities with %v, want %d", len(all), f32.Classes(), want)
	}
}

// An interrupted call keeps what was finished, and goes on from there to the
// same results.
func TestGridGoesOnAfterAnInterruption(t *testing.T) {
	dir := t.TempDir()
	var computed atomic.Int32
	cells := func(ctx context.CancelFunc, stopAt int32) []Cell {
		var out []Cell
		for i := range 20 {
			// each spec is there twice
			out = append(out, Cell{Spec: i / 2 * 2, Cost: free,
				Run: func(context.Context, sim.Perf, func(float64), train.Keep) (any, error) {
					if computed.Add(1) == stopAt {
						ctx()
					}
					return i / 2 * 2 * 10, nil
				}, Check: checkInt})
		}
		return out
	}
	o := Options{Folder: dir, Workers: 1}
	ctx, cancel := context.WithCancel(context.Background())
	if _, _, err := Run(ctx, cells(cancel, 4), o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(kept) != 4 {
		t.Fatalf("%d cells kept, error %v; want 4", len(kept), err)
	}
	results, again, err := Run(context.Background(), cells(func() {}, -1), o)
	if err != nil || again.Computed != 6 {
		t.Fatalf("%d cells computed, error %v; want the 6 that were left", again.Computed, err)
	}
	if got := computed.Load(); got != 10 {
		t.Errorf("%d cells computed in both runs, want each of the 10 once", got)
	}
	for i, r := range results {
		if got, err := Decode[int](r); err != nil || got != i/2*2*10 {
			t.Errorf("cell %d: %d, error %v", i, got, err)
		}
	}
}

// The longest cells begin first, equal ones in their order.
func TestLongCellsBeginFirst(t *testing.T) {
	var order []int
	var cells []Cell
	for i, work := range []float64{2, 7, 2, 1, 9, 7} {
		cells = append(cells, Cell{Spec: i,
			Cost: func(int) (train.Cost, error) { return train.Cost{Work: work}, nil },
			Run: func(context.Context, sim.Perf, func(float64), train.Keep) (any, error) {
				order = append(order, i)
				return i, nil
			}, Check: checkInt})
	}
	results, _, err := Run(t.Context(), cells, Options{Workers: 1})
	if want := []int{4, 1, 5, 0, 2, 3}; err != nil || !slices.Equal(order, want) {
		t.Errorf("begun in the order %v, error %v; want %v", order, err, want)
	}
	for i, r := range results {
		if got, err := Decode[int](r); got != i {
			t.Errorf("cell %d: %d, error %v", i, got, err)
		}
	}
}

// What a cell took to compute counts when it is found again, too; what a file of that
// does not say, or cannot mean, counts as nothing.
func TestFoundCellsTellTheirTime(t *testing.T) {
	s := store{t.TempDir()}
	var cells []Cell
	for i := range 3 {
		cells = append(cells, Cell{Spec: i, Cost: free, Check: checkInt,
			Run: func(context.Context, sim.Perf, func(float64), train.Keep) (any, error) { return i, nil }})
	}
	o := Options{Folder: s.dir, Workers: 2}
	_, first, err := Run(t.Context(), append(cells, cells...), o)
	if err != nil || first.Computed != 3 {
		t.Fatalf("%+v, error %v", first, err)
	}
	key, err := cells[1].Key()
	if err != nil {
		t.Fatal(err)
	}
	_, before, err := Run(t.Context(), cells, o)
	if err != nil || before.Computed != 0 {
		t.Fatalf("%+v, error %v", before, err)
	}
	rest := before.Time - s.took(key)
	for text, want := range map[string]time.Duration{"12.5\n": 12500 * time.Millisecond, "": 0, "-3": 0, "NaN": 0,
		"1e300": 0, "many": 0, strings.Repeat("1", 100): 0} {
		if err := os.WriteFile(s.timePath(key), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, spent, err := Run(t.Context(), append(cells, cells...), o)
		if err != nil || spent.Computed != 0 || spent.Time != rest+want {
			t.Errorf("%q: %+v, error %v; want %v", text, spent, err, rest+want)
		}
	}
}

// free is the cost of a cell that takes nothing.
func free(int) (train.Cost, error) { return train.Cost{}, nil }

func checkInt(text json.RawMessage) error {
	_, err := Decode[int](text)
	return err
}

func TestDamagedCellIsComputedAgain(t *testing.T) {
	for _, damage := range []string{`{"half`, `"text"`, ``} {
		dir := t.TempDir()
		c := Cell{Spec: "x", Cost: free, Run: func(context.Context, sim.Perf, func(float64), train.Keep) (any, error) {
			return 7, nil
		}, Check: checkInt}
		key, err := c.Key()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, key+".json"), []byte(damage), 0o666); err != nil {
			t.Fatal(err)
		}
		results, _, err := Run(context.Background(), []Cell{c}, Options{Folder: dir, Workers: 1})
		if err != nil || string(results[0]) != "7" {
			t.Errorf("%q: result %s, error %v", damage, results, err)
		}
	}
}

// Cells of figures are refused unless they have every point.
func TestFigureCellsAreChecked(t *testing.T) {
	d := train.NewSource(drawn())
	curve := OfCurve(smallSpec(), 10, d)
	utility := OfUtility(UtilitySpec{Train: smallSpec(), Sigmas: []float64{1}, Draws: 1}, d)
	for name, c := range map[string]Cell{"curve": curve, "utility": utility} {
		for _, text := range []string{`null`, `{}`, `5`, `{"target":[1]}`, `{"points":[]}`} {
			if c.Check(json.RawMessage(text)) == nil {
				t.Errorf("%s: %s was taken for a result", name, text)
			}
		}
		result, err := c.Run(context.Background(), sim.Perf{}, func(float64) {}, train.Keep{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFailedCellNamesItsCause(t *testing.T) {
	fault := errors.New("planted fault")
	c := Cell{Spec: 1, Cost: free, Run: func(context.Context, sim.Perf, func(float64), train.Keep) (any, error) {
		return nil, fault
	}, Check: checkInt}
	if _, _, err := Run(context.Background(), []Cell{c}, Options{Folder: t.TempDir(), Workers: 2}); !errors.Is(err,
		fault) {
		t.Errorf("error %v, want the fault", err)
	}
}

// Cells of figures and searches that are stopped go on: from where they were,
// with the points of a curve, to the same result; and their checkpoints go.
func TestStoppedCellsGoOn(t *testing.T) {
	d := train.NewSource(drawn())
	held := longSpec()
	held.Holdout = 0.2
	free := longSpec()
	free.Runner = train.HogwildRunner
	for name, c := range map[string]Cell{
		"curve":   OfCurve(longSpec(), 10, d),
		"trial":   OfTrial(held, d),
		"utility": OfUtility(UtilitySpec{Train: longSpec(), Sigmas: []float64{1}, Draws: 1}, d),
		"hogwild": OfCurve(free, 10, d), // hogwild keeps no checkpoint
	} {
		t.Run(name, func(t *testing.T) {
			key, err := c.Key()
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := Run(t.Context(), []Cell{c}, Options{Folder: t.TempDir(), Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			s := store{t.TempDir()}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			part := 0.0
			if _, err := c.Run(ctx, sim.Perf{}, func(done float64) {
				if part = done; done > 0.3 {
					cancel()
				}
			}, s.keep(key)); !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v", err)
			}
			kept := s.keep(key)
			if (kept.From == nil) != (name == "hogwild") {
				t.Fatalf("%v", kept.From)
			}
			if err := s.setTook(key, time.Hour); err != nil {
				t.Fatal(err)
			}
			left := filepath.Join(s.dir, "."+key+".checkpoint.ABCDEFGHIJKLMNOPQRSTUVWXYZ.tmp") // of a killed process
			if err := os.WriteFile(left, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			if kept.From != nil {
				defer kept.From.Close()
				for seconds, want := range map[float64]time.Duration{
					1: time.Hour, 7200: 2 * time.Hour, 1e300: time.Hour, -1: time.Hour,
				} {
					kept.From.Seconds = seconds
					if got := s.before(key, kept.From); got != want {
						t.Errorf("a checkpoint after %v seconds, an hour told: %v, want %v", seconds, got, want)
					}
				}
			}
			run := c.Run
			c.Run = func(ctx context.Context, perf sim.Perf, progress func(float64), keep train.Keep) (any, error) {
				first := true
				return run(ctx, perf, func(done float64) {
					if first && name != "hogwild" && name != "curve" && done < part {
						t.Errorf("it began anew: %v of it done after %v", done, part)
					}
					first = false
					progress(done)
				}, keep)
			}
			got, _, err := Run(t.Context(), []Cell{c}, Options{Folder: s.dir, Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			if name != "hogwild" && !bytes.Equal(got[0], want[0]) {
				t.Errorf("stopped and gone on: %s, want %s", got[0], want[0])
			}
			entries, err := os.ReadDir(s.dir) // the result, and how long it took
			if err != nil || len(entries) != 2 {
				t.Errorf("left: %v, %v", entries, err)
			}
			// The time until it was stopped counts, unless it began anew.
			if took := s.took(key); (took >= time.Hour) != (name != "hogwild") {
				t.Errorf("it took %v, of which an hour before it was stopped", took)
			}
		})
	}
}

// A cell begins anew where its checkpoint is not whole, or is of another run.
func TestCellIgnoresAForeignCheckpoint(t *testing.T) {
	d := train.NewSource(drawn())
	c := OfCurve(smallSpec(), 10, d)
	key, err := c.Key()
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := Run(t.Context(), []Cell{c}, Options{Folder: t.TempDir(), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	other := smallSpec()
	other.Seed = 2
	for name, fill := range map[string]func(path string){
		"damaged": func(path string) {
			if err := os.WriteFile(path, []byte("proactivedp checkpoint\nhalf"), 0o666); err != nil {
				t.Fatal(err)
			}
		},
		"another seed": func(path string) {
			if _, err := watch(t.Context(), prepared(t, other, drawn()), sim.Perf{}, 10, func(float64) {},
				train.Keep{Path: path}); err != nil {
				t.Fatal(err)
			}
		},
		"not watched": func(path string) {
			if _, _, err := prepared(t, smallSpec(), drawn()).RunKept(t.Context(), sim.Perf{}, nil,
				train.Keep{Path: path}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		s := store{t.TempDir()}
		fill(s.keep(key).Path)
		got, _, err := Run(t.Context(), []Cell{c}, Options{Folder: s.dir, Workers: 1})
		if err != nil || !bytes.Equal(got[0], want[0]) {
			t.Errorf("%s: %s, error %v, want %s", name, got, err, want[0])
		}
	}
}

// A job with a file of initial weights, or whose clock is a file, of compute times or of latencies, is
// refused by name; one with any other clock is read.
func TestJobsReadNoFiles(t *testing.T) {
	for _, text := range []string{`{"kind": "trial"}`, `{"kind": "utility"}`, `{"kind": "utility", "spec": {}, "train": {}}`,
		`{"kind": "utility", "train": {}}`, `{"kind": "curve", "spec": {}}`} {
		if _, err := readSpec(json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), "and not both") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := readSpec(json.RawMessage(`{"kind": "course"}`)); err == nil || !strings.Contains(err.Error(), "must be computed by the process") {
		t.Errorf("a kind that only the process itself computes: %v", err)
	}
	initial := smallSpec()
	initial.Initial = "w.npz"
	text, err := json.Marshal(map[string]any{"kind": "trial", "train": initial, "data_sha256": "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readSpec(text); err == nil || !strings.Contains(err.Error(), `initial = "w.npz" is a file`) {
		t.Errorf("initial weights: error %v", err)
	}
	for clock, file := range map[string]bool{"trace:times.csv": true, "constant:2ms": false, "exponential:2ms": false} {
		for name, set := range map[string]func(*train.Spec){
			"compute": func(s *train.Spec) { s.Compute = clock },
			"latency": func(s *train.Spec) { s.Latency = clock },
		} {
			spec := smallSpec()
			set(&spec)
			text, err := json.Marshal(map[string]any{"kind": "trial", "train": spec, "data_sha256": "x"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := readSpec(text)
			switch {
			case file && (err == nil || !strings.Contains(err.Error(), "trace:times.csv is a file")):
				t.Errorf("%s = %s: error %v", name, clock, err)
			case !file && (err != nil || got.training() != spec):
				t.Errorf("%s = %s: %+v, %v", name, clock, got, err)
			}
		}
	}
}

// wrongly answers every job with a result that is none.
type wrongly struct{}

func (wrongly) Compute(_ context.Context, jobs []Job, done func(int, json.RawMessage) error, _ func(int, float64)) error {
	return done(len(jobs)-1, json.RawMessage(`{"accuracy": 1, "rows": 7}`))
}

// A job computes the cell that it names, from the data that it names, and nothing else. A result from elsewhere is
// looked at before it is taken.
func TestJobsAreTheirCells(t *testing.T) {
	source, other := train.NewSource(drawn()), train.NewSource(synth.OneHot(rng.New(4), 400))
	c := OfTrial(smallSpec(), source)
	key, err := c.Key()
	if err != nil {
		t.Fatal(err)
	}
	job, may, err := c.job(key, 1)
	if err != nil || !may {
		t.Fatal(job, may, err)
	}
	forged := job
	forged.Key = strings.Repeat("0", len(key))
	for want, of := range map[string]struct {
		job    Job
		source *train.Source
	}{
		"":                       {job, source},
		"digest of the data set": {job, other},
		"has the key " + key:     {forged, source},
	} {
		open := func(context.Context, train.Spec, string) (*train.Source, error) { return of.source, nil }
		text, err := of.job.Do(t.Context(), open, t.TempDir(), 1, func(float64) {})
		if want == "" && (err != nil || c.Check(text) != nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %s, %v", want, text, err)
		}
	}
	if _, _, err := Run(t.Context(), []Cell{c}, Options{Folder: t.TempDir(), Elsewhere: wrongly{}}); err == nil ||
		!strings.Contains(err.Error(), "job "+key+": finished cell: 7 rows") {
		t.Errorf("a wrong result from elsewhere: %v", err)
	}
}
