package data

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/rng"
)

// sorted is a table whose last sixth is another kind of record, as in a file that is sorted: of
// kind 1 if the record's first number is 1.
func sorted(n int) *Dataset {
	d := &Dataset{Name: "sorted", Classes: 2, Label: make([]int32, n)}
	value := make([]float32, 2*n)
	for i := range n {
		value[2*i+1] = float32(i)
		if i >= n-n/6 {
			value[2*i], d.Label[i] = 1, 1
		}
	}
	return d.WithDense(2, value)
}

// records returns what the rows hold, sorted.
func records(s Subset) []string {
	var all []string
	for _, i := range s.Rows {
		all = append(all, fmt.Sprint(s.Data.Label[i], s.Data.Row(int(i)).Value))
	}
	slices.Sort(all)
	return all
}

// Whether a record is held out does not depend on the order of the records or on the other records. So in
// a sorted file, the held-out records are like the others.
func TestHoldOutIsByRecord(t *testing.T) {
	const n = 6000
	d := sorted(n)
	root := rng.New(5)
	rest, held, err := HoldOut(d.All(), 1./6, 0, root)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, i := range held.Rows {
		last += int(d.Label[i])
	}
	// Of n records each is held out with probability 1/6, and of those held out each is of the last
	// kind with probability 1/6: 5 deviations, exceeded with probability 6e-7.
	if off := math.Abs(float64(held.Len()) - n/6); off > 5*math.Sqrt(n*5./36) {
		t.Errorf("%d of %d records are held out", held.Len(), n)
	}
	if share := float64(last) / float64(held.Len()); math.Abs(share-1./6) > 5*math.Sqrt(5./36/float64(held.Len())) {
		t.Errorf("%.3f of those held out are of the last sixth of the file", share)
	}

	backwards := d.All()
	slices.Reverse(backwards.Rows)
	without := Subset{d, slices.Delete(slices.Clone(d.All().Rows), 17, 18)}
	for name, all := range map[string]Subset{"backwards": backwards, "without a record": without} {
		rest2, held2, err := HoldOut(all, 1./6, 0, root)
		if err != nil {
			t.Fatal(err)
		}
		if rest2.Len()+held2.Len() != all.Len() || gone(rest, rest2)+gone(held, held2) != n-all.Len() {
			t.Errorf("%s: records change sides", name)
		}
	}
	_, other, err := HoldOut(d.All(), 1./6, 0, rng.New(6))
	if err != nil || slices.Equal(other.Rows, held.Rows) {
		t.Errorf("another seed holds out the same records (%v)", err)
	}
	_, test, err := SplitByRecord(d, root)
	if err != nil {
		t.Fatal(err)
	}
	_, fifth, err := HoldOut(d.All(), 0.2, 0, root)
	if err != nil || slices.Equal(test.Rows, fifth.Rows) {
		t.Errorf("what is held out is what the split puts into the test set (%v)", err)
	}
}

// Copies of a record are assigned one by one, so a part of them is held out. Removing one copy, in
// whichever row, removes one record from one side.
func TestHoldOutOfCopies(t *testing.T) {
	const n = 3000
	d := sorted(n)
	for i := range d.Label { // three different records
		d.Value[2*i], d.Value[2*i+1], d.Label[i] = float32(i%3), 0, int32(i%2)
	}
	root := rng.New(5)
	rest, held, err := HoldOut(d.All(), 1./6, 0, root)
	if err != nil {
		t.Fatal(err)
	}
	if off := math.Abs(float64(held.Len()) - n/6); off > 5*math.Sqrt(n*5./36) { // as above
		t.Errorf("%d of %d copies are held out", held.Len(), n)
	}
	for leaves := range 60 {
		all := Subset{d, slices.Delete(slices.Clone(d.All().Rows), leaves, leaves+1)}
		rest2, held2, err := HoldOut(all, 1./6, 0, root)
		if err != nil {
			t.Fatal(err)
		}
		if n := gone(rest, rest2) + gone(held, held2); n != 1 || rest2.Len()+held2.Len() != all.Len() {
			t.Errorf("row %d leaves, and %d records do", leaves, n)
		}
	}
}

// gone returns how many records of before, counting copies, are not in after. A record of after that
// is not in before counts too.
func gone(before, after Subset) int {
	n, left := 0, records(after)
	for _, r := range records(before) {
		if len(left) > 0 && left[0] == r {
			left = left[1:]
		} else {
			n++
		}
	}
	return n + len(left)
}

// If no records can be held out, the error says what to change.
func TestHoldOutRefuses(t *testing.T) {
	d := sorted(12)
	for _, tt := range []struct {
		part float64
		fold int
		want string
	}{
		{0, 0, "holdout = 0, must be in (0, 1)"},
		{1474, 0, "holdout = 1474, must be in (0, 1): it is the part"},
		{math.NaN(), 0, "holdout = NaN"},
		{0.2, -1, "fold = -1 of holdout = 0.2, must be in [0, 4]"},
		{0.2, 5, "fold = 5 of holdout = 0.2, must be in [0, 4]"},
		{0.2, math.MaxInt, "fold = 9223372036854775807 of holdout = 0.2, must be in [0, 4]"},
		{1e-30, -1, "fold = -1 of holdout = 1e-30, must be in [0, 1.000000001e+30]"},
		{1e-9, 0, "holds out 0 of 12 training rows"},
		{1 - 1e-12, 0, "leaves 0 to train on"},
	} {
		if _, _, err := HoldOut(d.All(), tt.part, tt.fold, rng.New(1)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("part %v, fold %d: error %v, want %q", tt.part, tt.fold, err, tt.want)
		}
	}
	if _, _, err := HoldOut(d.All(), 0.5, 0, nil); err == nil {
		t.Error("no root is no error")
	}
	for folds := 2; folds <= 1000; folds++ { // 49·(1/49) is not 1
		part := 1 / float64(folds)
		if err := CheckHoldOut(part, folds-1); err != nil || CheckHoldOut(part, folds) == nil {
			t.Errorf("the last of %d folds: %v; one more: %v", folds, err, CheckHoldOut(part, folds))
		}
	}
}

// Copies of a record count as one distinct record.
func TestDistinct(t *testing.T) {
	d := sorted(10)
	copies := Subset{d, []int32{0, 1, 1, 2, 1, 9}}
	if distinct, most := copies.Distinct(); distinct != 4 || most != 3 {
		t.Errorf("%d distinct, the most frequent %d times, must be 4 and 3", distinct, most)
	}
	if distinct, most := (Subset{Data: d}).Distinct(); distinct != 0 || most != 0 {
		t.Errorf("of no rows: %d and %d", distinct, most)
	}
}
