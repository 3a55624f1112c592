package experiments

import (
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/results"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// courseOf is a course of three stages: client 0 is away in the second.
func courseOf(r LoopRequest) Course {
	c := Course{Probe: "nothing", Accountant: "none"}
	for _, client := range r.Clients {
		c.Clients = append(c.Clients, CourseEnd{EpsilonUpper: client.Epsilon, Delta: 1e-3, TestAccuracy: 0.9})
	}
	for number := range 3 {
		s := CourseStage{SampleSize: 4, Rounds: 10, Clip: 1, Eta0: 0.1}
		for range r.Clients {
			s.Sigma, s.HeldOut, s.Used = append(s.Sigma, 2), append(s.HeldOut, 0.88), append(s.Used, 0.2)
		}
		if number == 1 {
			s.Sigma[0] = 0
		}
		c.Stages = append(c.Stages, s)
	}
	return c
}

// The figure of a course shows each client in each stage for each seed. If its Loop does not give all of
// them, that is an error.
func TestFigureOfACourse(t *testing.T) {
	figures, err := Select([]string{"phishing-course"})
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, t.TempDir())
	o.Load = func(context.Context, string) (*data.Dataset, error) { return synth.OneHot(rng.New(3), 800), nil }
	if err := Make(t.Context(), figures, o); err == nil || !strings.Contains(err.Error(), "scale = 0.05") {
		t.Errorf("at a twentieth of the size: error %v", err)
	}
	o.Scale = 1
	if err := Make(t.Context(), figures, o); err == nil || !strings.Contains(err.Error(), "loop = nil") {
		t.Errorf("without a Loop: error %v", err)
	}
	o.Loop = func(context.Context, *train.Source, LoopRequest, sim.Perf) (Course, error) {
		return Course{}, nil
	}
	if err := Make(t.Context(), figures, o); err == nil || !strings.Contains(err.Error(), "0 clients and 0 stages") {
		t.Errorf("of a course without stages: error %v", err)
	}
	var asked atomic.Int64
	o.Loop = func(_ context.Context, _ *train.Source, r LoopRequest, _ sim.Perf) (Course, error) {
		asked.Add(1)
		if len(r.Clients) != r.Train.Clients || r.Train.Holdout == 0 || r.Train.Partition != string(data.Shard) {
			return Course{}, errors.New("not what a loop of shards needs")
		}
		return courseOf(r), nil
	}
	for range 2 { // a finished course is kept
		if err := Make(t.Context(), figures, o); err != nil {
			t.Fatal(err)
		}
	}
	if got := asked.Load(); got != int64(o.Seeds) {
		t.Errorf("asked for %d courses, want one for each of %d seeds", got, o.Seeds)
	}
	text, err := os.ReadFile(filepath.Join(o.Out, "phishing-course", results.TableFile))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) != 1+o.Seeds*3*len(courseClients) {
		t.Fatalf("%d rows of data, error %v; want a header and 3 stages of %d clients for %d seeds", len(rows), err,
			len(courseClients), o.Seeds)
	}
	// CourseClient 0 is away in stage 1, and its target of 0.85 is below 0.88; client 4's is above.
	second, fifth := strings.Join(rows[1+len(courseClients)], " "), strings.Join(rows[2*len(courseClients)], " ")
	if want := "1 tight 1 20 4 10 1 0.1 0 0.3 0.85 false  0.88 true 0.2"; second != want {
		t.Errorf("%q, want %q", second, want)
	}
	if want := "1 tight 1 20 4 10 1 0.1 4 3 0.95 true 2 0.88 false 0.2"; fifth != want {
		t.Errorf("%q, want %q", fifth, want)
	}
}
