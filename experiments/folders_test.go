package experiments

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/internal/files"
	"proactivedp/internal/results"
	"proactivedp/train"
)

// A damaged manifest is found before the index lists it.
func TestDamagedManifestsAreSeen(t *testing.T) {
	var text bytes.Buffer
	m := Manifest{Figure: "phishing-logreg-utility", Title: "T", Scale: 0.05}
	if err := results.WriteManifest(&text, m); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, m.Figure), 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, m.Figure, results.ManifestFile)
	if err := os.WriteFile(path, bytes.Replace(text.Bytes(), []byte("0.05"), []byte("0.06"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := checkIndex(dir, nil); !errors.Is(err, results.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("a folder with a damaged manifest: %v", err)
	}
	figures, err := Select([]string{m.Figure})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkIndex(dir, figures); err != nil {
		t.Errorf("its figure is made anew: %v", err)
	}
	// So are data that are no longer whole, before anything is trained.
	if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(dir, m.Figure, results.TableFile)
	lost := []byte("clip,seed,sigma,fraction\n0.1,1,0,1\n0.1,1,20,1\n0.1,2,0,1\n")
	if err := os.WriteFile(table, lost, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := checkIndex(dir, nil); err == nil || !strings.Contains(err.Error(), "1 row of clip 0.1, seed 2") ||
		!strings.Contains(err.Error(), m.Figure) {
		t.Errorf("a folder with data that are not whole: %v", err)
	}
	if err := checkIndex(dir, figures); err != nil {
		t.Errorf("its figure is made anew: %v", err)
	}
}

// Two calls do not write to one folder at the same time: the second is refused, and the error names the
// folder.
func TestFoldersBelongToOneCall(t *testing.T) {
	dir := t.TempDir()
	lock, err := files.LockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	figures, err := Select([]string{"phishing-logreg-utility"})
	if err != nil {
		t.Fatal(err)
	}
	_, compared := DefaultDelaySpec("", "").Compare(t.Context(), train.NewSource(drawn()), DelayOptions{Out: dir})
	for name, err := range map[string]error{
		"Make":    Make(t.Context(), figures, options(t, dir)),
		"Compare": compared,
	} {
		if !errors.Is(err, files.ErrHeld) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}

// The index also lists what other commands of this program have written next to the figures, with a
// picture that a page can show. It lists nothing of other programs. Damaged files are an error.
func TestIndexListsWhatElseIsThere(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m := results.Manifest{Title: "Settings | ranked", Command: "proactivedp propose --data 'a|b.csv'", Seeds: 1,
		Data: []results.Data{{Name: "a|b.csv", Rows: 7, Note: "some | left out"},
			{Name: "synth-phishing", Rows: 1, Synthetic: true}},
		Files: results.Drawing{Formats: []string{"pdf", "svg"}}.Files()}
	var text bytes.Buffer
	if err := results.WriteManifest(&text, m); err != nil {
		t.Fatal(err)
	}
	proposed := text.String()
	write("proposed/manifest.json", proposed)
	text.Reset() // of a file of one's own, made by an earlier command
	if err := results.WriteManifest(&text, Manifest{Title: "U", Command: "make own", Scale: 0.05, Runner: "hogwild",
		Data: results.Data{Name: "own.csv", Rows: 3}, Files: results.Drawing{}.Files()}); err != nil {
		t.Fatal(err)
	}
	write("own-utility/manifest.json", text.String())
	write("searched/README.md", results.OurMark+"search. -->\n# Search\n")
	write("measured/manifest.json", `{"command": "make scale"}`)
	write("measured/README.md", "# Scale\n")
	write("app/manifest.json", `{"name": "an app", "title": "My app", "files": ["x.png"]}`)
	write("app/README.md", "# My app\n")
	write("broken/manifest.json", "{")
	write("empty/README.md", "")
	write("file", "")
	index := func() string {
		t.Helper()
		if err := writeIndex(dir, nil); err != nil {
			t.Fatal(err)
		}
		all, err := os.ReadFile(filepath.Join(dir, indexFile))
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(all), "the table shows their largest ε.\n")
		return after
	}
	want := "\n## Made by other commands\n\nThese figures were made by the commands `propose`, `utility` and `train`, or by `figures --data` from a user's file." +
		"\n\n| | folder | shows | data | command | files |\n|---|---|---|---|---|---|\n" +
		`| <img src="own-utility/figure.png" width="160" alt=""> | own-utility | U | own.csv, 3 rows, **0.05 of K**, ` +
		"**runner hogwild**: another run gives another result | `make own` | [picture](own-utility/figure.png), " +
		"[data](own-utility/data.csv), [manifest](own-utility/manifest.json) |\n" +
		`| <img src="proposed/figure.svg" width="160" alt=""> | proposed | Settings \| ranked | ` +
		`a\|b.csv, 7 rows (some \| left out); synth-phishing, 1 row, **synthetic stand-in** | ` +
		"`proactivedp propose --data 'a\\|b.csv'` | [picture](proposed/figure.pdf), [data](proposed/data.csv), " +
		"[manifest](proposed/manifest.json) |\n\n## Pages\n\nEach of these results has its own page:\n\n- [measured](measured/README.md)\n" +
		"- [searched](searched/README.md)\n"
	if got := index(); got != want {
		t.Errorf("the index ends with\n%s\nwant\n%s", got, want)
	}
	statements := filepath.Join(dir, results.StatementsFile)
	write(results.StatementsFile, indexMark) // of figures that are no longer there
	index()
	if _, err := os.Stat(statements); !os.IsNotExist(err) {
		t.Errorf("a page of statements without their figures stays: %v", err)
	}
	write(results.StatementsFile, "mine")
	for _, err := range []error{writeIndex(dir, nil), checkIndex(dir, nil)} {
		if err == nil || !strings.Contains(err.Error(), statementsPage) {
			t.Errorf("a foreign page of statements: %v", err)
		}
	}
	if err := os.Remove(statements); err != nil {
		t.Fatal(err)
	}
	write("proposed/manifest.json", strings.Replace(proposed, "7", "8", 1))
	if err := writeIndex(dir, nil); !errors.Is(err, results.ErrDamaged) {
		t.Errorf("a damaged manifest of proposals: %v", err)
	}
}

// A manifest that was written by hand may name no files. The index lists it with its text in the cells of
// the table, and says what is missing in its data and that the run is not repeatable.
func TestIndexOfNoFiles(t *testing.T) {
	dir := t.TempDir()
	name := "phishing-logreg-timeline"
	if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
		t.Fatal(err)
	}
	text := `{"figure": "` + name + `", "title": "T | U", "command": "make 'a|b'", "runner": "hogwild", "files": [],
		"data": {"name": "a|b.csv", "rows": 2, "note": "short"}}`
	if err := os.WriteFile(filepath.Join(dir, name, results.ManifestFile), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := writeIndex(dir, nil); err != nil {
		t.Fatal(err)
	}
	want := `| T \| U |  | a\|b.csv, 2 rows (short), **runner hogwild**: another run gives another result | ` +
		"`make 'a\\|b'` |"
	if index, err := os.ReadFile(filepath.Join(dir, indexFile)); err != nil || !bytes.Contains(index, []byte(want)) {
		t.Errorf("the index is %q, %v; want %q", index, err, want)
	}
}
