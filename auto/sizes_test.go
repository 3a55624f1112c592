package auto

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// In the paper's appendix "DP Calculator", each client j has its own sample size s_j and T_j = ⌊K_j/s_j⌋ rounds: those
// that Theorem simpleF allows for its own records, budget and earlier rounds.
func TestEachClientHasTheSizeOfItsOwnLedger(t *testing.T) {
	clients := []Client{{Epsilon: 0.5, Accuracy: 0.8}, {Epsilon: 3, Accuracy: 0.8, Records: 3000}, {Epsilon: 3, Accuracy: 0.8},
		{Epsilon: 1, Accuracy: 0.8, Delta: 1e-6}}
	for _, strategy := range []Strategy{Paper, PaperTarget} {
		task, dir := taskOf(strategy, data.Shard, clients...), t.TempDir()
		r, err := Run(t.Context(), task, optionsOf(dir, task, 8000, &fake{clients: 4, judge: never}))
		if err != nil {
			t.Fatal(err)
		}
		j, err := readJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		outlook := j.Tasks[0].Outlook
		c := calculator{task: task, outlook: outlook}
		for i, a := range j.Accounts {
			alone, err := newLedger(a)
			if err != nil {
				t.Fatal(err)
			}
			var past []Stage
			for number, s := range r.Stages {
				k := slices.IndexFunc(s.Participants, func(p train.Participant) bool { return p.Client == i })
				if k < 0 {
					continue
				}
				size, rounds := s.RunOf(s.Participants[k])
				p, err := c.paper(t.Context(), alone, past, 1, 0.8)
				if err != nil || p.size != size || p.sigma != s.Participants[k].NoiseMultiplier {
					t.Errorf("%s, stage %d, client %d: s = %d at σ = %v, by itself it has %d at %v (%v)", strategy, number, i, size,
						s.Participants[k].NoiseMultiplier, p.size, p.sigma, err)
				}
				// K_j is a multiple of the least size, so a client may have one round less.
				if most := p.comps / size; rounds > most || rounds < most-1 {
					t.Errorf("%s, stage %d, client %d: %d rounds of s = %d, K = %d", strategy, number, i, rounds, size, p.comps)
				}
				events := s.events(a, task.Spec.Seed)
				if len(events) != 1 || events[0].SampleSize != size || events[0].Count != rounds || events[0].DatasetSize != a.Records {
					t.Errorf("%s, stage %d, client %d is charged %+v", strategy, number, i, events)
				}
				if err := alone.spend(t.Context(), number, events); err != nil {
					t.Fatal(err)
				}
				past = append(past, s.Stage)
			}
			if b, err := (pld.Accountant{}).Epsilon(t.Context(), alone.events, a.Delta); err != nil || b.EpsilonUpper > a.Epsilon {
				t.Errorf("%s, client %d: ε ≤ %v, must be at most %v (%v)", strategy, i, b.EpsilonUpper, a.Epsilon, err)
			}
		}
		first := r.Stages[0]
		if small, large := first.Participants[1], first.Participants[2]; small.SampleSize >= large.SampleSize {
			t.Errorf("%s: s = %d for 3000 records, %d for 8000", strategy, small.SampleSize, large.SampleSize)
		}
		if text := first.String(); !strings.Contains(text, " to ") || !strings.Contains(text, "client 2 σ = ") || !strings.Contains(text, "(s = ") {
			t.Errorf("%s: %s", strategy, text)
		}
	}
}

// Clients with equal records and budgets have equal sizes, and their stage is described and stored as before clients had
// their own.
func TestEqualSizesAreStoredOnce(t *testing.T) {
	task := taskOf(Paper, data.Shard, Client{Epsilon: 1, Accuracy: 0.8}, Client{Epsilon: 1, Accuracy: 0.8})
	r, err := Run(t.Context(), task, optionsOf(t.TempDir(), task, 8000, &fake{clients: 2, judge: never}))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Stages {
		text, err := json.Marshal(s.Participants)
		if err != nil || strings.Contains(string(text), "sample_size") || strings.Contains(s.String(), " to ") {
			t.Errorf("%s: %s (%v)", s.String(), text, err)
		}
	}
}

// A stage whose clients have their own sizes runs exactly the rounds that were charged, and continues after an
// interruption to the same bits.
func TestOwnSizesRunAsCharged(t *testing.T) {
	task := taskOf(Paper, data.Shard, Client{Epsilon: 1, Accuracy: 1}, Client{Epsilon: 3, Accuracy: 1},
		Client{Epsilon: 3, Accuracy: 1, Records: 700})
	source := train.NewSource(synth.OneHot(rng.New(3), 6000))
	public, err := PublicOf(source, task)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Public: public, Utility: func(ctx context.Context, q Question) (Outlook, error) {
		out, err := linear(ctx, q)
		out.Same = false // nothing is refused for its target
		return out, err
	}}
	trainer := func(dir string) Trainer { return NewTrainer(source, task, dir, sim.Perf{}, 0, nil) }
	o.Open = func(context.Context) (Trainer, error) { return trainer(""), nil }
	want, err := Run(t.Context(), task, o)
	if err != nil {
		t.Fatal(err)
	}
	if first := want.Stages[0]; first.Participants[2].SampleSize != 0 || first.Participants[0].SampleSize <= first.SampleSize ||
		first.Participants[1].SampleSize <= first.Participants[0].SampleSize {
		t.Fatalf("stage 0: %s", &first.Stage)
	}
	o.Dir = t.TempDir()
	left := 1
	o.Open = func(context.Context) (Trainer, error) {
		return stopped{Trainer: trainer(o.Dir), left: &left, look: func(Stage) {}}, nil
	}
	if _, err := Run(t.Context(), task, o); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	got, err := Run(t.Context(), task, o)
	if err != nil || got.Params != want.Params {
		t.Fatalf("continued to %v, want %v (%v)", got, want.Params, err)
	}
	last := got.Stages[len(got.Stages)-1]
	own := slices.ContainsFunc(last.Participants, func(p train.Participant) bool { return p.SampleSize > 0 })
	saved := savedAt(t, filepath.Join(t.TempDir(), "own.model"), got, source)
	if noted := strings.Contains(strings.Join(saved.Notes, "; "), "clients had their own batch sizes: "); noted != own {
		t.Errorf("notes %q of a model of %s", saved.Notes, &last.Stage)
	}
	// What was released is compared with the charge of each client.
	s := got.Stages[0].Stage
	p, err := source.PrepareStage(s.Spec(task), train.Stage{Participants: s.Participants})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "their own batch sizes, up to ") {
		t.Errorf("notes %q", p.Notes)
	}
	ran, err := p.Run(t.Context(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	accounts := accountsOf(task, public)
	if err := s.check(accounts, task.Spec.Seed, ran); err != nil {
		t.Error(err)
	}
	for i, p := range s.Participants {
		size, rounds := s.RunOf(p)
		e := ran.Ledgers[i].Events()[0]
		if e.SampleSize != size || e.Count != rounds {
			t.Errorf("client %d ran %d rounds of s = %d, must be %d of %d", i, e.Count, e.SampleSize, rounds, size)
		}
		other := s
		other.Participants = slices.Clone(s.Participants)
		other.Participants[i].SampleSize = size + 1
		if err := other.check(accounts, task.Spec.Seed, ran); !errors.Is(err, errLedger) {
			t.Errorf("client %d, charged for s = %d instead of %d: %v", i, size+1, size, err)
		}
	}
	// ε is that of the client whose own rounds cost the most.
	released, err := p.ReleasedPrivacy(t.Context(), ran)
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i := range ran.Ledgers {
		e := ran.Ledgers[i].Events()[0]
		e.Noise = dp.Noise{}
		b, err := (pld.Accountant{}).Epsilon(t.Context(), []dp.Event{e}, p.Delta)
		if err != nil {
			t.Fatal(err)
		}
		worst = max(worst, b.EpsilonUpper)
	}
	if *released.EpsilonUpper != worst {
		t.Errorf("ε ≤ %v, the costliest client has %v", *released.EpsilonUpper, worst)
	}
}

// A stored stage with impossible sizes is refused.
func TestStoredSizesAreChecked(t *testing.T) {
	for want, change := range map[string]func(t *Task, s *Stage){
		"client 1: sample size = 4":            func(_ *Task, s *Stage) { s.Participants[1].SampleSize = 4 },
		"client 1: sample size = 5":            func(_ *Task, s *Stage) { s.Participants[1].SampleSize = 5 },
		"client 0: sample size = -1":           func(_ *Task, s *Stage) { s.Participants[0].SampleSize = -1 },
		"client 1: sample size = 51":           func(_ *Task, s *Stage) { s.Participants[1].SampleSize = 51 },
		`and 0 with strategy "tight"`:          func(t *Task, s *Stage) { t.Strategy, s.Participants[1].SampleSize = Tight, 6 },
		"sample size = 5, must be that of a c": func(_ *Task, s *Stage) { s.Participants[0].SampleSize, s.Participants[1].SampleSize = 6, 7 },
	} {
		task := taskOf(Paper, data.Shard, Client{Epsilon: 1, Accuracy: 0.8}, Client{Epsilon: 1, Accuracy: 0.8})
		s := Stage{SampleSize: 5, Rounds: 10, Participants: []train.Participant{{Client: 0, NoiseMultiplier: 1, Run: 1},
			{Client: 1, NoiseMultiplier: 1, Run: 2}}}
		if err := s.validate(task); err != nil {
			t.Fatal(err)
		}
		change(&task, &s)
		if err := s.validate(task); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
