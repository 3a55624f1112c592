package data_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/rng"
)

// houses has targets, some outside the bounds.
func houses(t *testing.T, b data.TargetBounds) *data.Dataset {
	t.Helper()
	rows := make([][]float32, 40)
	values := make([]float64, len(rows))
	for i := range rows {
		rows[i], values[i] = []float32{float32(i), 1}, float64(i)
	}
	d, err := data.FromRows("houses", rows, make([]int32, len(rows)))
	if err != nil {
		t.Fatal(err)
	}
	if d, err = d.WithTargets(b, values); err != nil {
		t.Fatal(err)
	}
	return d
}

// Models see the bounds of a target as −1 and 1. A target outside counts as the nearer bound. A target
// inside can be converted back to its unit.
func TestTargetsAreScaled(t *testing.T) {
	for _, b := range []data.TargetBounds{{Low: 0, High: 10}, {Low: -3e38, High: 3e38}, {Low: 1e6, High: 1e6 + 1}, {Low: -1e-9, High: 0}} {
		for _, part := range []float64{0, 0.1, 0.5, 0.9, 1} {
			v := b.Low*(1-part) + b.High*part
			scaled, err := b.Scaled(v)
			if want := 2*part - 1; err != nil || math.Abs(float64(scaled)-want) > 1e-7+1e-15*math.Abs(b.High)/(b.High-b.Low) {
				t.Errorf("%v in [%v]: %v, want %v (%v)", v, b, scaled, want, err)
			}
			if got := b.Original(float64(scaled)); math.Abs(got-v) > 1e-7*(b.High-b.Low) {
				t.Errorf("%v in [%v] came back as %v", v, b, got)
			}
		}
		for _, outside := range []struct{ v, want float64 }{{math.Inf(-1), 0}, {b.Low - 1, -1}, {b.High + 1, 1}, {math.MaxFloat64, 1}} {
			scaled, err := b.Scaled(outside.v)
			if outside.want == 0 {
				if !errors.Is(err, data.ErrTarget) {
					t.Errorf("%v was accepted", outside.v)
				}
			} else if err != nil || float64(scaled) != outside.want {
				t.Errorf("%v in [%v]: %v, want %v (%v)", outside.v, b, scaled, outside.want, err)
			}
		}
		if b.Original(-7) != b.Low || b.Original(7) != b.High {
			t.Errorf("[%v]: predictions are not clamped: %v, %v", b, b.Original(-7), b.Original(7))
		}
	}
}

// A target is a finite decimal number. An error never contains the text that was read, because it belongs
// to a record.
func TestTargetsAreRead(t *testing.T) {
	b := data.TargetBounds{Low: 0, High: 100}
	for text, want := range map[string]float32{"50": 0, "+75": 0.5, "1e2": 1, "-1e999": -1, "1e999": 1, "1e-999": -1, "25.0": -0.5} {
		if got, err := b.Parse(text); err != nil || got != want {
			t.Errorf("%q: %v, want %v (%v)", text, got, want, err)
		}
	}
	for _, text := range []string{"", "NaN", "inf", "-Infinity", "0x1f", "1_000", "12,5", "secret"} {
		if _, err := b.Parse(text); !errors.Is(err, data.ErrTarget) || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	b.Refuse = true
	if _, err := b.Parse("123.456"); err == nil || strings.Contains(err.Error(), "123") || !strings.Contains(err.Error(), "[0, 100]") {
		t.Errorf("outside the bounds: %v", err)
	}
	for _, at := range []string{"0", "100", "0.0"} { // the bounds are inside
		if _, err := b.Parse(at); err != nil {
			t.Error(err)
		}
	}
	tenth := data.TargetBounds{Low: 0, High: 0.1, Refuse: true}
	if _, err := tenth.Parse("0.1"); err != nil { // not in float32, where it would be above the bound
		t.Error(err)
	}
}

// Bounds are two finite numbers, the lower one first.
func TestTargetBounds(t *testing.T) {
	if b, err := data.ParseTargetBounds("-1.5, 1e6"); err != nil || b.Low != -1.5 || b.High != 1e6 || b.String() != "-1.5,1e+06" {
		t.Errorf("%v, %v", b, err)
	}
	if b, err := data.ParseTargetBounds("-3e38,3e38"); err != nil || b.High != 3e38 {
		t.Errorf("%v, %v", b, err)
	}
	for _, text := range []string{"", "1", "2,1", "1,1", "nan,1", "0,inf", "0..5", "1,2,3", "-1e39,1e39", "0,1e-45", "0,4e-39"} {
		if b, err := data.ParseTargetBounds(text); err == nil {
			t.Errorf("%q was read as %v", text, b)
		}
	}
}

// A reader expects either classes or targets. Its errors never show values of records.
func TestExpect(t *testing.T) {
	labels, err := data.ParseLabels("no,yes,maybe")
	if err != nil {
		t.Fatal(err)
	}
	var d data.Dataset
	if err := d.Expect(labels, nil); err != nil || d.Classes != 3 || !slices.Equal(d.Names, labels.Names()) || d.Targets != nil {
		t.Errorf("labels: %+v, %v", d, err)
	}
	d = data.Dataset{}
	if err := d.Expect(nil, &data.TargetBounds{Low: 1, High: 2}); err != nil || d.Classes != 1 || d.Targets.Bounds.High != 2 {
		t.Errorf("targets: %+v, %v", d, err)
	}
	for want, err := range map[string]error{
		"must be one of them": d.Expect(labels, &data.TargetBounds{High: 1}), "must be given": d.Expect(nil, nil),
		"LOW < HIGH": d.Expect(nil, &data.TargetBounds{}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, must say %q", err, want)
		}
	}
}

// Every function that makes another data set from one keeps the targets with their rows. The digest covers
// the targets.
func TestTargetsStayWithTheirRows(t *testing.T) {
	b := data.TargetBounds{Low: 0, High: 30}
	d := houses(t, b)
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	if want, _ := b.Scaled(39); d.Targets.Value[39] != 1 || want != 1 || d.Targets.Value[15] != 0 || d.Classes != 1 {
		t.Errorf("targets %v in %d classes", d.Targets.Value, d.Classes)
	}
	scaled, err := d.Scaled(0.5)
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := d.Mapped(data.Affine{Shift: []float64{1, 0}, Scale: []float64{2, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []*data.Dataset{scaled, mapped, d.WithDense(1, make([]float32, 40))} {
		if other.Targets == nil || !slices.Equal(other.Targets.Value, d.Targets.Value) || other.Validate() != nil {
			t.Errorf("%+v: %v", other.Targets, other.Validate())
		}
	}
	hash := d.Hash()
	for name, change := range map[string]func(*data.Targets){
		"a target": func(x *data.Targets) { x.Value[3] = 0.25 }, "a bound": func(x *data.Targets) { x.Bounds.High++ },
	} {
		other := *d
		other.Targets = &data.Targets{Value: slices.Clone(d.Targets.Value), Bounds: b}
		if change(other.Targets); other.Hash() == hash {
			t.Errorf("the digest does not cover %s", name)
		}
	}
	same := *d
	same.Targets = &data.Targets{Value: d.Targets.Value, Bounds: data.TargetBounds{Low: 0, High: 30, Refuse: true}}
	if same.Hash() != hash {
		t.Error("the digest depends on what would have become of other targets")
	}
	for name, change := range map[string]func(*data.Dataset){
		"too few":   func(x *data.Dataset) { x.Targets.Value = x.Targets.Value[1:] },
		"NaN":       func(x *data.Dataset) { x.Targets.Value[0] = float32(math.NaN()) },
		"unscaled":  func(x *data.Dataset) { x.Targets.Value[0] = 1.5 },
		"classes":   func(x *data.Dataset) { x.Classes = 2 },
		"no bounds": func(x *data.Dataset) { x.Targets.Bounds = data.TargetBounds{} },
	} {
		other := *d
		other.Targets = &data.Targets{Value: slices.Clone(d.Targets.Value), Bounds: b}
		if change(&other); other.Validate() == nil {
			t.Errorf("%s: valid", name)
		}
	}
}

// Two rows that differ only in the target are two records, and each may be on either side of a split.
func TestRecordsDifferByTheirTargets(t *testing.T) {
	rows := make([][]float32, 200)
	values := make([]float64, len(rows))
	for i := range rows {
		rows[i], values[i] = []float32{1}, float64(i%100)
	}
	d, err := data.FromRows("alike", rows, make([]int32, len(rows)))
	if err == nil {
		d, err = d.WithTargets(data.TargetBounds{Low: 0, High: 99}, values)
	}
	if err != nil {
		t.Fatal(err)
	}
	if records, copies := d.All().Distinct(); records != 100 || copies != 2 {
		t.Errorf("%d records, up to %d copies", records, copies)
	}
	root := rng.New(1)
	train, test, err := data.SplitByRecord(d, root)
	if err != nil || train.Len() == 0 || test.Len() == 0 {
		t.Fatal(train.Len(), test.Len(), err)
	}
	for _, i := range train.Rows { // the other copy is on the same side
		if !slices.Contains(train.Rows, (i+100)%200) {
			t.Fatalf("row %d and its copy are on two sides", i)
		}
	}
	if _, err := data.Dirichlet(0.5).Deal(train, 2, root); err == nil || !strings.Contains(err.Error(), "has targets") {
		t.Errorf("targets are dealt by their labels: %v", err)
	}
}
