package auto

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/report"
	"proactivedp/rng"
	"proactivedp/train"
)

// The public facts about the data are checked before they are used. With no records, no sample can be
// drawn, and each client needs records of its own to judge a model.
func TestPublicIsChecked(t *testing.T) {
	for _, strategy := range Strategies() {
		task := Task{Spec: train.DefaultSpec(), Strategy: strategy, Clients: []Client{{Epsilon: 1, Accuracy: 0.9,
			Records: 50}}}
		task.Spec.Clients, task.Spec.NoiseMultiplier, task.Spec.Holdout = 1, 0, 0.1
		utility := func(context.Context, Question) (Outlook, error) {
			t.Errorf("%s: the utility graph is asked for", strategy)
			return Outlook{}, context.Canceled
		}
		for want, p := range map[string]Public{
			"records = 0": {HeldOut: []int{10}}, "held-out records of 0 clients": {Records: 100},
			"held-out records = 9 of client 0": {Records: 100, HeldOut: []int{9}},
			"records = 50, must be at most":    {Records: 49, HeldOut: []int{10}},
		} {
			open := func(context.Context) (Trainer, error) { return nil, context.Canceled }
			_, err := Run(t.Context(), task, Options{Public: p, Utility: utility, Open: open})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %+v: error %v, want %q", strategy, p, err, want)
			}
		}
		if _, err := Run(t.Context(), task, Options{Public: Public{Records: 100, HeldOut: []int{10}}}); err == nil ||
			!strings.Contains(err.Error(), "Utility and Open") {
			t.Errorf("%s, without a utility graph: error %v", strategy, err)
		}
	}
}

// A utility graph from which no stage can be planned is refused before anything is charged. Otherwise the
// stage would fail each time, and its budget would be lost.
func TestUtilityIsChecked(t *testing.T) {
	good := Point{Clip: 0.1, Sigma: 4, Eta0: 0.1, Accuracy: 0.9}
	for want, change := range map[string]func(*Point){
		"Clip:0":        func(p *Point) { p.Clip = 0 },
		"Sigma:-4":      func(p *Point) { p.Sigma = -4 },
		"Eta0:+Inf":     func(p *Point) { p.Eta0 = math.Inf(1) },
		"Accuracy:NaN":  func(p *Point) { p.Accuracy = math.NaN() },
		"Accuracy:1.25": func(p *Point) { p.Accuracy = 1.25 },
	} {
		task, dir := taskOf(Tight, data.Shard, Client{Epsilon: 1, Accuracy: 0.8}), t.TempDir()
		o := optionsOf(dir, task, 1000, &fake{clients: 1, judge: never})
		o.Utility = func(context.Context, Question) (Outlook, error) {
			bad := good
			change(&bad)
			return Outlook{Points: []Point{good, bad}}, nil
		}
		_, err := Run(t.Context(), task, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, err := os.Stat(filepath.Join(dir, JournalFile)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a stage is charged (%v)", want, err)
		}
	}
}

// few tests for fewer clients than there are.
type few struct {
	*fake
	test []Tested
}

func (f few) Test([]float32) ([]Tested, error) { return f.test, nil }

// If the user's own trainer does not report a value for every client, the error says so.
func TestTrainerTestsForAllClients(t *testing.T) {
	task := taskOf(Tight, data.Shard, Client{Epsilon: 1, Accuracy: 0.8}, Client{Epsilon: 1, Accuracy: 0.8})
	for n := range 4 {
		f := &fake{clients: 2, judge: func(int) float64 { return 0.9 }}
		o := optionsOf(t.TempDir(), task, 1000, f)
		o.Open = func(context.Context) (Trainer, error) { return few{f, make([]Tested, n)}, nil }
		_, err := Run(t.Context(), task, o)
		if good := n == 2; (err == nil) != good || !good && !strings.Contains(err.Error(), "must be for all 2") {
			t.Errorf("%d clients are tested for: %v", n, err)
		}
	}
}

// Only probes that take long report their progress.
func TestShortProbesAreSilent(t *testing.T) {
	spec := train.DefaultSpec()
	spec.Data, spec.GradComps = "synth-drawn", 300
	p := Probe{Source: train.NewSource(synth.OneHot(rng.New(3), 400)), Spec: spec}
	p.Trials.Progress = io.Discard
	run, err := p.Source.Prepare(spec)
	if err != nil {
		t.Fatal(err)
	}
	long := report.LongRun / run.Work()
	for number, silent := range map[float64]bool{1: true, 0.99 * long: true, 1.01 * long: false} {
		o, err := p.trials(number, spec)
		if err != nil || (o.Progress == nil) != silent {
			t.Errorf("%v trainings: %v, %v, must be silent: %v", number, o.Progress, err, silent)
		}
	}
}
