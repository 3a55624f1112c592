package train

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/internal/numpy"
	"proactivedp/models"
)

// A training begins with the weights in a file, and the spec has its hash. Files that cannot have the weights,
// another hash, and a runner that cannot read files are refused by name.
func TestInitialWeightsAreChecked(t *testing.T) {
	d := drawn()
	p, err := smallSpec().Prepare(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]float32, p.Config.Model.NumParams())
	weights[0] = 1
	_, arrays, err := arraysOf(p.Config.Model, weights)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, text, large := filepath.Join(dir, "w.npz"), filepath.Join(dir, "w.model"), filepath.Join(dir, "large.npz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := numpy.WriteArchive(f, arrays); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 2<<20); err != nil {
		t.Fatal(err)
	}
	s := smallSpec()
	s.Initial = path
	p, err = s.Prepare(d, nil)
	if err != nil || !slices.Equal(p.Config.Initial, weights) || len(p.Spec.InitialSHA256) != 64 {
		t.Fatalf("prepared %+v, error %v", p, err)
	}
	if again, err := p.Spec.Prepare(d, nil); err != nil || again.Spec != p.Spec {
		t.Errorf("with its hash: %v", err)
	}
	for want, change := range map[string]func(s *Spec){
		"must be the default one with runner":              func(s *Spec) { s.Runner = DistributedRunner },
		"initial SHA-256 = ab without a file of the ini":   func(s *Spec) { s.Initial, s.InitialSHA256 = "", "ab" },
		"w.model\", must end with .npz or .safetensors":    func(s *Spec) { s.Initial = text },
		".onnx\", must end with .npz or .safetensors":      func(s *Spec) { s.Initial = path + ".onnx" },
		"large.npz has 2097152 bytes, must be at most":     func(s *Spec) { s.Initial = large },
		"w.npz = " + p.Spec.InitialSHA256 + ", must be ab": func(s *Spec) { s.InitialSHA256 = "ab" },
	} {
		s := smallSpec()
		s.Initial = path
		change(&s)
		if _, err := s.Prepare(d, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, must have %q", err, want)
		}
	}
}

// The description next to exported weights must be of a model that uses them in the same way. One that cannot be
// read is refused, and a JSON file of another kind is none.
func TestInitialWeightsAreOfTheModel(t *testing.T) {
	s := smallSpec()
	s.Initial = filepath.Join(t.TempDir(), "w.npz")
	about, err := CheckExport(s.Initial)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.checkDescribed(nil, nil); err != nil {
		t.Errorf("without a description: %v", err)
	}
	p, err := s.Prepare(drawn(), nil)
	if err == nil || p != nil {
		t.Fatalf("there are no weights: %+v", p)
	}
	layers := []models.Layer{{Name: "w"}}
	for text, want := range map[string]string{
		`{"layers":[{"layer":"w"}],"config":{"model":"logreg"}}`:                                    "",
		`{"layers":[{"layer":"w"}],"config":{"model":"linear"}}`:                                    "has weights of the model linear",
		`{"layers":[{"layer":"v"}],"config":{"model":"logreg"}}`:                                    "has weights of the model logreg",
		`{"layers":[{"layer":"w"}],"config":{"model":"logreg"},"inputs":{"labels":["no","yes"]}}`:   "",
		`{"layers":[{"layer":"w"}],"config":{"model":"logreg"},"inputs":{"labels":["ham","spam"]}}`: "", // other classes
		`{"layers":[{"layer":"w"}],"config":{"model":"logreg"},"inputs":{"labels":["yes","no"]}}`:   `has the label "no" as class 1`,
		`{"kind":"other"}`: "",
		`{"layers":`:       "description of the initial model",
	} {
		if err := os.WriteFile(about, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := s.checkDescribed(layers, []string{"no", "yes"}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, must say %q", text, err, want)
		}
	}
	if err := os.Remove(about); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(about, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := s.checkDescribed(layers, []string{"no", "yes"}); err == nil || !strings.Contains(err.Error(), about) {
		t.Errorf("a description that cannot be read: %v", err)
	}
}
