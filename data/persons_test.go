package data

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"proactivedp/rng"
)

// visits returns a data set whose persons have 1 to most records; many records occur twice. Its rows
// are in an order that depends on the shuffle.
func visits(t *testing.T, persons, most int, shuffle uint64, without string) *Dataset {
	t.Helper()
	type row struct {
		who   string
		value float32
	}
	var all []row
	for p := range persons {
		for j := range 1 + p%most {
			if who := fmt.Sprint("person ", p); who != without {
				all = append(all, row{who, float32(p%7 + 10*(j/2))})
			}
		}
	}
	rng.Shuffle(rng.New(shuffle).Stream(rng.Split, 0, 0), all)
	rows, labels := make([][]float32, len(all)), make([]int32, len(all))
	var whose []PersonKey
	for i, r := range all {
		rows[i], labels[i] = []float32{r.value, 1}, 0
		whose = append(whose, PersonOf(r.who))
	}
	d, err := FromRows("visits", rows, labels)
	if err != nil {
		t.Fatal(err)
	}
	d.Person = whose
	return d
}

// bag counts the records of a subset by person and content.
func bag(s Subset) map[string]int {
	counts := map[string]int{}
	for _, i := range s.Rows {
		counts[fmt.Sprint(s.Data.Person[i], s.Data.Row(int(i)))]++
	}
	return counts
}

// Which records of a person are kept does not depend on the order of the file or on other persons. So
// removing a person removes at most k records. This is the neighbouring relation of dp.Mechanism.Group.
func TestAtMostIsOfEachPersonAlone(t *testing.T) {
	root := rng.New(5)
	for _, k := range []int{1, 2, 3, 9} {
		kept, err := visits(t, 40, 9, 1, "").All().AtMost(k, root)
		if err != nil {
			t.Fatal(err)
		}
		again, err := visits(t, 40, 9, 2, "").All().AtMost(k, root)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(bag(kept), bag(again)) {
			t.Errorf("k = %d: another order of the file keeps other records", k)
		}
		if !slices.IsSorted(kept.Rows) {
			t.Errorf("k = %d: rows out of order", k)
		}
		if err := kept.CheckPersons(k); err != nil {
			t.Error(err)
		}
		for most := 1; most <= 9; most++ {
			if (visits(t, 40, most, 1, "").All().CheckPersons(k) == nil) != (most <= k) {
				t.Errorf("k = %d: persons with up to %d records", k, most)
			}
		}
		const gone = "person 17" // who has 9 records
		fewer, err := visits(t, 40, 9, 3, gone).All().AtMost(k, root)
		if err != nil {
			t.Fatal(err)
		}
		more, prefix := bag(kept), fmt.Sprint(PersonOf(gone))
		lost := 0
		for record, n := range more {
			if strings.HasPrefix(record, prefix) {
				lost += n
				delete(more, record)
			}
		}
		if lost != k || !maps.Equal(more, bag(fewer)) {
			t.Errorf("k = %d: a person who leaves takes %d records, and others change: %v", k, lost, !maps.Equal(more, bag(fewer)))
		}
	}
	one, _ := visits(t, 40, 9, 1, "").All().AtMost(1, root)
	other, _ := visits(t, 40, 9, 1, "").All().AtMost(1, rng.New(6))
	if maps.Equal(bag(one), bag(other)) {
		t.Error("another key keeps the same records")
	}
}

// All records of a person are on the same side of the split. The side depends only on the person.
func TestPersonsAreOnOneSide(t *testing.T) {
	root := rng.New(3)
	sides := func(d *Dataset) map[PersonKey]int {
		train, test, err := SplitByRecord(d, root)
		if err != nil {
			t.Fatal(err)
		}
		rest, held, err := HoldOut(train, 0.3, 0, root)
		if err != nil {
			t.Fatal(err)
		}
		of := map[PersonKey]int{}
		for side, s := range []Subset{rest, held, test} {
			for _, i := range s.Rows {
				if before, seen := of[d.Person[i]]; seen && before != side {
					t.Fatal("a person is on two sides")
				}
				of[d.Person[i]] = side
			}
		}
		return of
	}
	all, fewer := sides(visits(t, 60, 5, 1, "")), sides(visits(t, 60, 5, 2, "person 9"))
	delete(all, PersonOf("person 9"))
	if !maps.Equal(all, fewer) {
		t.Error("the side of a person depends on others")
	}
}

// Splits and partitions that would put the records of a person on both sides, or give them to two clients,
// are refused.
func TestPersonsAreNotTornApart(t *testing.T) {
	root, d := rng.New(3), visits(t, 20, 3, 1, "")
	if _, _, err := Split(d, root); err == nil || !strings.Contains(err.Error(), "by record") {
		t.Errorf("shuffled split: %v", err)
	}
	if _, err := Shard.Deal(d.All(), 2, root); err == nil || !strings.Contains(err.Error(), "several clients") {
		t.Errorf("shards: %v", err)
	}
	if _, err := Shard.Deal(d.All(), 1, root); err != nil {
		t.Errorf("one shard: %v", err)
	}
	one := visits(t, 1, 5, 1, "")
	if _, _, err := SplitByRecord(one, root); err == nil || !strings.Contains(err.Error(), "all records of a person are on one side") {
		t.Errorf("one person: %v", err)
	}
	d.Train = d.Len() - 1
	for _, first := range []int{0, d.Train - 1} {
		d.Person[first] = PersonOf(fmt.Sprint("in both, from row ", first))
		d.Person[d.Train] = d.Person[first]
		if _, _, err := SplitByRecord(d, root); err == nil || !strings.Contains(err.Error(), "known persons") {
			t.Errorf("the person of row %d in both files: %v", first, err)
		}
	}
	d.Person[d.Train] = PersonOf("somebody else")
	if _, _, err := SplitByRecord(d, root); err != nil {
		t.Error(err)
	}
	plain := *d
	if plain.Person = nil; plain.Hash() == d.Hash() {
		t.Error("the digest does not depend on the persons")
	}
	if _, err := plain.All().AtMost(2, root); err == nil || !strings.Contains(err.Error(), "--person") {
		t.Errorf("no persons: %v", err)
	}
	if _, err := d.All().AtMost(0, root); err == nil {
		t.Error("at most 0 records")
	}
	if plain.Person = d.Person[1:]; plain.Validate() == nil {
		t.Error("a row without a person")
	}
}
