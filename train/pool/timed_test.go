package pool

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"proactivedp/internal/cpu"
	"proactivedp/internal/timeline"
	"proactivedp/sim"
	"proactivedp/train"
)

// timedRun runs the spec on the drawn data.
func timedRun(t *testing.T, spec train.Spec, looks int) (*Timed, *train.Prepared) {
	t.Helper()
	p, err := spec.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := runTimed(context.Background(), p, sim.Perf{}, looks, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	return run, p
}

// Watching leaves the run as it is, looks come in the order of time, and every
// round is counted once.
func TestTimedRunIsTheRun(t *testing.T) {
	spec := smallSpec()
	spec.Delay = "3"
	run, p := timedRun(t, spec, 40)
	r, err := p.Train(context.Background(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last := run.Accuracy[40]; len(run.Accuracy) != 41 || last != r.TestAccuracy {
		t.Errorf("%d looks, the last %v; want 41 and %v", len(run.Accuracy), last, r.TestAccuracy)
	}
	if !slices.IsSorted(run.At) || run.At[0] != 0 || run.At[40] > run.Clock {
		t.Errorf("looks at %v of a run that ends at %v", run.At, run.Clock)
	}
	rounds := 0
	for _, n := range run.Staleness {
		rounds += n
	}
	if mean, most := run.Lag(); rounds != r.Updates || most != r.MaxLag || mean <= 0 || mean > float64(most) {
		t.Errorf("%d rounds, mean lag %v, largest %d; want %d rounds, largest %d", rounds, mean, most, r.Updates,
			r.MaxLag)
	}
	for c := range run.Busy {
		if w := run.Waiting(c); w < 0 || w >= 1 || run.Done[c] > run.Clock || run.Busy[c] <= 0 {
			t.Errorf("client %d: busy %v until %v, idle %v", c, run.Busy[c], run.Done[c], w)
		}
	}
	if free := func() *Timed { spec.Delay = "unlimited"; r, _ := timedRun(t, spec, 1); return r }(); free.Idle() != 0 {
		t.Errorf("unlimited delay: idle %v, want 0: nobody ever waits", free.Idle())
	}
}

// The window of a synchronous run: no client begins round i + 1 before all updates
// of round i are in, and every first round is there.
func TestWindowOfASynchronousRun(t *testing.T) {
	spec := smallSpec()
	spec.Delay = "0"
	p, err := spec.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := runWindow(context.Background(), p, sim.Perf{}, 4)
	if err != nil {
		t.Fatal(err)
	}
	in := make([]sim.Time, 6)
	first := 0
	for _, r := range w.Rounds {
		if r.Round < 4 {
			first++
			in[r.Round] = max(in[r.Round], r.Arrives)
		}
	}
	for _, r := range w.Rounds {
		if r.Lag != 0 || r.To < r.From || r.Round > 0 && r.From < in[r.Round-1] {
			t.Errorf("%+v; the updates of the round before are in at %v", r, in[max(r.Round-1, 0)])
		}
	}
	if first != 4*spec.Clients {
		t.Errorf("%d first rounds, want %d", first, 4*spec.Clients)
	}
	for _, b := range w.Broadcasts {
		if b.Sent < in[b.K-1] || b.Arrives < b.Sent {
			t.Errorf("%+v; the updates it has are in at %v", b, in[b.K-1])
		}
	}
}

// With messages that all take equally long, every broadcast of a window does: the
// one that a client gets on its return is not mistaken for what others get. (A
// client that returns while one is on its way may have two of one k.)
func TestWindowOfClientsThatReturn(t *testing.T) {
	const latency = 20 * time.Millisecond
	spec := smallSpec()
	spec.Latency, spec.Churn = "constant:"+latency.String(), "60ms,10ms"
	p, err := spec.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := runWindow(context.Background(), p, sim.Perf{}, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range w.Broadcasts {
		returned := slices.ContainsFunc(w.Away, func(a timeline.Away) bool {
			return a.Client == b.Client && a.To > b.Arrives-sim.Time(latency) && a.To <= b.Arrives
		})
		if !returned && b.Arrives-b.Sent != sim.Time(latency) {
			t.Errorf("%+v took %v", b, time.Duration(b.Arrives-b.Sent))
		}
	}
	if len(w.Away) == 0 || len(w.Broadcasts) == 0 {
		t.Errorf("%d absences, %d broadcasts", len(w.Away), len(w.Broadcasts))
	}
}

// Of a run that diverged nobody knows how long its clients waited.
func TestWaitingOfARunThatDiverged(t *testing.T) {
	run := &Timed{Busy: []sim.Time{1}, Done: []sim.Time{2}}
	run.diverge(1, 5)
	if w := run.Waiting(0); w != 0 {
		t.Errorf("a client of a run that diverged waited %v of its time, want 0", w)
	}
}

// What is measured on a real clock is found again on that machine alone. What is known of a
// training on the virtual clock has the same words as before, and so the same key.
func TestRealClocksAreOfAMachine(t *testing.T) {
	source, virtual := train.NewSource(drawn()), smallSpec()
	type before struct {
		Kind   string     `json:"kind"`
		Train  train.Spec `json:"train"`
		Data   string     `json:"data_sha256"`
		Looks  int        `json:"looks,omitempty"`
		Rounds int        `json:"rounds,omitempty"`
	}
	measured := virtual
	measured.Runner, measured.TimeScale = train.HogwildRunner, 1
	for kind, of := range map[string]struct {
		cell func(train.Spec) Cell
		was  before
	}{
		"timed":  {func(s train.Spec) Cell { return OfTimed(s, 7, source) }, before{Looks: 7}},
		"window": {func(s train.Spec) Cell { return OfWindow(s, 7, source) }, before{Rounds: 7}},
	} {
		of.was.Kind, of.was.Train, of.was.Data = kind, virtual, source.Hash()
		got, want := of.cell(virtual), of.cell(virtual)
		want.Spec = of.was
		if g, w := keyOf(t, got), keyOf(t, want); g != w {
			t.Errorf("%s on the virtual clock has the key %s, must have %s", kind, g, w)
		}
		got, want = of.cell(measured), of.cell(measured)
		of.was.Train = measured
		want.Spec = struct {
			before
			Machine string `json:"machine"`
		}{of.was, cpu.Describe()}
		if g, w := keyOf(t, got), keyOf(t, want); g != w {
			t.Errorf("%s on a real clock has the key %s, must have %s, of its machine", kind, g, w)
		}
	}
}

// keyOf is the key of a cell.
func keyOf(t *testing.T, c Cell) string {
	t.Helper()
	key, err := c.Key()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// A training that is looked at less than once is an error that says so, and no division by zero.
func TestCellsAreLookedAt(t *testing.T) {
	source, spec := train.NewSource(drawn()), smallSpec()
	for _, n := range []int{0, -1, math.MinInt, maxViews + 1} {
		for want, c := range map[string]Cell{"points": OfCurve(spec, n, source), "looks": OfTimed(spec, n, source),
			"rounds": OfWindow(spec, n, source)} {
			_, err := c.Run(t.Context(), sim.Perf{}, func(float64) {}, train.Keep{})
			if _, failed := c.Cost(1); err == nil || failed == nil || !strings.Contains(err.Error(), want+" = ") {
				t.Errorf("%d: errors %v and %v, want one of %s", n, err, failed, want)
			}
		}
	}
}
