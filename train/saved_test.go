package train

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/sealed"
	"proactivedp/rng"
	"proactivedp/sim"
)

// savedModel trains a little and returns the file, the report and the data.
func savedModel(t testing.TB, change func(*Spec)) (string, *Report, *Prepared) {
	t.Helper()
	s := DefaultSpec()
	s.Data, s.GradComps, s.NoiseMultiplier = "drawn", 520, 1
	change(&s)
	p, err := s.Prepare(synth.OneHot(rng.New(3), 500), nil)
	if err != nil {
		t.Fatal(err)
	}
	path, r := saveTrained(t, p)
	return path, r, p
}

// saveTrained trains and returns the file of the model and the report.
func saveTrained(t testing.TB, p *Prepared) (string, *Report) {
	t.Helper()
	r, err := p.Train(t.Context(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model")
	if err := r.Save(path, NewInputs(p.Read(), "", nil)); err != nil {
		t.Fatal(err)
	}
	return path, r
}

// A saved model has the parameters and the reported facts of its training, and predicts the test rows with
// the reported accuracy.
func TestSavedModelComesBack(t *testing.T) {
	for _, change := range []func(*Spec){
		func(*Spec) {}, func(s *Spec) { s.Model = Plain }, func(s *Spec) { s.Model = Softmax },
		func(s *Spec) { s.Average = "tail:0.5" }, func(s *Spec) { s.Lambda, s.InputScale = 0.5, 0.25 },
	} {
		path, r, p := savedModel(t, change)
		m, err := OpenModel(path)
		if err != nil {
			t.Fatal(err)
		}
		if m.Spec != r.Spec || !reflect.DeepEqual(m.Privacy, r.Privacy) || m.DataSHA256 != r.DataSHA256 {
			t.Errorf("%+v, must be of %+v", m, r)
		}
		want := r.TestAccuracy
		if r.Averaged != nil {
			want = r.Averaged.TestAccuracy
			if m.ParamsSHA256 != r.Averaged.ParamsSHA256 || m.Averaged != r.Spec.Average {
				t.Errorf("%s of %s, must be the averaged model", m.ParamsSHA256, m.Averaged)
			}
		}
		classes, err := m.Predict(p.Read())
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		for _, row := range p.Test.Rows {
			if classes[row] == p.Read().Label[row] {
				right++
			}
		}
		if got := float64(right) / float64(p.Test.Len()); got != want {
			t.Errorf("%s: accuracy %v, the report says %v", p.Spec.Model, got, want)
		}
		other := synth.OneHot(rng.New(4), 20)
		other.Features++
		if _, err := m.Predict(other); err == nil || !strings.Contains(err.Error(), "the model takes") {
			t.Errorf("another number of features: %v", err)
		}
	}
}

// The model file of a release has the notes of its report, but no digest of the records, because somebody
// who knows all records but one could use it to guess the last. The file of a simulation, which protects
// nothing, has the digest.
func TestSavedReleaseHasNoDigestOfRecords(t *testing.T) {
	for _, fromOS := range []bool{true, false} {
		s := DefaultSpec()
		s.Data, s.GradComps, s.NoiseMultiplier, s.SeedFromOS = "drawn", 520, 1, fromOS
		var root *rng.Root
		if fromOS {
			var err error
			if root, err = rng.NewFromOS(); err != nil {
				t.Fatal(err)
			}
		}
		d := synth.OneHot(rng.New(3), 500)
		d.Note = "NOT covered by (ε, δ): the split"
		p, err := s.Prepare(d, root)
		if err != nil {
			t.Fatal(err)
		}
		p.Notes = []string{"found at a price"}
		path, r := saveTrained(t, p)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := OpenModel(path)
		if err != nil {
			t.Fatal(err)
		}
		if m.DataNote != d.Note || !reflect.DeepEqual(m.Notes, p.Notes) {
			t.Errorf("from the operating system: %v, notes %q and %q", fromOS, m.DataNote, m.Notes)
		}
		if has := bytes.Contains(raw, []byte(r.DataSHA256)); has == fromOS || (m.DataSHA256 == "") != fromOS {
			t.Errorf("from the operating system: %v, the file has the records' digest: %v, %q", fromOS, has,
				m.DataSHA256)
		}
	}
}

// The file of a model is as docs/library.md says, and the Python package reads it: the length of the header is at
// bytes 26 to 34, then come the header, and weights by class and biases.
func TestSavedModelIsAsDocumented(t *testing.T) {
	path, _, p := savedModel(t, func(s *Spec) { s.Model = Softmax })
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(raw[26:34])
	var about struct {
		Params int
		Inputs struct{ Labels []string }
	}
	if err := json.Unmarshal(raw[34:34+n], &about); err != nil {
		t.Fatal(err)
	}
	params := make([]float32, about.Params)
	if _, err := binary.Decode(raw[34+n:], binary.LittleEndian, params); err != nil {
		t.Fatal(err)
	}
	m, err := OpenModel(path)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Read()
	want, err := m.Predict(d)
	if err != nil {
		t.Fatal(err)
	}
	classes := len(about.Inputs.Labels)
	biases := params[len(params)-classes:]
	for i := range d.Len() {
		best, most := 0, math.Inf(-1)
		for k := range classes {
			score, row := float64(biases[k]), d.Row(i)
			for j, c := range row.Index {
				score += float64(params[k*d.Features+int(c)]) * float64(row.Value[j])
			}
			if score > most {
				best, most = k, score
			}
		}
		if int32(best) != want[i] {
			t.Fatalf("row %d is of class %d, predict says %d", i, best, want[i])
		}
	}
}

// A file with any byte changed, or cut off anywhere, is refused.
func TestDamagedModelIsRefused(t *testing.T) {
	path, _, _ := savedModel(t, func(*Spec) {})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(text []byte, what string) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenModel(path); err == nil {
			t.Errorf("%s is no error", what)
		}
	}
	for at := 0; at < len(whole); at += 1 + len(whole)/97 {
		changed := bytes.Clone(whole)
		changed[at] ^= 4
		refused(changed, "a changed byte")
		refused(whole[:at], "a file that is cut off")
	}
	refused(append(bytes.Clone(whole), 0), "a longer file")
	if _, err := OpenModel(t.TempDir()); err == nil {
		t.Error("a folder is a model")
	}
}

// A file with a correct digest and contradicting content is refused by name.
func TestContradictingModelIsRefused(t *testing.T) {
	path, _, _ := savedModel(t, func(*Spec) {})
	m, err := OpenModel(path)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Saved){
		"and bounds of targets = ":  func(s *Saved) { s.Inputs.Target = &data.TargetBounds{High: 1} },
		"as the model linear needs": func(s *Saved) { s.Spec.Model = Linear },
		"bounds of the target = 0,0": func(s *Saved) {
			s.Spec.Model, s.Inputs.Labels, s.Inputs.Map, s.Inputs.Target = Linear, nil, "", new(data.TargetBounds)
		},
		"model = \"other\"":                    func(s *Saved) { s.Spec.Model = "other" },
		"must be four bytes for each":          func(s *Saved) { s.Params++ },
		"must be 22":                           func(s *Saved) { s.Inputs.Features++ },
		"at least one feature and two classes": func(s *Saved) { s.Inputs.Labels = nil },
		"label map":                            func(s *Saved) { s.Inputs.Map = "a,b,c" },
		"constants for 1 columns":              func(s *Saved) { s.Inputs.Mapped = &data.Affine{Scale: []float64{1}} },
		"params_sha256":                        func(s *Saved) { s.ParamsSHA256 = "other" },
		"λ = 0":                                func(s *Saved) { s.Lambda = 0 },
		"images have 0×0×0 pixels":             func(s *Saved) { s.Inputs.Images = &ImageShape{} },
		"\"lenet\" needs":                      func(s *Saved) { s.Spec.Model = LeNet },
	} {
		s := *m
		change(&s)
		if err := writeSaved(path, &s, m.params); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenModel(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, must say %q", err, want)
		}
	}
}

// Whatever a header says, a file is refused or labels records, and nothing panics.
func FuzzOpenModel(f *testing.F) {
	path, _, _ := savedModel(f, func(*Spec) {})
	m, err := OpenModel(path)
	if err != nil {
		f.Fatal(err)
	}
	header, err := json.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(header)
	f.Add(bytes.Replace(header, []byte(`"features":`), []byte(`"features":9`), 1))
	f.Add([]byte(`{}`))
	d := synth.OneHot(rng.New(4), 5)
	f.Fuzz(func(t *testing.T, header []byte) {
		if err := writeHeader(path, header, m.params); err != nil {
			t.Skip(err)
		}
		s, err := OpenModel(path)
		if errors.Is(err, sealed.ErrDamaged) {
			t.Fatalf("%q: %v", header, err)
		}
		if err != nil {
			return
		}
		if d, err = s.Normalised(d); err == nil {
			_, _ = s.Predict(d)
		}
	})
}

func writeSaved(path string, s *Saved, params []float32) error {
	header, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return writeHeader(path, header, params)
}

// A model file may come from somebody else. Text in it that could hide or change what is printed next to
// it is refused. Only the statement may have several lines.
func TestModelWithHiddenTextIsRefused(t *testing.T) {
	path, _, _ := savedModel(t, func(*Spec) {})
	m, err := OpenModel(path)
	if err != nil {
		t.Fatal(err)
	}
	s := *m
	s.Statement = "Privacy.\nTwo lines."
	if err := writeSaved(path, &s, m.params); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenModel(path); err != nil {
		t.Errorf("a statement of two lines: %v", err)
	}
	forged := "x\x1b[2K\rε ≤ 0.1"
	for name, change := range map[string]func(*Saved, string){
		"note":      func(s *Saved, text string) { s.Notes = []string{text} },
		"data note": func(s *Saved, text string) { s.DataNote = text },
		"data":      func(s *Saved, text string) { s.Spec.Data = text },
		"label":     func(s *Saved, text string) { s.Inputs.Labels = []string{"a", text} },
		"column": func(s *Saved, text string) {
			s.Inputs.Columns = make([]string, s.Inputs.Features)
			s.Inputs.Columns[0] = text
		},
		"averaged":  func(s *Saved, text string) { s.Averaged = text },
		"statement": func(s *Saved, text string) { s.Statement = text },
	} {
		for _, text := range []string{forged, "x\u202ey", "x\nε ≤ 0.1"} {
			s := *m
			change(&s, text)
			if err := writeSaved(path, &s, m.params); err != nil {
				t.Fatal(err)
			}
			_, err := OpenModel(path)
			if lines := name == "statement" && strings.Contains(text, "\n"); lines && err == nil {
				continue
			}
			if err == nil || !strings.Contains(err.Error(), "printable characters only") {
				t.Errorf("%s %q: %v, want that it is refused", name, text, err)
			}
		}
	}
}
