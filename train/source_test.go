package train

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"proactivedp/data"
	"proactivedp/rng"
)

// A source that is given roots divides the rows by them, as Spec.Prepare does, whatever it prepared
// before.
func TestPrepareWithARoot(t *testing.T) {
	source, spec := NewSource(drawn()), smallSpec()
	for _, root := range []*rng.Root{nil, rng.New(2), rng.New(2).ForRun(1), nil} {
		got, err := source.PrepareWith(spec, root)
		if err != nil {
			t.Fatal(err)
		}
		want, err := spec.Prepare(drawn(), root)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Config.Rows[0].Rows, want.Config.Rows[0].Rows) || !slices.Equal(got.Test.Rows, want.Test.Rows) {
			t.Errorf("with the root %v: other rows than on a source of its own", root.Name())
		}
	}
	if _, err := new(Source).PrepareWith(spec, nil); err == nil {
		t.Error("a zero source prepares")
	}
}

// A source prepares each spec once. What several specs share is in memory once: rows by seed, partition,
// clients and holdout; models; and traces by file.
func TestSourceKeepsEachThingOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.csv")
	if err := os.WriteFile(file, []byte("client,duration\n0,1ms\n1,2ms\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	spec := smallSpec()
	spec.Clients, spec.Compute = 2, "trace:"+file
	source := NewSource(drawn())
	prepare := func(s Spec) *Prepared {
		p, err := source.Prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	one := prepare(spec)
	if prepare(spec) != one {
		t.Error("the same spec was prepared twice")
	}
	later := spec
	later.Delay = "4"
	if p := prepare(later); p == one || &p.Config.Rows[0] != &one.Config.Rows[0] ||
		p.Config.Model != one.Config.Model ||
		p.Config.Timing.Compute.Trace != one.Config.Timing.Compute.Trace {
		t.Error("a spec that differs in its delay has rows, a model or a trace of its own")
	}
	for name, change := range map[string]func(*Spec){
		"seed":      func(s *Spec) { s.Seed = 2 },
		"partition": func(s *Spec) { s.Partition = string(data.Shard) },
		"clients":   func(s *Spec) { s.Clients, s.Compute = 3, "constant:1ms" },
		"holdout":   func(s *Spec) { s.Holdout = 0.1 },
	} {
		other := spec
		change(&other)
		want, err := other.Prepare(drawn(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := prepare(other)
		if &got.Config.Rows[0] == &one.Config.Rows[0] {
			t.Errorf("another %s has the same rows", name)
		}
		if !slices.EqualFunc(got.Config.Rows, want.Config.Rows,
			func(a, b data.Subset) bool { return slices.Equal(a.Rows, b.Rows) }) ||
			!slices.Equal(got.Test.Rows, want.Test.Rows) {
			t.Errorf("another %s: other rows than without a source", name)
		}
	}
	if source.Hash() != drawn().Hash() || source.Data().Len() != 400 {
		t.Error("the source is of other data")
	}
}

// If a data set has a test set and every client holds all of it, the rows do not depend on the seed. Specs
// of all seeds then share the rows, but not their randomness.
func TestSourceSharesWhatNoSeedDecides(t *testing.T) {
	source := NewSource(digits(70))
	prepared := make([]*Prepared, 4)
	var wait sync.WaitGroup
	for seed := range prepared {
		wait.Go(func() {
			s := smallLeNet()
			s.Seed = uint64(seed)
			var err error
			if prepared[seed], err = source.Prepare(s); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, p := range prepared[1:] {
		if p == nil || &p.Config.Rows[0] != &prepared[0].Config.Rows[0] ||
			p.Config.Roots.Run == prepared[0].Config.Roots.Run {
			t.Fatal("rows are not shared, or randomness is")
		}
	}
}

func TestNoDataSetIsAnError(t *testing.T) {
	_, alone := DefaultSpec().Prepare(nil, nil)
	_, source := NewSource(nil).Prepare(DefaultSpec())
	for by, err := range map[string]error{"Spec.Prepare": alone, "Source.Prepare": source} {
		if err == nil || err.Error() != "no data set" {
			t.Errorf("%s: %v", by, err)
		}
	}
}

// The folds hold out disjoint rows that together are all rows. A fold that does not exist is refused.
func TestFolds(t *testing.T) {
	spec, source := smallSpec(), NewSource(drawn())
	whole, _, err := spec.SplitRows(drawn(), rng.New(spec.Seed))
	if err != nil {
		t.Fatal(err)
	}
	for _, folds := range []int{6, 7} {
		seen := map[int32]bool{}
		for spec.Holdout, spec.Fold = 1/float64(folds), 0; spec.Fold < folds; spec.Fold++ {
			p, err := source.Prepare(spec)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range p.Test.Rows {
				if seen[row] || slices.Contains(p.Config.Rows[0].Rows, row) {
					t.Fatalf("fold %d of %d: row %d is held out twice, or trained on", spec.Fold, folds, row)
				}
				seen[row] = true
			}
		}
		if len(seen) != whole.Len() {
			t.Errorf("%d folds hold out %d of %d rows", folds, len(seen), whole.Len())
		}
		if _, err := source.Prepare(spec); err == nil || !strings.Contains(err.Error(), "fold = ") {
			t.Errorf("fold %d of %d: error %v", spec.Fold, folds, err)
		}
	}
	spec.Holdout, spec.Fold = 0, 1
	if err := spec.Validate(); err == nil {
		t.Error("a fold of no rows is no error")
	}
}

// A spec with a number of features accepts only data sets with this number; 0 accepts any.
func TestFeaturesAreThoseOfTheData(t *testing.T) {
	d := drawn()
	for features, want := range map[int]string{
		0: "", d.Features: "", d.Features + 1: fmt.Sprintf("features = %d, must be %d as in ", d.Features+1, d.Features),
	} {
		spec := smallSpec()
		spec.Features = features
		_, err := NewSource(d).Prepare(spec)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("features = %d of %d: error %v, want %q", features, d.Features, err, want)
		}
	}
}
