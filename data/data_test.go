package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/rng"
)

func tiny(n int) *Dataset {
	d := &Dataset{Name: "tiny", Features: 3, Classes: 2, Start: []int{0}}
	for i := range n {
		d.Index = append(d.Index, int32(i%3))
		d.Value = append(d.Value, float32(i))
		d.Start = append(d.Start, len(d.Index))
		d.Label = append(d.Label, int32(i%2))
	}
	return d
}

func TestSplitIsFourFifthsAndDisjoint(t *testing.T) {
	for _, n := range []int{5, 99, 11055, 8124} {
		train, test, err := Split(tiny(n), rng.New(1))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := train.Len(), n*4/5; got != want {
			t.Errorf("%d rows: %d for training, want %d", n, got, want)
		}
		all := slices.Sorted(slices.Values(append(slices.Clone(train.Rows), test.Rows...)))
		for i, r := range all {
			if int(r) != i {
				t.Fatalf("%d rows: row %d is in both parts or in none", n, i)
			}
		}
		if n > 50 && slices.IsSorted(append(slices.Clone(train.Rows), test.Rows...)) {
			t.Errorf("%d rows: the split follows the file's order", n)
		}
	}
}

func TestSplitDependsOnTheSeedAlone(t *testing.T) {
	a, _, _ := Split(tiny(100), rng.New(1))
	b, _, _ := Split(tiny(100), rng.New(1))
	c, _, _ := Split(tiny(100), rng.New(2))
	if !slices.Equal(a.Rows, b.Rows) {
		t.Error("one seed, two splits")
	}
	if slices.Equal(a.Rows, c.Rows) {
		t.Error("two seeds, one split")
	}
}

// without returns d without row k.
func without(d *Dataset, k int) *Dataset {
	out := &Dataset{Name: d.Name, Features: d.Features, Classes: d.Classes, Start: []int{0}}
	for i := range d.Len() {
		if r := d.Row(i); i != k {
			out.Index, out.Value = append(out.Index, r.Index...), append(out.Value, r.Value...)
			out.Start, out.Label = append(out.Start, len(out.Index)), append(out.Label, d.Label[i])
		}
	}
	return out
}

// If each record is assigned by its own hash, removing one record moves no other record to the other side
// of the split. So the training sets of neighbouring data sets are neighbours. A split that depends on the
// number of rows moves most records.
func TestSplitByRecordKeepsNeighbours(t *testing.T) {
	full := tiny(400)
	moved := func(split func(*Dataset, *rng.Root) (Subset, Subset, error), k int) (moved int) {
		before, _, err := split(full, rng.New(7))
		if err != nil {
			t.Fatal(err)
		}
		after, _, err := split(without(full, k), rng.New(7))
		if err != nil {
			t.Fatal(err)
		}
		trained := map[int32]bool{}
		for _, r := range after.Rows {
			if int(r) >= k {
				r++ // as it is numbered in the full set
			}
			trained[r] = true
		}
		for i := range int32(full.Len()) {
			if int(i) != k && slices.Contains(before.Rows, i) != trained[i] {
				moved++
			}
		}
		return moved
	}
	for k := range full.Len() {
		if n := moved(SplitByRecord, k); n != 0 {
			t.Fatalf("without row %d, %d others change sides", k, n)
		}
	}
	if n := moved(Split, 100); n == 0 {
		t.Error("the split by the number of rows moves nobody: the test sees nothing")
	}
}

// On average, four fifths of the records are for training. The tolerance is 4 standard deviations of
// 20,000 draws, so a false alarm has a probability of 1/16,000. Each row is on one side, and different
// seeds give different splits.
func TestSplitByRecordIsFourFifths(t *testing.T) {
	const n = 20_000
	d := tiny(n)
	train, test, err := SplitByRecord(d, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	if off := math.Abs(float64(train.Len()) - 0.8*n); off > 4*math.Sqrt(n*0.8*0.2) || train.Len()+test.Len() != n {
		t.Errorf("%d rows for training and %d for the test of %d", train.Len(), test.Len(), n)
	}
	again, _, _ := SplitByRecord(d, rng.New(1))
	other, _, _ := SplitByRecord(d, rng.New(2))
	if !slices.Equal(train.Rows, again.Rows) || slices.Equal(train.Rows, other.Rows) {
		t.Error("the split is not a function of the seed")
	}
	if _, _, err := SplitByRecord(tiny(1), rng.New(1)); err == nil {
		t.Error("one row was split")
	}
	published := tiny(10)
	published.Train = 7
	if train, _, err := SplitByRecord(published, nil); err != nil || train.Len() != 7 {
		t.Errorf("a published training set of 7 has %d rows, %v", train.Len(), err)
	}
	images := &Dataset{Classes: 2, Features: 1, Label: make([]int32, 100), Images: &Images{Channels: 1, Height: 1,
		Width: 1, Pixels: make([]byte, 100), Mean: []float32{0}, Std: []float32{1}}}
	for i := range images.Images.Pixels {
		images.Images.Pixels[i] = byte(i)
	}
	if train, test, err := SplitByRecord(images, rng.New(1)); err != nil || train.Len() < 60 || test.Len() < 5 {
		t.Errorf("images: %d and %d rows, %v", train.Len(), test.Len(), err)
	}
}

func TestSplitNeedsRows(t *testing.T) {
	if _, _, err := Split(tiny(4), rng.New(1)); err == nil {
		t.Error("4 rows were split")
	}
}

func TestNoDataSetIsAnError(t *testing.T) {
	if _, _, err := Split(nil, rng.New(1)); err == nil {
		t.Error("nothing was split")
	}
	if err := (*Dataset)(nil).Validate(); err == nil {
		t.Error("no data set is a valid one")
	}
}

func TestDeal(t *testing.T) {
	train, _, err := Split(tiny(103), rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Replicate.Deal(train, 3, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range whole {
		if !slices.Equal(p.Rows, train.Rows) {
			t.Errorf("replicate: client %d does not hold the training set", i)
		}
	}
	shards, err := Shard.Deal(train, 5, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int32]bool{}
	for i, p := range shards {
		if p.Len() != train.Len()/5 {
			t.Errorf("shard: client %d holds %d rows, want %d", i, p.Len(), train.Len()/5)
		}
		for _, r := range p.Rows {
			if seen[r] || !slices.Contains(train.Rows, r) {
				t.Fatalf("shard: row %d dealt twice or from the test set", r)
			}
			seen[r] = true
		}
	}
	for name, f := range map[string]func() error{
		"no clients": func() error { _, err := Shard.Deal(train, 0, rng.New(1)); return err },
		"too many":   func() error { _, err := Shard.Deal(train, train.Len()+1, rng.New(1)); return err },
		"unknown":    func() error { _, err := Partition("halves").Deal(train, 2, rng.New(1)); return err },
		"no root":    func() error { _, err := Shard.Deal(train, 2, nil); return err },
		"zero root":  func() error { _, err := Dirichlet(1).Deal(train, 2, new(rng.Root)); return err },
		"split":      func() error { _, _, err := Split(tiny(10), nil); return err },
	} {
		if f() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestHashIsOfTheContent(t *testing.T) {
	base := tiny(10)
	same := tiny(10)
	same.Name = "another name"
	if base.Hash() != same.Hash() {
		t.Error("the name changed the hash")
	}
	for what, change := range map[string]func(*Dataset){
		"label":    func(d *Dataset) { d.Label[3] = 1 - d.Label[3] },
		"value":    func(d *Dataset) { d.Value[3]++ },
		"column":   func(d *Dataset) { d.Index[3] = (d.Index[3] + 1) % 3 },
		"features": func(d *Dataset) { d.Features++ },
		"rows":     func(d *Dataset) { d.Start[1]++ },
	} {
		d := tiny(10)
		change(d)
		if d.Hash() == base.Hash() {
			t.Errorf("a changed %s left the hash as it was", what)
		}
	}
}

// The digest of several blocks is that of all their numbers one after another, for any sizes of the
// blocks.
func TestHashOfBlocks(t *testing.T) {
	for _, features := range []int{1, 7, blockBytes/8 - 1, blockBytes / 8, blockBytes/8 + 1, 3 * blockBytes / 8, 5000} {
		d := tiny(9)
		d = d.WithDense(features, make([]float32, 9*features))
		d.Targets, d.Person = &Targets{Value: make([]float32, 9), Bounds: TargetBounds{Low: -1, High: 2}}, make([]PersonKey, 9)
		for i := range d.Value {
			d.Value[i] = float32(i) - 3.5
		}
		h := sha256.New()
		put := func(v any) {
			if err := binary.Write(h, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
		put([]uint64{uint64(features), 2, 9})
		for i := range 9 {
			d.Targets.Value[i], d.Person[i][2] = float32(i), byte(i)
			put(d.Label[i])
			put(d.Targets.Value[i])
			put(int32(features))
			entries := make([]uint32, 0, 2*features)
			for j, v := range d.Row(i).Value {
				entries = append(entries, uint32(j), math.Float32bits(v))
			}
			put(entries)
		}
		put(d.Targets.Bounds.Low)
		put(d.Targets.Bounds.High)
		put(d.Person)
		if got, want := d.Hash(), hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("%d features: %s, want %s", features, got, want)
		}
	}
}

func TestValidateReportsEveryProblem(t *testing.T) {
	if err := tiny(10).Validate(); err != nil {
		t.Fatal(err)
	}
	d := tiny(10)
	d.Label[2] = 7
	d.Index[4] = 3
	d.Value[5] = float32(math.NaN())
	err := d.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"row 2: label 7", "row 4: column 3", "row 5: column 2: value NaN"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	if (&Dataset{}).Validate() == nil {
		t.Error("an empty data set was accepted")
	}
}

func TestClassCounts(t *testing.T) {
	if got := tiny(11).All().ClassCounts(); !slices.Equal(got, []int{6, 5}) {
		t.Errorf("class counts %v, want [6 5]", got)
	}
}

func TestCheckFindsSharedRecords(t *testing.T) {
	d := tiny(10)
	a, b := Subset{d, []int32{0, 1, 2}}, Subset{d, []int32{2, 3, 4}}
	if err := Replicate.Check([]Subset{a, a, b}); err != nil {
		t.Error(err)
	}
	if err := Shard.Check([]Subset{a, {d, []int32{3, 4}}}); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"shards that overlap":     Shard.Check([]Subset{a, b}),
		"one shard for two":       Shard.Check([]Subset{a, a}),
		"a record twice":          Replicate.Check([]Subset{{d, []int32{5, 5}}}),
		"a record that is not in": Replicate.Check([]Subset{{d, []int32{10}}}),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Both splits refuse a data set that was filled by hand and is not valid, with the error of Validate.
func TestSplitsRefuseWhatIsNotValid(t *testing.T) {
	for want, spoil := range map[string]func(*Dataset){
		"training rows = 99":                        func(d *Dataset) { d.Train = 99 },
		"training rows = -1":                        func(d *Dataset) { d.Train = -1 },
		"1 offsets for 10 rows":                     func(d *Dataset) { d.Start = d.Start[:1] },
		"row 3: label 7, must be in [0, 2)":         func(d *Dataset) { d.Label[3] = 7 },
		"row 1: end offset = 1099511627776":         func(d *Dataset) { d.Start[2] = 1 << 40 },
		"row 1: offsets decrease":                   func(d *Dataset) { d.Start[2] = -1 << 40 },
		"no rows":                                   func(d *Dataset) { *d = Dataset{} },
		"row offsets run from -5 to 10, must be 0 ": func(d *Dataset) { d.Start[0] = -5 },
	} {
		d := tiny(10)
		spoil(d)
		for _, split := range []func(*Dataset, *rng.Root) (Subset, Subset, error){Split, SplitByRecord} {
			if _, _, err := split(d, rng.New(1)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
	}
	for _, split := range []func(*Dataset, *rng.Root) (Subset, Subset, error){Split, SplitByRecord} {
		if _, _, err := split(nil, rng.New(1)); err == nil || err.Error() != "split: no data set" {
			t.Errorf("no data set: %v", err)
		}
	}
}

// All returns every row of a data set once, in order.
func TestAllRowsAreHeld(t *testing.T) {
	d := &Dataset{Label: make([]int32, 3)}
	if all := d.All(); all.Data != d || !slices.Equal(all.Rows, []int32{0, 1, 2}) {
		t.Errorf("%v", all.Rows)
	}
	if all := (&Dataset{}).All(); all.Len() != 0 {
		t.Errorf("of no rows: %v", all.Rows)
	}
}
