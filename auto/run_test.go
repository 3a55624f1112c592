package auto

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/internal/memory"
	"proactivedp/sim"
	"proactivedp/train"
)

// Without a folder, a simulation gives the same result, bit for bit, as with a folder. A release without a
// folder is refused before anything is read.
func TestWithoutAFolder(t *testing.T) {
	task, source, o := secretTask(t)
	o.Dir = ""
	opened := false
	o.Open = func(context.Context) (Trainer, error) {
		opened = true
		return NewTrainer(source, task, o.Dir, sim.Perf{}, 0, nil), nil
	}
	if _, err := Run(t.Context(), task, o); !errors.Is(err, ErrNoLedger) || opened {
		t.Errorf("a release without a ledger: %v, read: %v, want %v and nothing read", err, opened, ErrNoLedger)
	}
	task.Spec.SeedFromOS = false
	loose, err := Run(t.Context(), task, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = t.TempDir()
	kept, err := Run(t.Context(), task, o)
	if err != nil {
		t.Fatal(err)
	}
	if loose.Model != "" || kept.Model == "" {
		t.Errorf("models in %q and %q, want none and one", loose.Model, kept.Model)
	}
	kept.Model = ""
	a, b := new(strings.Builder), new(strings.Builder)
	if err := errors.Join(loose.WriteText(a), kept.WriteText(b)); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Errorf("without a folder:\n%s\nwith one:\n%s", a, b)
	}
}

// The file of a loop's model contains the bound for all stages together, and the releases of every stage.
func TestSavedModelOfALoop(t *testing.T) {
	task, source, o := secretTask(t)
	o.Open = func(context.Context) (Trainer, error) {
		return NewTrainer(source, task, o.Dir, sim.Perf{}, 0, nil), nil
	}
	r, err := Run(t.Context(), task, o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "loop.model")
	r.DataNote = "NOT covered by (ε, δ): the split"
	s := savedAt(t, path, r, source)
	if s.ParamsSHA256 != r.Params || s.DataSHA256 != "" || s.Averaged != task.Spec.Average {
		t.Errorf("model %s of %q, averaged %q; want %s of no records that are named, %q", s.ParamsSHA256, s.DataSHA256,
			s.Averaged, r.Params, task.Spec.Average)
	}
	if s.DataNote != r.DataNote || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "averaged model") {
		t.Errorf("notes %q and %q", s.DataNote, s.Notes)
	}
	p := s.Privacy
	if *p.EpsilonUpper != r.Privacy.EpsilonUpper || p.Delta != r.Privacy.Delta || s.Statement != r.Privacy.Statement {
		t.Errorf("ε ≤ %v at δ = %v: %q; want %v at %v: %q", *p.EpsilonUpper, p.Delta, s.Statement,
			r.Privacy.EpsilonUpper, r.Privacy.Delta, r.Privacy.Statement)
	}
	rounds, least := 0, math.Inf(1)
	for _, stage := range r.Stages {
		for _, share := range stage.Participants {
			rounds += stage.Rounds
			least = min(least, share.NoiseMultiplier)
		}
	}
	if p.PerRecord.Rounds != rounds || p.NoiseMultiplier != least || len(p.Noise) != len(r.Stages) {
		t.Errorf("%d rounds at σ ≥ %v of %d runs, want %d at %v of %d", p.PerRecord.Rounds, p.NoiseMultiplier,
			len(p.Noise), rounds, least, len(r.Stages))
	}
	total := 0
	for _, release := range s.Releases {
		for _, e := range release.Events {
			total += e.Count
		}
	}
	if total != rounds {
		t.Errorf("releases of %d rounds, want %d", total, rounds)
	}
	if err := (&Report{}).Save(path, train.Inputs{}); err == nil {
		t.Error("a report without a model was saved")
	}
}

// savedAt saves the model of a loop on the source, and returns what its file says.
func savedAt(t *testing.T, path string, r *Report, source *train.Source) *train.Saved {
	t.Helper()
	if err := r.Save(path, train.NewInputs(source.Data(), "", nil)); err != nil {
		t.Fatal(err)
	}
	s, err := train.OpenModel(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The penalty in a model's file is the one that was used in training, even if a client trains on only a
// part of the records that it was assigned.
func TestSavedPenaltyIsThatOfTheTraining(t *testing.T) {
	task, source, o := secretTask(t)
	task.Spec.SeedFromOS, task.Spec.Model, task.Clients[0].Records = false, train.Ridge, 300
	o.Dir = ""
	o.Open = func(context.Context) (Trainer, error) { return NewTrainer(source, task, "", sim.Perf{}, 0, nil), nil }
	r, err := Run(t.Context(), task, o)
	if err != nil {
		t.Fatal(err)
	}
	s := savedAt(t, filepath.Join(t.TempDir(), "loop.model"), r, source)
	if n := s.Privacy.PerRecord.DatasetSize; n != 300 || s.Lambda != 1/float64(o.Public.Records) {
		t.Errorf("λ = %v with N = %d, want 1/%d with 300", s.Lambda, n, o.Public.Records)
	}
}

// A stage uses no more memory than it is given.
func TestStageWithinMemory(t *testing.T) {
	task, source, o := secretTask(t)
	task.Spec.SeedFromOS, o.Dir = false, ""
	o.Open = func(context.Context) (Trainer, error) { return NewTrainer(source, task, "", sim.Perf{}, 1, nil), nil }
	if _, err := Run(t.Context(), task, o); !errors.Is(err, memory.ErrTooLittle) {
		t.Errorf("within a byte: %v", err)
	}
}

// The spent part of a budget in a report is rounded up, so the true value is not larger.
func TestSpentPartIsRoundedUp(t *testing.T) {
	for used, want := range map[float64]string{0: "0 %", 0.123441: "12.35 %", 0.5: "50 %", 1: "100 %"} {
		if got := percentUsed(used); got != want {
			t.Errorf("%v is shown as %q, want %q", used, got, want)
		}
	}
}
