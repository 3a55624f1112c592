package experiments

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/internal/results"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// The figure of both runners says by how much the virtual clock is off: here two clients
// whose runs on the real clock took a quarter and three quarters longer.
func TestForetoldTimes(t *testing.T) {
	run := func(end sim.Time, accuracy float64) pool.Timed {
		return pool.Timed{Rounds: 1, TestRows: 100, Clock: end, At: []sim.Time{0, end},
			Accuracy:  []float64{0.5, accuracy},
			Staleness: sim.Staleness{3, 1}, Busy: []sim.Time{end, end / 2}, Done: []sim.Time{end, end}}
	}
	spec := smallSpec()
	real := spec
	real.Runner, real.TimeScale = train.HogwildRunner, 8
	of := func(spec train.Spec, a, b pool.Timed) *comparison {
		return newComparison([]series{{"synchronous", spec}}, [][]pool.Timed{{a, b}})
	}
	f := &figureConfig{source: train.NewSource(drawn()), seeds: 2, scale: 1}
	both := []*comparison{of(spec, run(1e9, 0.8), run(2e9, 0.9)), of(real, run(1.25e9, 0.81), run(3.5e9, 0.89))}
	out, err := drawRunners(t.Context(), f, both)
	if err != nil {
		t.Fatal(err)
	}
	c := out.config.(runnersConfig)
	if math.Abs(c.MedianOff-0.5) > 1e-12 || math.Abs(c.LargestOff-0.75) > 1e-12 {
		t.Errorf("off by %v, at most %v", c.MedianOff, c.LargestOff)
	}
	// Its data and its manifest give the same picture again.
	var stored comparedRuns
	if err := (results.Table{Header: out.table[0], Rows: out.table[1:]}).Columns(stored.columns()); err != nil {
		t.Fatal(err)
	}
	again, err := runnersContent(t.Context(), f, both, stored, runnersConfig{MedianOff: c.MedianOff, LargestOff: c.LargestOff})
	if err != nil || !reflect.DeepEqual(again.picture, out.picture) || !reflect.DeepEqual(again.table, out.table) {
		t.Errorf("another picture from the data, error %v", err)
	}
	at := slices.Index(out.table[0], "off")
	for seed, want := range []float64{0.25, 0.75} {
		if got, err := strconv.ParseFloat(out.table[seed+1][at], 64); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("seed %d is off by %v, must be %v; error %v", seed+1, got, want, err)
		}
	}
	row := strings.Join(out.picture.Rows[1], "|")
	const want = "synchronous|0.8500 ± 0.0707|0.8500 ± 0.0566|1.5 s, 2.38 s|50.00 %|0.25, 0.25|25 %, 25 %"
	if row != want {
		t.Errorf("row %s, want %s", row, want)
	}
	if len(out.picture.Lines) != 2 || len(out.picture.Below) != 2 || len(out.picture.Below[1].Lines) != 2 {
		t.Errorf("%d lines and %d plots below", len(out.picture.Lines), len(out.picture.Below))
	}
	for _, text := range []string{"Over all delays and 2 seeds the virtual clock is off by 50.00 %",
		"no other has the same", "whose second takes 8 real seconds"} {
		if !strings.Contains(out.picture.Caption, text) {
			t.Errorf("no %q in\n%s", text, out.picture.Caption)
		}
	}
}

// With the hogwild runner every training of a figure is hogwild's, and its cells are other
// cells; figures that say themselves which runners they have are refused before anything
// is run.
func TestFiguresByHogwild(t *testing.T) {
	f := &figureConfig{source: train.NewSource(drawn()), seeds: 1, scale: 0.01, runner: train.HogwildRunner, timeScale: 3}
	virtual := &figureConfig{source: f.source, seeds: 1, scale: 0.01}
	s := convexExperiment(pool.Convex(train.Ridge, "phishing"))
	for _, fig := range []Figure{s.utilityFigure(), s.epsilonFigure(), s.delayExperiment().delayFigure(),
		s.delayExperiment().timelineFigure()} {
		ours, err := fig.cells(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := fig.cells(t.Context(), virtual)
		if err != nil || len(ours) != len(theirs) {
			t.Fatalf("%s: %d and %d cells, error %v", fig.Name, len(ours), len(theirs), err)
		}
		for i := range ours {
			a, errA := ours[i].Key()
			b, errB := theirs[i].Key()
			if a == b || errA != nil || errB != nil {
				t.Errorf("%s: cell %d is the same by both runners; %v, %v", fig.Name, i, errA, errB)
			}
			if kind, spec := kindOf(t, ours[i]); kind == "timed" && (spec.TimeScale != 3 || !ours[i].Alone ||
				theirs[i].Alone) {
				t.Errorf("%s: %+v", fig.Name, spec)
			}
		}
	}
	o := options(t, t.TempDir())
	o.Runner, o.TimeScale = train.HogwildRunner, 1
	refused := 0
	for _, fig := range Figures() {
		if !fig.Fixed {
			continue
		}
		refused++
		if err := Make(t.Context(), []Figure{fig}, o); err == nil || !strings.Contains(err.Error(), fig.Name) {
			t.Errorf("%s: %v", fig.Name, err)
		}
	}
	if refused < 6 {
		t.Errorf("%d figures say which runners they have, must be at least 6", refused)
	}
}
