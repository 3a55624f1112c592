package train

import (
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/hog"
	"proactivedp/sim"
)

// A spec's features are computed once for all specs of a source. Digests, split and descriptions are those
// of the data set as read.
func TestFeaturesAreMadeOnce(t *testing.T) {
	source := NewSource(digits(350))
	plain := smallLeNet()
	before, err := source.Prepare(plain)
	if err != nil {
		t.Fatal(err)
	}
	spec := plain
	spec.Model, spec.FeatureMap = Softmax, "hog:4:8"
	p, err := source.Prepare(spec)
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Config.Model.NumParams(); n != 3930 {
		t.Errorf("%d parameters, want 393 for each of 10 classes", n)
	}
	for i, rows := range p.Config.Rows {
		if rows.Data != p.Test.Data || &rows.Rows[0] != &before.Config.Rows[i].Rows[0] {
			t.Errorf("client %d has rows of its own", i)
		}
		if before.Config.Rows[i].Data != source.Data() {
			t.Error("features have taken the place of another spec's pixels")
		}
	}
	spec.Delay = "0"
	if again, err := source.Prepare(spec); err != nil || &again.Config.Rows[0] != &p.Config.Rows[0] ||
		again.Config.Model != p.Config.Model {
		t.Errorf("rows are not shared (%v)", err)
	}
	spec.Seed++
	if again, err := source.Prepare(spec); err != nil || again.Test.Data != p.Test.Data {
		t.Errorf("features are made again (%v)", err)
	}
	r, err := p.Train(t.Context(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.DataSHA256 != source.Hash() || !r.Synthetic || r.Spec.FeatureMap != "hog:4:8" {
		t.Errorf("the report says digest %s, synthetic %v, features %q", r.DataSHA256, r.Synthetic, r.Spec.FeatureMap)
	}
}

// Scaled inputs are of the features, which are kept once, and the forecast says what they take.
func TestInputScale(t *testing.T) {
	source := NewSource(digits(350))
	spec := smallLeNet()
	spec.InputScale = 0.5
	p, err := source.Prepare(spec)
	if err != nil {
		t.Fatal(err)
	}
	if std, want := p.Test.Data.Images.Std[0], 2*source.Data().Images.Std[0]; std != want {
		t.Errorf("standard deviation %v, want %v", std, want)
	}
	if bytes := source.viewBytes(); bytes != 0 {
		t.Errorf("scaled pixels take %d bytes", bytes)
	}
	spec.Model, spec.FeatureMap = Softmax, "hog:4:8"
	if p, err = source.Prepare(spec); err != nil {
		t.Fatal(err)
	}
	features, err := hog.Map{Cell: 4, Bins: 8}.Apply(t.Context(), source.Data(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Test.Data.Value[1000], features.Value[1000]/2; got != want || want == 0 {
		t.Errorf("a feature of %v, want %v", got, want)
	}
	f, err := p.Forecast(t.Context(), sim.Perf{})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, part := range f.Memory {
		if part.What == "features, and scaled inputs" {
			found = part.Bytes == 4*392*350
		}
	}
	if !found {
		t.Errorf("memory %v, want 392 features of 350 records", f.Memory)
	}
}

func TestBadInputs(t *testing.T) {
	spec := smallLeNet()
	spec.FeatureMap, spec.InputScale = "hog:4", 2*data.MaxInputScale
	err := spec.Validate()
	if err == nil || !strings.Contains(err.Error(), `features = "hog:4"`) ||
		!strings.Contains(err.Error(), "input scale = 2e+06") {
		t.Errorf("error %v, want both", err)
	}
	spec = smallSpec()
	spec.Model, spec.FeatureMap = Softmax, "hog:4:8"
	if _, err := spec.Prepare(drawn(), nil); err == nil || !strings.Contains(err.Error(), "needs images") {
		t.Errorf("error %v, want that images are needed", err)
	}
}
