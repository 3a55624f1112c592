package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/plots"
	"proactivedp/internal/results"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// filesBelow reads the files of a folder's folders, but for finished cells.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.ToSlash(name)] = string(text)
	}
	return found
}

// alike reports whether two PNGs are the same but for edges: data have six digits, by which
// no line moves by a pixel.
func alike(t *testing.T, a, b string) bool {
	t.Helper()
	var all [2]image.Image
	for i, text := range []string{a, b} {
		var err error
		if all[i], err = png.Decode(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if all[0].Bounds() != all[1].Bounds() {
		return false
	}
	area, other := all[0].Bounds(), 0
	for y := range area.Dy() {
		for x := range area.Dx() {
			r, g, b, _ := all[0].At(x, y).RGBA()
			s, h, c, _ := all[1].At(x, y).RGBA()
			for _, d := range []int{int(r) - int(s), int(g) - int(h), int(b) - int(c)} {
				if d > 1<<13 || d < -1<<13 {
					other++
					break
				}
			}
		}
	}
	return other*1000 <= area.Dx()*area.Dy()
}

// redrawnFigures are made small, and can be drawn anew, but for the last.
var redrawnFigures = []string{"phishing-logreg-epsilon", "phishing-logreg-sample-size", "phishing-logreg-utility",
	"phishing-budget", "phishing-equal-epsilon", "phishing-logreg-delay", "phishing-logreg-stragglers",
	"phishing-logreg-staleness", "phishing-logreg-idle", "phishing-logreg-adaptive", "phishing-logreg-timeline"}

// Figures are drawn again from their data and manifests, without training. In the same style, the pictures
// are the same. In another style, only the style changes. A figure that cannot be drawn again is an error,
// and its files stay.
func TestRedraw(t *testing.T) {
	figures, err := Select(redrawnFigures)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := options(t, dir)
	o.Drawing.DPI = 50
	o.Load = func(context.Context, string) (*data.Dataset, error) { return synth.OneHot(rng.New(3), 800), nil }
	o.Choose = guess(map[ChoiceRequest]int{})
	if err := Make(t.Context(), figures, o); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, pool.Folder)); err != nil {
		t.Fatal(err)
	}
	before := filesBelow(t, dir)
	if len(Made(figures, dir)) != len(figures) || len(Made(figures, t.TempDir())) != 0 {
		t.Error("which figures have been made is not found")
	}
	able := slices.DeleteFunc(slices.Clone(figures), func(f Figure) bool { return !f.Redrawable() })
	if len(able) != len(figures)-1 {
		t.Fatalf("%d of %d figures can be drawn anew", len(able), len(figures))
	}

	again := MakeOptions{Out: dir, Load: o.Load, Drawing: o.Drawing}
	drawn, err := Redraw(t.Context(), figures, again)
	if !errors.Is(err, ErrNotRedrawn) || !strings.Contains(err.Error(), "phishing-logreg-timeline") ||
		!strings.Contains(err.Error(), "times of broadcasts") {
		t.Errorf("error %v, want one that names the timeline and what its data lack", err)
	}
	if len(drawn) != len(able) {
		t.Errorf("drawn: %q", drawn)
	}
	after := filesBelow(t, dir)
	for name, text := range before {
		if filepath.Ext(name) == ".png" && alike(t, text, after[name]) {
			continue
		}
		if text != after[name] {
			t.Errorf("%s has changed", name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, pool.Folder)); err == nil {
		t.Error("something was trained")
	}

	again.Drawing = results.Drawing{Formats: []string{"svg"}, Style: plots.Style{Bare: true, Width: 3.25, DPI: 50}}
	if _, err := Redraw(t.Context(), able, again); err != nil {
		t.Fatal(err)
	}
	bare := filesBelow(t, dir)
	if len(bare) != len(after)+len(able) {
		t.Errorf("%d files, want a picture more for each figure than %d", len(bare), len(after))
	}
	for name, text := range after {
		if filepath.Base(name) != results.ManifestFile && bare[name] != text {
			t.Errorf("%s has changed", name)
		}
	}
	for _, fig := range able {
		if !strings.Contains(bare[fig.Name+"/figure.svg"], "<svg") {
			t.Errorf("%s has no picture as SVG", fig.Name)
		}
		is, err := readStored(dir, fig.Name)
		if err != nil {
			t.Fatal(err)
		}
		if is.Drawing.Width != 3.25 || !is.Drawing.Bare || is.Files[0] != "figure.svg" {
			t.Errorf("the manifest of %s says %+v, %q", fig.Name, is.Drawing, is.Files)
		}
		// All else in it is what it was, line by line.
		has := strings.Split(bare[fig.Name+"/"+results.ManifestFile], "\n")
		for line := range strings.SplitSeq(before[fig.Name+"/"+results.ManifestFile], "\n") {
			if !slices.Contains(has, line) && !strings.Contains(line, "manifest_sha256") && !strings.Contains(line,
				"figure.png") {
				t.Errorf("the manifest of %s no longer has %s", fig.Name, line)
			}
		}
	}
	badRedraws(t, dir, able, again, bare)
}

// badRedraws spoils what figures are drawn from: each is an error that says what is wrong,
// and no picture changes.
func badRedraws(t *testing.T, dir string, figures []Figure, o MakeOptions, files map[string]string) {
	t.Helper()
	o.Drawing.Width = 5
	curves := figures[slices.IndexFunc(figures, func(f Figure) bool { return strings.HasSuffix(f.Name, "-epsilon") })]
	table := curves.Name + "/" + results.TableFile
	lines := strings.SplitAfter(files[table], "\n")
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(table, strings.Replace(files[table], ",0.1,", ",0.2,", 1))
	if _, err := Redraw(t.Context(), []Figure{curves}, o); !errors.Is(err, results.ErrDamaged) {
		t.Errorf("other data than the manifest's: error %v", err)
	}
	write(table, files[table])
	k, err := readStored(dir, curves.Name)
	if err != nil {
		t.Fatal(err)
	}
	resealed := func(change func(m *Manifest)) string {
		m, text := k.Manifest, bytes.Buffer{}
		m.SHA256 = ""
		change(&m)
		if err := results.WriteManifest(&text, m); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	// A manifest may have no digest of the data.
	files = maps.Clone(files)
	files[curves.Name+"/"+results.ManifestFile] = resealed(func(m *Manifest) { m.Table = "" })
	write(curves.Name+"/"+results.ManifestFile, files[curves.Name+"/"+results.ManifestFile])
	for name, c := range map[string]struct{ file, text, want string }{
		"row gone": {table, strings.Join(lines[:len(lines)-2], ""), "rows of run"},
		"run gone": {table, lines[0] + lines[1], "has 1 runs, must have"},
		"other ε":  {table, strings.Replace(files[table], ",0.1,", ",0.2,", 1), "as this program would write"},
		"column":   {table, strings.Replace(files[table], "seed", "sed", 1), "no column seed"},
		"no number": {table, strings.Replace(files[table], lines[1], strings.Replace(lines[1], ",0,", ",x,", 1), 1),
			`has sigma = x`},
		"no table": {table, "", "no header"},
		"manifest": {curves.Name + "/" + results.ManifestFile, files[curves.Name+"/"+results.ManifestFile][:100], results.ManifestFile},
		"changed": {curves.Name + "/" + results.ManifestFile,
			strings.Replace(files[curves.Name+"/"+results.ManifestFile], `"seeds": 2`, `"seeds": 3`, 1), "damaged"},
	} {
		if c.text == files[c.file] {
			t.Fatalf("%s: nothing was spoilt", name)
		}
		write(c.file, c.text)
		drawn, err := Redraw(t.Context(), []Figure{curves}, o)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), curves.Name) ||
			len(drawn) > 0 {
			t.Errorf("%s: drawn %q, error %v, want one with %q", name, drawn, err, c.want)
		}
		write(c.file, files[c.file])
	}
	// No column of the table has the step size, which the caption states.
	for from, want := range map[string]string{`"eta0": 0.1`: "has config.train[0].eta0 = 0.3, not 0.1",
		`"points": 50`: "has config.points = 0.3, not 50", `"clients": 5,`: "lacks config.train[0].clients = 5"} {
		to := from[:strings.Index(from, ":")+1] + " 0.3"
		if strings.HasSuffix(from, ",") {
			to = ""
		}
		config := json.RawMessage(strings.Replace(string(k.config), from, to, 1))
		if bytes.Equal(config, k.config) {
			t.Fatalf("%s: nothing was changed", from)
		}
		write(curves.Name+"/"+results.ManifestFile, resealed(func(m *Manifest) { m.Config = config }))
		if _, err := Redraw(t.Context(), []Figure{curves}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", from, err, want)
		}
		write(curves.Name+"/"+results.ManifestFile, files[curves.Name+"/"+results.ManifestFile])
	}
	other := o
	other.Load = func(context.Context, string) (*data.Dataset, error) { return synth.OneHot(rng.New(4), 800), nil }
	if _, err := Redraw(t.Context(), []Figure{curves}, other); err == nil ||
		!strings.Contains(err.Error(), "digest") {
		t.Errorf("other data: error %v", err)
	}
	other = o
	other.Drawing.Width = 500
	if _, err := Redraw(t.Context(), []Figure{curves}, other); err == nil {
		t.Error("a width of 500 inches was accepted")
	}
	other = o
	other.Out = filepath.Join(dir, "none")
	if _, err := Redraw(t.Context(), []Figure{curves}, other); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("no folder: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Redraw(ctx, []Figure{curves}, o); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: error %v", err)
	}
	if !maps.Equal(filesBelow(t, dir), files) {
		t.Error("files have changed")
	}
}

// If a figure cannot be drawn again, the error says why.
func TestEveryFigureIsRedrawnOrSaysWhyNot(t *testing.T) {
	for _, f := range Figures() {
		if f.Redrawable() == (f.lacks != "") {
			t.Errorf("%s is drawn anew: %v, and lacks %q", f.Name, f.Redrawable(), f.lacks)
		}
	}
}

// stored returns what a figure's folder would have.
func stored(t *testing.T, out *content, seeds int, machine string) *storedFigure {
	t.Helper()
	config, err := json.Marshal(out.config)
	if err != nil {
		t.Fatal(err)
	}
	k := &storedFigure{config: config, table: results.Table{Header: out.table[0], Rows: out.table[1:]}}
	k.Seeds, k.Machine = seeds, machine
	return k
}

// Figures of rates and courses are drawn again from their folder, with the same result on every machine.
func TestRatesAndCoursesAreRedrawn(t *testing.T) {
	f := &figureConfig{source: train.NewSource(drawn()), seeds: 2, scale: 1}
	same := func(fig Figure, out *content, err error, machine string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		again, err := fig.redraw(t.Context(), f, stored(t, out, f.seeds, machine))
		if err != nil || !reflect.DeepEqual(again, out) {
			t.Errorf("%s: another picture from the data, error %v", fig.Name, err)
		}
	}
	l := delayExperiments()[0]
	var rates []rate
	lines := []rated{{train.VirtualRunner, 1}, {train.VirtualRunner, 64}, {train.HogwildRunner, 1}}
	for i := range len(lines) * len(rateClients) * f.seeds {
		rates = append(rates, rate{1000 + i, float64(1+i) / 8})
	}
	out, err := l.throughputContent(f, lines, "a machine", rates)
	same(l.throughputFigure(), out, err, "a machine")

	course := Course{Stages: []CourseStage{{SampleSize: 3, Rounds: 7, Clip: 0.5, Eta0: 0.25}}}
	for i := range courseClients {
		course.Clients = append(course.Clients, CourseEnd{EpsilonUpper: 1, Delta: 0.125, TestAccuracy: 0.75})
		s := &course.Stages[0]
		s.Sigma, s.HeldOut, s.Used = append(s.Sigma, float64(i)), append(s.HeldOut, 0.875), append(s.Used, 0.5)
	}
	out, err = l.courseContent(f, "tight", []Course{course, course})
	same(l.courseFigure("", "tight"), out, err, "")
}

// A stored utility graph with a single σ can be read, too.
func TestStoredUtilityOfOneSigma(t *testing.T) {
	table, err := results.ParseTable([]byte("clip,seed,sigma,fraction,fraction_sd,test_accuracy,wstar_accuracy," +
		"wstar_norm\n0.5,1,2,0.25,0.125,0.75,0.875,3\n"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := storedUtilities(&storedFigure{table: table}, 1, "clip", "seed")
	if err != nil {
		t.Fatal(err)
	}
	want := []*pool.Utility{{Clip: 0.5, Accuracy: 0.875, Norm: 3,
		Points: []pool.UtilityPoint{{Sigma: 2, Fraction: 0.25, FractionSD: 0.125, MeanAccuracy: 0.75}}}}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("%+v, want %+v", all, want)
	}
}
