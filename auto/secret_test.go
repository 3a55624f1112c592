package auto

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/bounded"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// secretTask is of two stages whose noise is the operating system's, on drawn rows.
func secretTask(t *testing.T) (Task, *train.Source, Options) {
	t.Helper()
	task := taskOf(Tight, data.Replicate, Client{Epsilon: 2, Accuracy: 1})
	task.Spec.SeedFromOS, task.Spec.Average, task.Stages = true, "tail:0.5", 3
	source := train.NewSource(synth.OneHot(rng.New(3), 1200))
	public, err := PublicOf(source, task)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: t.TempDir(), Public: public}
	o.Utility = func(ctx context.Context, q Question) (Outlook, error) {
		out, err := linear(ctx, q)
		out.Same = false // nothing is refused for its target
		return out, err
	}
	o.Open = func(context.Context) (Trainer, error) {
		return NewTrainer(source, task, o.Dir, sim.Perf{}, 0, nil), nil
	}
	return task, source, o
}

var errStopped = errors.New("planted interrupt")

// stopped is a trainer that is interrupted before it trains the last of so many stages.
type stopped struct {
	Trainer
	left *int
	look func(Stage)
}

func (s stopped) Train(ctx context.Context, stage Stage, initial []float32) ([]float32, error) {
	s.look(stage)
	if *s.left--; *s.left == 0 {
		return nil, errStopped
	}
	return s.Trainer.Train(ctx, stage, initial)
}

// During a stage, its secret is in a file in the folder that only the owner can read, and in no journal.
// An interrupted loop continues with this secret to the same bits, whichever process continues it. Then
// the file is removed. Every stage has another secret.
func TestSecretOfAStage(t *testing.T) {
	task, source, o := secretTask(t)
	seen := map[string]bool{}
	left := 2
	open := o.Open
	o.Open = func(ctx context.Context) (Trainer, error) {
		trainer, err := open(ctx)
		return stopped{trainer, &left, func(s Stage) {
			path := filepath.Join(o.Dir, secretFile)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("the secret has mode %v (%v), must be for its owner alone", info.Mode(), err)
			}
			journal, err := os.ReadFile(filepath.Join(o.Dir, JournalFile))
			if err != nil || bytes.Contains(journal, bytes.TrimSpace(text)) {
				t.Errorf("the journal holds the secret (%v)", err)
			}
			if !strings.HasPrefix(s.Root, "secret:") || seen[s.Root] {
				t.Errorf("noise of %q, must be of a secret of its own", s.Root)
			}
			seen[s.Root] = true
		}}, err
	}
	if _, err := Run(t.Context(), task, o); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	// Twice from what is in the folder now: the stage under way has the same bits, and what is
	// under way after it other ones.
	var models []string
	for range 2 {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(o.Dir)); err != nil {
			t.Fatal(err)
		}
		again := o
		again.Dir = dir
		again.Open = func(context.Context) (Trainer, error) {
			return NewTrainer(source, task, dir, sim.Perf{}, 0, nil), nil
		}
		r, err := Run(t.Context(), task, again)
		if err != nil || len(r.Stages) < 3 {
			t.Fatalf("%+v, %v", r, err)
		}
		if r.Privacy.Simulation || strings.Contains(r.Privacy.Statement, "seed 1") {
			t.Errorf("said to be a simulation: %s", r.Privacy.Statement)
		}
		models = append(models, r.Stages[1].Params, r.Params)
		if _, err := os.Stat(filepath.Join(dir, secretFile)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the secret of the last stage is still there (%v)", err)
		}
	}
	if models[0] != models[2] || models[1] == models[3] {
		t.Errorf("models %v: the stage that was under way must be the same, what came after it must not", models)
	}
}

// A stage is not trained if its secret is lost, damaged or from another stage: with other noise it would
// be a second release. The error says what the stage has cost, and that only a task in another folder can
// be run now.
func TestLostSecretIsRefused(t *testing.T) {
	task, _, o := secretTask(t)
	left := 1
	open := o.Open
	o.Open = func(ctx context.Context) (Trainer, error) {
		trainer, err := open(ctx)
		return stopped{trainer, &left, func(Stage) {}}, err
	}
	if _, err := Run(t.Context(), task, o); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	o.Open = open
	path := filepath.Join(o.Dir, secretFile)
	j, err := readJournal(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	ledgers, err := j.ledgers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	used, err := ledgers[0].used(t.Context())
	if err != nil || !(used > 0) {
		t.Fatal(used, err)
	}
	paid := fmt.Sprintf("clients %v: %s of ε = 2 at δ = %v", ledgers[0].Clients, percentUsed(used), ledgers[0].Delta)
	for _, c := range []struct{ text, want string }{
		{"", "stage.secret is damaged"},
		{"zz", "stage.secret is damaged"},
		{strings.Repeat("ab", rng.MinSecret+1), "stage.secret is damaged"},
		{strings.Repeat("ab", rng.MinSecret), "the stage under way is charged with noise of secret:"},
		{strings.Repeat("ab", 1000), bounded.ErrTooLarge.Error()},
		{"gone", "stage.secret is missing"},
	} {
		err := os.WriteFile(path, []byte(c.text), 0o600)
		if c.text == "gone" {
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(t.Context(), task, o)
		for _, want := range []string{c.want, "restore the file", paid, "another folder"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, must say %q", c.text, err, want)
			}
		}
	}
	j, err = readJournal(o.Dir)
	if err != nil || len(j.Stages) != 1 {
		t.Errorf("%+v: the stage must be charged once (%v)", j, err)
	}
}

// A task that uses a seed and a task that uses the operating system's randomness are charged to the same
// ledger. The statement says that some of the releases are simulations.
func TestSecretAndSeedShareALedger(t *testing.T) {
	dir := t.TempDir()
	task := taskOf(Tight, data.Shard, Client{Epsilon: 1, Accuracy: 0.5})
	f := &fake{clients: 1, judge: func(int) float64 { return 0.9 }}
	for i, fromOS := range []bool{false, true} {
		task.Spec.SeedFromOS = fromOS
		r, err := Run(t.Context(), task, optionsOf(dir, task, 3000, f))
		if err != nil || len(r.Privacy.Accounts[0].Releases) != i+1 || !r.Privacy.Simulation {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}
