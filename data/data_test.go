package data

import (
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

func TestLabelCounts(t *testing.T) {
	if got := tiny(11).LabelCounts(); !slices.Equal(got, []int{6, 5}) {
		t.Errorf("label counts %v, want [6 5]", got)
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
