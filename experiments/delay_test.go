package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// timedRun runs the spec on the drawn data, and looks at it so often.
func timedRun(t *testing.T, spec train.Spec, looks int) *pool.Timed {
	t.Helper()
	cell := pool.OfTimed(spec, looks, train.NewSource(drawn()))
	run, err := cell.Run(t.Context(), sim.Perf{}, func(float64) {}, train.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	return run.(*pool.Timed)
}

// handmade is a run of one client with these accuracies, a second apart.
func handmade(accuracy ...float64) pool.Timed {
	t := pool.Timed{TestRows: 10_000, Accuracy: accuracy, Staleness: sim.Staleness{0, 2}, Busy: []sim.Time{1e9},
		Done: []sim.Time{4e9}}
	for i := range accuracy {
		t.At = append(t.At, sim.Time(i)*1e9)
	}
	t.Clock = t.At[len(t.At)-1]
	return t
}

// Each seed has its own target: the final accuracy of the reference minus the spread over its seeds. The
// speed-up is the ratio of the mean times to the target. A series with a seed that never reaches it has no
// speed-up.
func TestSummaries(t *testing.T) {
	all := []series{{name: "reference"}, {name: "fast"}, {name: "never"}}
	c := newComparison(all, [][]pool.Timed{
		{handmade(0.5, 0.6, 0.7, 0.8, 0.9), handmade(0.5, 0.5, 0.6, 0.65, 0.8)},
		{handmade(0.5, 0.85, 0.9, 0.9, 0.9), handmade(0.5, 0.6, 0.75, 0.8, 0.8)},
		{handmade(0.5, 0.5, 0.5, 0.5, 0.9), handmade(0.5, 0.5, 0.5, 0.5, 0.6)},
	})
	// The tolerance is the standard deviation of 0.9 and 0.8; that of 10,000 test rows is below.
	if want := 0.1 / math.Sqrt2; math.Abs(c.tolerance-want) > 1e-12 {
		t.Errorf("tolerance %v, want %v", c.tolerance, want)
	}
	got := c.summaries()
	// Targets 0.829 and 0.729: the reference after 4 and 4 s, fast after 1 and 2 s.
	if s := got[1]; s.ToTarget == nil || *s.ToTarget != 1.5 || math.Abs(*s.SpeedUp-4/1.5) > 1e-12 || *s.LeastUp != 2 ||
		s.Idle != 0.75 || s.MeanLag != 1 || s.MaxLag != 1 {
		t.Errorf("fast: %+v", s)
	}
	if s := got[2]; s.Reached != 1 || s.ToTarget != nil || s.SpeedUp != nil || s.row(2)[3] != "1 of 2 seeds" {
		t.Errorf("never: %+v, row %v", s, s.row(2))
	}
	if s := got[0]; *s.SpeedUp != 1 || *s.LeastUp != 1 {
		t.Errorf("reference: %+v", s)
	}
	// One seed has no spread: the test rows' is left, √(0.9·0.1/10,000).
	if one := newComparison(all[:1], [][]pool.Timed{{handmade(0.5, 0.9)}}); math.Abs(one.tolerance-0.003) > 1e-12 {
		t.Errorf("one seed: tolerance %v, want 0.003", one.tolerance)
	}
}

// A target that is reached at the start says nothing about delays. The text says so.
func TestATargetThatIsMetFromTheStart(t *testing.T) {
	all := []series{{name: "synchronous"}, {name: "τ = 1"}}
	const says = "The synchronous run itself is there from the start"
	for _, c := range []struct {
		reference pool.Timed
		is        bool
	}{{handmade(0.5, 0.501), true}, {handmade(0.5, 0.4), true}, {handmade(0.5, 0.9), false}} {
		run := newComparison(all, [][]pool.Timed{{c.reference}, {handmade(0.5, 0.9)}})
		if text := run.goalText(); strings.Contains(text, says) != c.is {
			t.Errorf("%v: %s", c.reference.Accuracy, text)
		}
		if s := run.summaries()[1]; s.ToTarget == nil || (s.SpeedUp == nil) != c.is {
			t.Errorf("%v: %+v", c.reference.Accuracy, s)
		}
	}
}

// A diverged run counts as accuracy 0 and is not an error.
func TestDivergedRunsAreCounted(t *testing.T) {
	spec := smallSpec()
	spec.GradComps, spec.NoiseMultiplier, spec.Clip, spec.Eta0 = 6, 1e15, 1e14, 1e10
	run := timedRun(t, spec, 10)
	if !run.Diverged || run.Accuracy[10] != 0 || len(run.At) != 11 {
		t.Fatalf("run %+v", run)
	}
	// A diverged run has not reached the target even if it was there before.
	run.Accuracy[3] = 0.95
	c := newComparison([]series{{name: "reference"}, {name: "diverges"}}, [][]pool.Timed{{handmade(0.5, 0.9)}, {*run}})
	if s := c.summaries()[1]; s.Diverged != 1 || s.Reached != 0 || s.SpeedUp != nil || s.Accuracy != 0 ||
		!strings.Contains(s.row(1)[1], "1 of 1 diverged") {
		t.Errorf("%+v", s)
	}
}

// If the reference diverged with a seed, that seed has no target accuracy and no time. The other seeds
// have them, and the spread is computed from those seeds only.
func TestADivergedReferenceSetsNoTarget(t *testing.T) {
	lost := handmade(0.5, 0)
	lost.Diverged, lost.Staleness, lost.Busy, lost.Done = true, nil, nil, nil
	all := []series{{name: "synchronous"}, {name: "τ = 1"}}
	ended := handmade(0.5, 0.9)
	c := newComparison(all, [][]pool.Timed{{ended, lost, lost}, {ended, ended, lost}})
	if math.Abs(c.tolerance-0.003) > 1e-12 || math.Abs(c.goal[0]-0.897) > 1e-12 {
		t.Errorf("tolerance %v, targets %v; want those of the seed that ended", c.tolerance, c.goal)
	}
	for _, s := range c.summaries() {
		if s.Reached != 1 || s.ToTarget != nil || s.SpeedUp != nil {
			t.Errorf("%+v", s)
		}
	}
	if text := c.goalText(); !strings.Contains(text, "With 2 of 3 seeds the synchronous run diverged: there is no target for them") {
		t.Error(text)
	}
	f := &figureConfig{source: train.NewSource(drawn()), seeds: 3, scale: 1}
	for i, row := range c.table(f)[1:] { // of three seeds each; columns 8 and 9 are the target and the time to it
		if none := i%3 > 0; none != (row[8] == "") || none != (row[9] == "") {
			t.Errorf("%q", row)
		}
	}
	none := newComparison(all, [][]pool.Timed{{lost}, {ended}})
	if s := none.summaries(); none.tolerance != 0 || s[1].Reached != 0 || s[0].row(1)[2] != report.NoAnswer {
		t.Errorf("%+v", s)
	}
	if text, err := json.Marshal(none.config()); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}

func TestLagRowsDouble(t *testing.T) {
	names := map[int]string{
		0: "0", 1: "1", 2: "2", 3: "3–4", 4: "3–4", 5: "5–8", 8: "5–8", 9: "9–16", 1000: "513–1024",
	}
	for lag, want := range names {
		if got := lagRowName(lagRow(lag)); got != want {
			t.Errorf("lag %d is in row %s, want %s", lag, got, want)
		}
	}
}

// A caption mentions the settings that differ from the paper's, losses and repetitions of messages, and
// which rows judge the models.
func TestCaptionsSayWhatIsUnusual(t *testing.T) {
	spec := smallSpec()
	spec.Partition, spec.Holdout, spec.SampleSize = "dirichlet:0.3", 0.1, "3"
	spec.Loss, spec.Resend, spec.Duplicate, spec.Churn = 0.1, "1ms", 0.2, "1s,50ms"
	run := timedRun(t, spec, 2)
	out, err := timeContent(t.Context(), &figureConfig{source: train.NewSource(drawn()), seeds: 1, scale: 1},
		newComparison([]series{{"τ = 1", spec}}, [][]pool.Timed{{*run}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"; 1 seed.", "unlike the paper's assumption", " rows (held-out training rows)",
		"lost with probability 0.1",
		"sent again after 1ms", "twice with probability 0.2", "for 1s and 50ms on average", "per record ε ≤",
		"certified by pld for N = ", "add-or-remove adjacency, poisson sampling: per client"} {
		if !strings.Contains(out.picture.Caption, want) {
			t.Errorf("caption does not say %q:\n%s", want, out.picture.Caption)
		}
	}
	if !strings.HasPrefix(out.picture.YLabel, "held-out accuracy") {
		t.Errorf("axis of %s", out.picture.YLabel)
	}
}

// A picture with times to a target says what the target is. If there are two comparisons, it also names
// that of the second.
func TestCaptionsSayTheTarget(t *testing.T) {
	spec := smallSpec()
	run := timedRun(t, spec, 2)
	f := &figureConfig{source: train.NewSource(drawn()), seeds: 1, scale: 1}
	plain := spec
	plain.NoiseMultiplier = 0
	one := func(spec train.Spec) *comparison {
		return newComparison([]series{{"synchronous", spec}}, [][]pool.Timed{{*run}})
	}
	drawings := []func() (*content, error){
		func() (*content, error) { return timeContent(t.Context(), f, one(spec)) },
		func() (*content, error) { return stalenessContent(t.Context(), f, one(spec)) },
		func() (*content, error) { return idleContent(t.Context(), f, one(spec)) },
		func() (*content, error) { return delayContent(t.Context(), f, []*comparison{one(spec), one(plain)}) },
	}
	for i, draw := range drawings {
		out, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		second := fmt.Sprintf("With no noise less %.4f.", one(plain).tolerance)
		if !slices.Contains(out.picture.Rows[0], "to target") ||
			!strings.Contains(out.picture.Caption, "Target, seed by seed: the accuracy that the synchronous run") ||
			strings.Contains(out.picture.Caption, second) != (i == len(drawings)-1) {
			t.Errorf("picture %d: %q below %q", i, out.picture.Caption, out.picture.Rows[0])
		}
	}
}

// The data of a figure of adaptive batch sizes contain every point of its curves, with the gradients and
// the cost of the run.
func TestAdaptiveDataIsThePicture(t *testing.T) {
	spec := smallSpec()
	run := timedRun(t, spec, 4)
	adaptive := spec
	adaptive.Adapt = 4
	other := timedRun(t, adaptive, 4)
	c := newComparison([]series{{"τ = 1", spec}, {"τ = 1", adaptive}}, [][]pool.Timed{{*run}, {*other}})
	out, err := adaptiveContent(t.Context(), &figureConfig{source: train.NewSource(drawn()), seeds: 1, scale: 1}, c)
	if err != nil {
		t.Fatal(err)
	}
	if n := 1 + 2*5; len(out.table) != n || len(out.picture.Rows) != 3 {
		t.Fatalf("%d lines of data, %d rows below the picture; want %d and 3", len(out.table), len(out.picture.Rows), n)
	}
	column := slices.Index(out.table[0], "grad_computations_max")
	for i, want := range []*pool.Paid{nil, other.Paid} {
		record := out.table[1+5*i]
		if len(record) != len(out.table[0]) {
			t.Fatalf("%d columns of %d", len(record), len(out.table[0]))
		}
		most := spec.GradComps
		if want != nil {
			_, most, _, _ = want.Sizes()
		}
		if record[column] != strconv.Itoa(most) {
			t.Errorf("%s: most gradients of a client %s, want %d", record[2], record[column], most)
		}
	}
}

// A run with adaptive batch sizes that diverged claims no ε, not even that of fixed sizes.
func TestDivergedAdaptiveRunsClaimNothing(t *testing.T) {
	spec := smallSpec()
	run := timedRun(t, spec, 4)
	adaptive := spec
	adaptive.Adapt = 4
	ended, diverged := timedRun(t, adaptive, 4), *run
	diverged.Diverged, diverged.Staleness, diverged.Busy, diverged.Done = true, nil, nil, nil
	c := newComparison([]series{{"τ = 1", spec}, {"τ = 1", adaptive}}, [][]pool.Timed{{*run, *run}, {*ended, diverged}})
	out, err := adaptiveContent(t.Context(), &figureConfig{source: train.NewSource(drawn()), seeds: 2, scale: 1}, c)
	if err != nil {
		t.Fatal(err)
	}
	fixed, adapted := out.picture.Rows[1], out.picture.Rows[2]
	if last := len(fixed) - 1; !strings.HasPrefix(fixed[last], "ε ≤ ") || adapted[last] != report.NoAnswer {
		t.Errorf("per record %s of fixed sizes, %s of which one run diverged", fixed[last], adapted[last])
	}
	const of = "certified by pld for N = 320, δ = 0.003125, add-or-remove adjacency, poisson sampling; numbered seeds"
	if !strings.Contains(out.picture.Caption, of) {
		t.Errorf("caption %q, want one with %q", out.picture.Caption, of)
	}
	column := slices.Index(out.table[0], "certified_epsilon_per_record")
	for i, want := range []bool{true, true, true, false} { // runs, of five looks each
		if got := out.table[1+5*i][column]; (got != "") != want {
			t.Errorf("run %d: certified ε %q", i, got)
		}
	}
}

func smallDelays() DelaySpec {
	s := DelaySpec{Train: smallSpec(), Delays: []string{"2", "clients:0,1,0,1,0", "unlimited"}, Seeds: 2,
		Margin: DefaultMargin}
	return s
}

// A comparison writes its pictures and uses runs that are already finished. Without a folder its text is
// the same.
func TestCompareDelays(t *testing.T) {
	s := smallDelays()
	dir := t.TempDir()
	r, err := s.Compare(context.Background(), train.NewSource(drawn()),
		DelayOptions{Out: dir, Workers: 2, Command: func(s DelaySpec) string { return "again with " + s.Delays[1] }})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Delays) != 4 || r.Delays[0].Name != "synchronous" || r.Delays[0].MaxLag != 0 || r.Delays[1].MaxLag != 2 ||
		r.Rounds != 50 {
		t.Errorf("report %+v", r)
	}
	for _, name := range []string{"time", "accuracy", "staleness", "idle", "timeline"} {
		checkFigureFolder(t, filepath.Join(dir, name))
	}
	var m Manifest
	for name, want := range map[string]int{"timeline": 1, "time": 2} { // a timeline is of the first seed
		if m = (Manifest{}); results.ReadManifest(dir, name, &m) != nil || m.Seeds != want {
			t.Errorf("%s: manifest of %d seeds, want %d", name, m.Seeds, want)
		}
	}
	if want := "again with clients:0,1,0,1,0"; m.Command != want {
		t.Errorf("command %q, want %q", m.Command, want)
	}
	again, err := s.Compare(context.Background(), train.NewSource(drawn()), DelayOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("without a folder and with one worker the report is another")
	}
	var out strings.Builder
	if err := r.WriteText(&out); err != nil || !strings.Contains(out.String(), "synchronous") ||
		!strings.Contains(out.String(), "for a record") {
		t.Errorf("text %s, error %v", out.String(), err)
	}
	// So small a training learns nothing: who is at its target sooner shows nothing.
	const warning = "The synchronous run does NOT beat it: its target, and who is there sooner, show nothing."
	guess := fmt.Sprintf("always predicting the same class has %.4f.", r.Majority)
	if text := oneLine(out.String()); r.Delays[0].Accuracy > r.Majority || !strings.Contains(text, guess+" "+warning) {
		t.Errorf("text %s", text)
	}
	r.Delays[0].Accuracy = 1
	out.Reset()
	if err := r.WriteText(&out); err != nil || !strings.Contains(oneLine(out.String()), guess) ||
		strings.Contains(out.String(), "NOT beat") {
		t.Errorf("text %s, error %v", out.String(), err)
	}
}

func TestDelaySpecHasDelays(t *testing.T) {
	s := smallDelays()
	s.Delays = nil
	for n := 0; n <= maxSweep+1; n++ {
		err := s.Validate()
		if good := n >= 1 && n <= maxSweep; (err == nil) != good {
			t.Errorf("%d delays: %v", n, err)
		}
		s.Delays = append(s.Delays, strconv.Itoa(n))
	}
}

func TestDelaySpecReportsEveryProblem(t *testing.T) {
	s := smallDelays()
	s.Delays, s.Seeds, s.Train.Runner, s.Train.NoiseMultiplier = []string{"1", "-1", "1"}, 0, train.HogwildRunner, -1
	err := s.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"seeds = 0", `delay = "-1"`, "listed twice", "hogwild", "noise multiplier = -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

// checkFigureFolder wants a whole picture, data and a manifest.
func checkFigureFolder(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, results.PictureFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(text)); err != nil {
		t.Error(err)
	}
	for _, name := range []string{results.TableFile, results.ManifestFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 100 {
			t.Errorf("%s of %s: %v", name, dir, err)
		}
	}
}

// On a real clock, a comparison measures what the virtual clock predicts: the program waits for every
// drawn duration, the first evaluation is of the same model, the permissible delay Υ holds, and no update
// is lost. The result is marked as not repeatable. Finished runs of the two runners are stored separately.
func TestDelaysOnARealClock(t *testing.T) {
	spec := DefaultDelaySpec("", "synth-drawn")
	spec.Train.GradComps, spec.Train.SampleSize, spec.Train.Clients = 120, "6", 3
	spec.Delays, spec.Seeds = []string{"1", "unlimited"}, 1
	source := train.NewSource(drawn())
	foretold, err := spec.Compare(t.Context(), source, DelayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec.Train.Runner = train.HogwildRunner
	if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), "time scale = 0 with runner hogwild") {
		t.Errorf("without a clock: %v", err)
	}
	spec.Train.TimeScale, spec.Train.Speeds = 10, "1,1,0.5"
	dir := t.TempDir()
	o := DelayOptions{Out: dir, Workers: 2}
	r, err := spec.Compare(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range r.Delays {
		virtual := foretold.Delays[i]
		t.Logf("%s: %v s foretold, %v s measured with a slow client, lag %v and %v", s.Name, virtual.Seconds, s.Seconds,
			virtual.MeanLag, s.MeanLag)
		if s.Seconds < virtual.Seconds-1e-3 || s.Name != virtual.Name || s.Diverged > 0 || len(s.IdleBy) != 3 {
			t.Errorf("%+v, foretold %+v", s, virtual)
		}
		if tau, err := strconv.Atoi(s.Delay); err == nil && s.MaxLag > tau {
			t.Errorf("%s: a client was %d ahead", s.Name, s.MaxLag)
		}
		run := r.comparison.runs[i][0]
		if run.Accuracy[0] != foretold.comparison.runs[i][0].Accuracy[0] || !slices.IsSorted(run.At) {
			t.Errorf("%s: first look %v, foretold %v; looks at %v", s.Name, run.Accuracy[0],
				foretold.comparison.runs[i][0].Accuracy[0], run.At)
		}
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Real clock, whose second takes 10 real seconds", "All times are measured",
		"Another run with the same seed gives another model"} {
		if !strings.Contains(oneLine(text.String()), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	table, err := os.ReadFile(filepath.Join(dir, "time", results.TableFile))
	if err != nil || !strings.Contains(string(table), "real_clock_seconds") || strings.Contains(string(table),
		"virtual") {
		t.Errorf("error %v, table %.200s", err, table)
	}
	var m Manifest
	if err := results.ReadManifest(dir, "timeline", &m); err != nil || m.Computed != 6 {
		t.Errorf("error %v, %d cells computed, must be 3 runs and the 3 windows", err, m.Computed)
	}
	if m.Runner != train.HogwildRunner || m.TimeScale != 10 {
		t.Errorf("the manifest has runner %q with time scale %v, must be hogwild with 10", m.Runner, m.TimeScale)
	}
	again, err := spec.Compare(t.Context(), source, o)
	if err != nil || again.Delays[1].Seconds != r.Delays[1].Seconds {
		t.Errorf("error %v, %v s when asked again, must be the %v s kept", err, again.Delays[1].Seconds,
			r.Delays[1].Seconds)
	}
}

// oneLine returns a text on one line, wherever its lines were broken.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Lines that lie in a thin part of the axis after their start are drawn there, and the label says so. Lines that
// need the whole axis keep it.
func TestSkipStart(t *testing.T) {
	line := func(start, end float64) plots.Line {
		var l plots.Line
		for i := range 101 {
			y := end
			if i < 4 {
				y = start
			}
			l.Add(float64(i), y, y-0.01, y+0.01)
		}
		return l
	}
	p := plots.Picture{YLabel: "accuracy", YMax: 1, Lines: []plots.Line{line(0.1, 0.85), line(0.84, 0.85)}}
	skipStart(&p)
	if p.YMin != 0.8 || p.YMax != 0.9 || p.YLabel != "accuracy, axis from 0.8" || len(p.Lines[0].X) != 97 || len(p.Lines[1].X) != 101 {
		t.Errorf("from %v to %v, %q, lines of %d and %d points", p.YMin, p.YMax, p.YLabel, len(p.Lines[0].X), len(p.Lines[1].X))
	}
	p = plots.Picture{YLabel: "accuracy", YMax: 1, Lines: []plots.Line{line(0.1, 0.2), line(0.1, 0.9)}}
	skipStart(&p)
	if p.YMin != 0 || p.YMax != 1 || len(p.Lines[0].X) != 101 || p.YLabel != "accuracy" {
		t.Errorf("lines apart are drawn from %v to %v", p.YMin, p.YMax)
	}
}
