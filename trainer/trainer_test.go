package trainer

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/internal/testkit"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{new(Task), New, new(Trainer), new(Ledger), ReadLedger, new(SpentError)},
		Unusable: map[string]string{"Trainer": "New"},
	}.Check(t)
}

// The docs have the schemas of what a script reads and prints.
func TestSchemas(t *testing.T) {
	testkit.CheckSchemaOf(t, "../docs/schema", "trainer-task", "the file that a script of --trainer gets", Task{})
	testkit.CheckSchemaOf(t, "../docs/schema", "trainer-line", "a line that a script of --trainer prints", Line{})
}

func TestNewRefuses(t *testing.T) {
	for command, want := range map[string]string{
		"": "trainer is empty", "  ": "trainer is empty", `sh "a b"`: "no shell", "a; b": "no shell", "a $HOME": "no shell",
	} {
		if _, err := New(command, Options{Limit: time.Millisecond}); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "time limit = 1ms, must be in [1s, 720h0m0s]") {
			t.Errorf("%q: %v", command, err)
		}
	}
	if _, err := New("no-such-program-anywhere x", Options{Dir: t.TempDir()}); err != nil {
		t.Error(err) // it is looked for when it runs
	}
}

// A changed script is another trainer: its results are not mixed with those of the old one.
func TestDigestCoversTheScript(t *testing.T) {
	script := filepath.Join(t.TempDir(), "train.py")
	digests := map[string]bool{}
	for _, text := range []string{"a", "b", "a"} {
		if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		made, err := New("python3 "+script, Options{})
		if err != nil {
			t.Fatal(err)
		}
		digests[made.Digest()] = true
	}
	if len(digests) != 2 {
		t.Errorf("%d digests of two contents", len(digests))
	}
}

func TestTaskIsChecked(t *testing.T) {
	for want, change := range map[string]func(*Task){
		"protocol = 2":           func(t *Task) { t.Protocol = 2 },
		"role = \"test\"":        func(t *Task) { t.Role = "test" },
		"sampling = \"shuffle\"": func(t *Task) { t.Plan.Sampling = dp.Shuffle },
		"replace-one":            func(t *Task) { t.Plan.Adjacency = dp.ReplaceOne },
		"noise_multiplier = 0":   func(t *Task) { t.Plan.NoiseMultiplier = 0 },
		"sample size = 501":      func(t *Task) { t.Plan.BatchSize = 501 },
		"sample_rate = 0.5":      func(t *Task) { t.Plan.SampleRate = 0.5 },
		"count of rounds = 0":    func(t *Task) { t.Plan.Steps = 0 },
		"max_grad_norm = -1":     func(t *Task) { t.MaxGradNorm = -1 },
		"learning_rate":          func(t *Task) { t.LearningRate = 0 },
		"scale = 1.5":            func(t *Task) { t.Scale = 1.5 },
		"seed must be given":     func(t *Task) { t.Seed = nil },
		"scale = 0.2":            func(t *Task) { t.Role = Private },
	} {
		task := publicTask(1)
		change(&task)
		if err := task.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	made := trainerWith("none", Options{Dir: t.TempDir()})
	if _, err := made.Public(t.Context(), privateTask()); err == nil {
		t.Error("Public ran a private task")
	}
	if _, err := made.Private(t.Context(), publicTask(1), "key", testBudget); err == nil {
		t.Error("Private ran a public task")
	}
	if _, err := trainerWith("none", Options{}).Private(t.Context(), privateTask(), "key", testBudget); err == nil {
		t.Error("a private task ran without a ledger")
	}
}

// A search that was killed goes on: a proxy that is finished does not run again, and a damaged one does.
func TestProxiesAreKept(t *testing.T) {
	dir := t.TempDir()
	run := func(fault string) error {
		made := trainerWith(fault, Options{Dir: dir})
		made.digest = "of the same script"
		_, err := made.Public(t.Context(), publicTask(1))
		return err
	}
	if err := errors.Join(run("none"), run("crash-at-once")); err != nil { // the second finds the result of the first
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, TrialsFolder, "*[0-9a-f].json"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	text, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []string{"", "{", strings.Replace(string(text), "0.75", "75", 1), strings.Replace(string(text), "120", "12", 1)} {
		if err := os.WriteFile(kept[0], []byte(damaged), 0o666); err != nil {
			t.Fatal(err)
		}
		if run("crash-at-once") == nil {
			t.Errorf("a damaged result was used: %s", damaged)
		}
	}
}

// The budget is for all stages of a ledger. The one that does not fit is not started, and a finished one is
// found by its key.
func TestBudgetOfALedger(t *testing.T) {
	dir := t.TempDir()
	one, err := (&Ledger{Releases: []dp.Release{{Events: []dp.Event{privateTask().Plan.Event()}}}, Stages: make([]Stage, 1)}).
		Bound(t.Context(), 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	made := trainerWith("none", Options{Dir: dir})
	if _, err := made.Private(t.Context(), privateTask(), "a", Budget{0.9 * one.EpsilonUpper, 1e-5}); err == nil ||
		!strings.Contains(err.Error(), "the training would cost ε ≤") {
		t.Errorf("a plan above the budget: %v", err)
	}
	if l, err := ReadLedger(dir); err != nil || len(l.Stages) != 0 {
		t.Fatalf("%+v, %v", l, err)
	}
	budget := Budget{one.EpsilonUpper, 1e-5}
	l, err := made.Private(t.Context(), privateTask(), "a", budget)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := l.Finished("a"); !ok || s.Result.Metric != 0.75 {
		t.Errorf("%+v", l)
	}
	if _, ok := l.Finished("b"); ok {
		t.Error("a stage of another request is found")
	}
	if _, err := made.Private(t.Context(), privateTask(), "a", budget); err == nil {
		t.Error("a second training fitted into the budget of one")
	}
	// Basic composition: what is left at δ/4, and the first at δ/2, are certified for both together.
	budget.Epsilon *= 2.4
	left, err := l.Left(t.Context(), budget)
	if err != nil || !(left.Epsilon > one.EpsilonUpper) || left.Delta != budget.Delta/4 {
		t.Fatalf("%+v, %v", left, err)
	}
	l, err = made.Private(t.Context(), privateTask(), "b", budget)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, share := range []float64{0.5e-5, 0.25e-5} {
		b, err := pld.Accountant{}.Epsilon(t.Context(), l.Releases[0].Events, share)
		if err != nil {
			t.Fatal(err)
		}
		sum += b.EpsilonUpper
	}
	if all, err := l.Bound(t.Context(), 1e-5); err != nil || all.Kind != dp.Upper || all.EpsilonUpper < sum ||
		all.EpsilonUpper > sum*(1+1e-3) || !(all.EpsilonUpper <= budget.Epsilon) || all.DeltaUpper != 1e-5 {
		t.Errorf("%+v, want ε ≤ %v; %v", all, sum, err)
	}
	statement, err := l.Statement(t.Context(), 1e-5)
	if err != nil || !strings.Contains(statement, "as reported by the script that trained, which this program cannot verify") ||
		!strings.Contains(statement, "the sum over 2 private trainings") {
		t.Errorf("%s, %v", statement, err)
	}
}

// A ledger that was edited or damaged is refused, because nobody knows what was spent.
func TestDamagedLedgersAreRefused(t *testing.T) {
	dir := t.TempDir()
	made := trainerWith("none", Options{Dir: dir})
	if _, err := made.Private(t.Context(), privateTask(), "a", testBudget); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, LedgerFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for old, replaced := range map[string]string{
		`"count": 120`:             `"count": 119`,
		`"noise_multiplier": 1.25`: `"noise_multiplier": 12.5`,
		`"state": "finished"`:      `"state": "planned"`,
		`"role": "private"`:        `"role": "public"`,
		`"metric": 0.75`:           `"metric": 7`,
		`"stages": [`:              `"more": [`,
		`"key": "a",`:              ``,
		"}":                        "",
	} {
		damaged := strings.Replace(string(text), old, replaced, 1)
		if damaged == string(text) {
			t.Fatalf("%s is not in the ledger", old)
		}
		if err := os.WriteFile(path, []byte(damaged), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := made.Private(t.Context(), privateTask(), "b", testBudget)
		if err == nil || !strings.Contains(err.Error(), "it says what the private records have paid for") {
			t.Errorf("%s: %v", replaced, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != damaged {
			t.Errorf("%s: the ledger was changed: %v", replaced, err)
		}
	}
}

// Reported rounds only raise the cost, whatever they are.
func FuzzReportsOnlyRaise(f *testing.F) {
	f.Add([]byte(`{"rounds": {"noise_multiplier": 1, "sample_rate": 0.5, "steps": 3}}`))
	f.Add([]byte(`{"metric": 0.5}`))
	f.Add([]byte(`{"curve": {"step": 1, "metric": 0.5}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parseLine(text)
		if err == nil {
			if again, err := json.Marshal(l); err != nil {
				t.Fatal(err)
			} else if _, err := parseLine(again); err != nil {
				t.Errorf("%s is not read back: %v", again, err)
			}
		}
		plan := privateTask().Plan.Event()
		if l.Rounds == nil {
			return
		}
		if e := raised(plan, []Rounds{*l.Rounds, *l.Rounds}); !atLeast(e, plan) || e.Validate() != nil {
			t.Errorf("%s makes %+v", text, e)
		}
	})
}
