package papertables

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/report"
	"proactivedp/internal/testkit"
)

// failing is an accountant that breaks down.
type failing struct{ dp.Accountant }

func (failing) Name() string { return "failing" }

func (failing) Epsilon(context.Context, []dp.Event, float64) (dp.Bound, error) {
	return dp.Bound{}, errors.New("broken")
}

func tablesInto(t *testing.T, dir string, workers int) error {
	t.Helper()
	return Make(context.Background(), Options{Out: dir, Accountant: closedform.Accountant{}, Workers: workers})
}

func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Equal options give equal bytes, with any number of workers, and also over old files.
func TestMakeTablesIsReproducible(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "new", "tables"), t.TempDir()
	for _, err := range []error{tablesInto(t, one, 1), tablesInto(t, two, 3), tablesInto(t, two, 2)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	a, b := filesOf(t, one), filesOf(t, two)
	var names []string
	for name := range a {
		names = append(names, name)
		if !bytes.Equal(a[name], b[name]) {
			t.Errorf("%s differs", name)
		}
	}
	slices.Sort(names)
	want := []string{"README.md", "epsilon-over-s-10000.png", "epsilon-over-s-50000.png", "epsilon-over-s-60000.png",
		"epsilon-over-s.csv", "manifest.json", "tables.csv", "tables.md"}
	if !slices.Equal(names, want) || len(b) != len(want) {
		t.Errorf("files %v and %d, want %v", names, len(b), want)
	}
	for _, name := range []string{"tables.csv", "epsilon-over-s.csv"} {
		rows, err := csv.NewReader(bytes.NewReader(a[name])).ReadAll()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if want := map[string]int{"tables.csv": 1 + 3*4 + 20*3 + 3*8, "epsilon-over-s.csv": 1 +
			3*figurePoints}[name]; len(rows) != want {
			t.Errorf("%s has %d rows, want %d", name, len(rows), want)
		}
	}
	for name, text := range a {
		if filepath.Ext(name) == ".png" {
			continue
		}
		if bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("%!")) {
			t.Errorf("%s holds NaN or a format that failed", name)
		}
	}
	testkit.Golden(t, "epsilon-over-s", func(w io.Writer) error {
		_, err := w.Write(a["epsilon-over-s-10000.png"])
		return err
	})
	// The closed form has no proof for neighbours that replace a record.
	if !bytes.Contains(a["tables.md"], []byte("| "+report.NotCovered+" |")) {
		t.Error("what is not covered is not said to be")
	}
}

func TestReadmeOfTables(t *testing.T) {
	p := auditOf(t).readme()
	text := strings.Join(strings.Fields(p.String()), " ") // wherever lines are broken
	for _, want := range []string{
		"The paper prints 96 numbers about privacy in its tables. 23 are reproduced as the paper describes it, 46 are " +
			"reproduced by another procedure, 4 do not follow, and 23 are given",
		// The names of the columns, in their order.
		"| N | σ | ε = 2L/(σ²−2) | γ kept | next γ | γ of the theorem | s as run | s of the theorem |",
		"| N | γ, printed form | γ, corrected | larger by | s, printed form | s, corrected |",
		"| table | ε printed | σ printed | σ needed for that ε | ε of the theorem at that σ and s |",
		"| table | row | | printed | computed |",
		"| N | ε_target | ε_f-DP printed | at k²/(4ε) | at k²/(2ε) | result |",
		"| N | ε_target | T | rounds | add-or-remove | result | replace-one | result |",
		"| N | c of the theorem: γ | s, add-or-remove | c | s, replace-one | c |",
		"| N | σ | s | ε_target | ε | ε_target/ε | σ needed |",
		"| γ | N | k | σ | T | ε of the theorem | Theorem Main's conditions | add-or-remove | result | replace-one | result |",
		"| N | s | ε_target | replace-one | result |",
		"| 10000 | 3.12525 | 3.13104 | 0.19 % | 31.81 | 31.76 |",
		"| tbl:basic_param_setting_epsilon | 2.0 | 3.03241 | 3.34819 | 2.5601 |",
		"| tbl:basic_param_setting_epsilon_cifar10 | ε 3.0 | σ | 2.68273 | 2.851045 |",
		"| 50000 | 0.52535 | 0.8239 | 0.8239 | 0.5626 | **above** ε_target |",
		"| printed | 768351 | 199 | 8.16681 | 203213 | 0.41894 | met |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "undecided") || strings.Contains(text, report.NotCovered) {
		t.Errorf("an open question in\n%s", text)
	}
}

func TestMakeTablesRefuses(t *testing.T) {
	for _, name := range []string{"README.md", "tables.md", "tables.csv", "epsilon-over-s.csv",
		"epsilon-over-s-60000.png"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("# Mine\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := tablesInto(t, dir, 1); err == nil || !strings.Contains(err.Error(), name) ||
			!strings.Contains(err.Error(), "give another folder") {
			t.Errorf("%s: %v", name, err)
		}
		if files := filesOf(t, dir); len(files) != 1 || string(files[name]) != "# Mine\n" {
			t.Errorf("%s: the folder has changed", name)
		}
	}
	err := Make(context.Background(), Options{})
	if err == nil || !strings.Contains(err.Error(), `out = ""`) ||
		!strings.Contains(err.Error(), "accountant is missing") {
		t.Errorf("no options: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if err := Make(context.Background(), Options{Out: dir, Accountant: failing{}}); err == nil ||
		!strings.Contains(err.Error(), "broken") {
		t.Errorf("an accountant that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Make(ctx, Options{Out: dir, Accountant: closedform.Accountant{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("a call that failed left its folder behind")
	}
}
