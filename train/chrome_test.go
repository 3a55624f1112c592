package train

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/sim"
)

// traceFile is what a viewer reads of a trace.
type traceFile struct {
	Events []struct {
		Name string         `json:"name"`
		Ph   string         `json:"ph"`
		TS   float64        `json:"ts"`
		Dur  float64        `json:"dur"`
		TID  int            `json:"tid"`
		ID   string         `json:"id"`
		Args map[string]any `json:"args"`
	} `json:"traceEvents"`
	Counts TraceCounts `json:"otherData"`
}

// traceOf trains with a trace and reads it back.
func traceOf(t *testing.T, spec Spec) (traceFile, *Report) {
	t.Helper()
	p, err := spec.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	p.Trace = NewTrace(&text, p.Config.Clients())
	r, err := p.Train(context.Background(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Trace.Close(); err != nil {
		t.Fatal(err)
	}
	var f traceFile
	if err := json.Unmarshal(text.Bytes(), &f); err != nil {
		t.Fatalf("%v in\n%s", err, text.Bytes())
	}
	return f, r
}

// A trace has every round and every update that the report counts, with slices of a track in sequence and
// an arrow for each update. Writing it does not change the run.
func TestTraceTellsTheRun(t *testing.T) {
	calm := smallSpec()
	calm.Delay, calm.Latency = "3", "exponential:40us"
	f, r := checkTrace(t, calm)
	if want := (TraceCounts{Rounds: r.Updates, Updates: r.Updates,
		Broadcasts: f.Counts.Broadcasts}); f.Counts != want || f.Counts.Broadcasts < 1 {
		t.Errorf("counts %+v, want %+v", f.Counts, want)
	}
	rough := calm
	rough.Loss, rough.Resend, rough.Duplicate, rough.Churn = 0.1, "200us", 0.1, "1ms,300us"
	f, r = checkTrace(t, rough)
	if c := f.Counts; c.Rounds != r.Updates || c.Aborted == 0 || c.Updates <= r.Updates {
		t.Errorf("counts %+v, want %d rounds, some aborted, and duplicates", c, r.Updates)
	}
	names := map[string]bool{}
	for _, e := range f.Events {
		names[e.Name] = true
	}
	for _, want := range []string{"waits", "away", "message lost", "message resent", "message duplicated",
		"client leaves", "client returns"} {
		if !names[want] {
			t.Errorf("nothing is called %q", want)
		}
	}
}

// checkTrace trains with a trace, checks it, and returns the trace and the report.
func checkTrace(t *testing.T, spec Spec) (traceFile, *Report) {
	t.Helper()
	f, r := traceOf(t, spec)
	type slice struct{ from, to float64 }
	tracks := map[int][]slice{}
	arrows := map[string][2]float64{}
	rounds, updates, lag := 0, 0, 0.0
	for _, e := range f.Events {
		switch {
		case e.Ph == "X":
			tracks[e.TID] = append(tracks[e.TID], slice{e.TS, e.TS + e.Dur})
			if strings.HasPrefix(e.Name, "round ") && e.Args["aborted"] == nil {
				rounds++
				lag = max(lag, e.Args["lag"].(float64))
			}
		case e.Ph == "i" && strings.HasPrefix(e.Name, "update of"):
			updates++
		case e.Ph == "s" || e.Ph == "f":
			way := arrows[e.ID]
			way[strings.Index("sf", e.Ph)] = e.TS
			arrows[e.ID] = way
		}
	}
	if rounds != r.Updates || updates != f.Counts.Updates || len(arrows) != r.Updates || lag != float64(r.MaxLag) {
		t.Errorf("%d rounds, %d updates, %d arrows, lag %v; want %d of each and %d", rounds, updates, len(arrows), lag,
			r.Updates, r.MaxLag)
	}
	checkArrows(t, f)
	for id, way := range arrows {
		if way[0] <= 0 || way[1] < way[0] {
			t.Errorf("update %s is sent at %v and arrives at %v", id, way[0], way[1])
		}
	}
	if len(tracks) != spec.Clients+1 {
		t.Errorf("%d tracks, want the server's and %d", len(tracks), spec.Clients)
	}
	for track, parts := range tracks {
		slices.SortFunc(parts, func(a, b slice) int { return cmp.Compare(a.from, b.from) })
		for i := 1; i < len(parts); i++ {
			// The sum of two decimals may be off by half a nanosecond.
			if parts[i].from < parts[i-1].to-5e-4 {
				t.Errorf("track %d: a slice begins at %v, the one before ends at %v", track, parts[i].from,
					parts[i-1].to)
			}
		}
	}
	p, err := spec.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := p.Train(context.Background(), sim.Perf{}, nil); err != nil ||
		plain.ParamsSHA256 != r.ParamsSHA256 {
		t.Errorf("the trace changed the run (error %v)", err)
	}
	return f, r
}

// checkArrows wants the server on the first track and client c on track c + 1, and
// the arrow of an update to begin within the slice of its round: a viewer draws no
// other.
func checkArrows(t *testing.T, f traceFile) {
	t.Helper()
	type round struct {
		track int
		name  string
	}
	begins, ends := map[round]float64{}, map[round]float64{}
	for _, e := range f.Events {
		if e.Ph == "X" {
			begins[round{e.TID, e.Name}], ends[round{e.TID, e.Name}] = e.TS, e.TS+e.Dur
		}
	}
	for _, e := range f.Events {
		if e.Name == "thread_name" {
			want := "server"
			if e.TID > 0 {
				want = fmt.Sprintf("client %d", e.TID-1)
			}
			if e.Args["name"] != want {
				t.Errorf("track %d is called %v, want %s", e.TID, e.Args["name"], want)
			}
		}
		if e.Ph != "s" {
			continue
		}
		var client, number int
		if _, err := fmt.Sscanf(e.ID, "%d.%d", &client, &number); err != nil {
			t.Fatalf("arrow %q: %v", e.ID, err)
		}
		of := round{client + 1, fmt.Sprintf("round %d", number)}
		// The sum of two decimals may be off by half a nanosecond.
		if e.TID != of.track || e.TS < begins[of] || e.TS > ends[of]-5e-4 {
			t.Errorf("the arrow %s begins at %v on track %d, its round is from %v to %v",
				e.ID, e.TS, e.TID, begins[of], ends[of])
		}
	}
}

// The virtual clock is in nanoseconds, the format in microseconds.
func TestTraceIsExactToTheNanosecond(t *testing.T) {
	for at, want := range map[micros]string{0: "0.000", 1: "0.001", 1_234_567: "1234.567",
		math.MaxInt64: "9223372036854775.807"} {
		if got, err := at.MarshalJSON(); string(got) != want || err != nil {
			t.Errorf("%d ns is written %s, want %s", at, got, want)
		}
	}
}

func TestTraceIsRefused(t *testing.T) {
	spec := smallSpec()
	spec.Runner = HogwildRunner
	for name, s := range map[string]Spec{"runner": spec, "must be at most": func() Spec {
		s := smallSpec()
		s.GradComps, s.SampleSize = MaxTraceRounds, "1"
		return s
	}()} {
		p, err := s.Prepare(drawn(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckTrace(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// fullDisk takes some bytes and no more.
type fullDisk struct{ left int }

var errFull = errors.New("no space left")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestTraceSaysThatItIsNotWhole(t *testing.T) {
	trace := NewTrace(&fullDisk{1000}, 1)
	for i := range 20 {
		trace.happen(sim.Happening{Kind: sim.RoundEnds, Number: i, At: sim.Time(i)})
	}
	if err := trace.Close(); !errors.Is(err, errFull) {
		t.Errorf("error %v, want that of the writer", err)
	}
}
