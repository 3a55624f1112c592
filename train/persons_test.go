package train

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/rng"
	"proactivedp/sim"
)

// ofPersons returns the data set of the tests, with persons who have 1 to 7 of its records.
func ofPersons() *data.Dataset {
	d := *drawn()
	d.Person = make([]data.PersonKey, d.Len())
	for i := range d.Person {
		d.Person[i] = data.PersonOf(fmt.Sprint(i * i / 7 % 150))
	}
	return &d
}

// forPersons is a spec for persons with up to four records.
func forPersons() Spec {
	s := smallSpec()
	s.AtMost, s.Split, s.Partition, s.Sampling, s.Delta = 4, RecordSplit, string(data.Replicate), string(dp.Poisson), 1e-5
	s.Runner, s.Adapt = VirtualRunner, 0
	return s
}

// What is sampled and what is accounted are for the same persons: no person has more than K records in the
// training set, nor any in the test set, and every round of every client is accounted for a group of K. The
// noise for a target keeps it for the person, by the accountant of account --group.
func TestPersonsPayForTheirRecords(t *testing.T) {
	source := NewSource(ofPersons())
	s, err := source.Calibrate(t.Context(), forPersons(), 3)
	if err != nil {
		t.Fatal(err)
	}
	p, err := source.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range p.Config.Rows {
		if err := rows.CheckPersons(4); err != nil || rows.CheckPersons(3) == nil {
			t.Errorf("training rows: %v; and four records for somebody: %v", err, rows.CheckPersons(3))
		}
		trained := map[data.PersonKey]bool{}
		for _, i := range rows.Rows {
			trained[rows.Data.Person[i]] = true
		}
		for _, i := range p.Test.Rows {
			if trained[p.Test.Data.Person[i]] {
				t.Fatal("a person is in the training set and in the test set")
			}
		}
	}
	r, err := p.Train(context.Background(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if planned := plannedPrivacy(t, p); !equalJSON(t, planned, r.Privacy) {
		t.Errorf("planned %+v, run %+v", planned, r.Privacy)
	}
	var events []dp.Event
	for _, release := range r.Releases {
		for _, e := range release.Events {
			if e.Group != 4 {
				t.Errorf("a release for groups of %d", e.Group)
			}
			events = append(events, e)
		}
	}
	b, err := pld.Accountant{}.Epsilon(t.Context(), events, 1e-5)
	if err != nil || b.EpsilonUpper != *r.Privacy.EpsilonUpper || !(b.EpsilonUpper <= 3 && b.EpsilonUpper > 2.99) {
		t.Errorf("ε ≤ %v, reported %v, %v", b.EpsilonUpper, *r.Privacy.EpsilonUpper, err)
	}
	if r.Privacy.Group != 4 || r.Privacy.PerRecord.Group != 4 || r.Privacy.PerClient.Group != 4 || r.Spec.AtMost != 4 {
		t.Errorf("report %+v", r.Privacy)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "for a person with up to 4 records (certified by pld)") {
		t.Errorf("%s, %v", text.String(), err)
	}
	text.Reset()
	if err := r.WriteStatement(&text); err != nil || !strings.Contains(text.String(), "per person") ||
		strings.Contains(text.String(), "per record ") {
		t.Errorf("%s, %v", text.String(), err)
	}
	path := filepath.Join(t.TempDir(), "m.model")
	if err := r.Save(path, NewInputs(p.Read(), "", nil)); err != nil {
		t.Fatal(err)
	}
	if m, err := OpenModel(path); err != nil || m.Spec.AtMost != 4 || m.Privacy.Group != 4 {
		t.Errorf("saved %+v, %v", m, err)
	}
	of := *p.Config // a person with K+1 records: what would break the guarantee does not run
	of.Mechanism.Group = 3
	if err := of.Validate(); err == nil || !strings.Contains(err.Error(), "more than 3 records") {
		t.Errorf("group = 3: %v", err)
	}
	of.Mechanism.Group = 0
	if err := of.Validate(); err == nil || !strings.Contains(err.Error(), "the data set has persons") {
		t.Errorf("no group: %v", err)
	}
}

// Choices for a person are those for a record with a smaller ε; the noise is for the person.
func TestChooseForPersons(t *testing.T) {
	s := forPersons()
	s.Clients, s.TargetEpsilon = 1, 2
	p, err := s.Prepare(ofPersons(), nil)
	if err != nil {
		t.Fatal(err)
	}
	chosen, _, err := p.Choose(t.Context(), Open{SampleSize: true, GradComps: true, Delta: true, Clip: true, Eta0: true,
		Schedule: true, Noise: true}, 2)
	if err != nil {
		t.Fatal(err)
	}
	persons := map[data.PersonKey]bool{}
	for _, i := range p.Config.Rows[0].Rows {
		persons[p.Read().Person[i]] = true
	}
	if !(chosen.Delta <= 1/(10*float64(len(persons)))) {
		t.Errorf("δ = %v for %d persons", chosen.Delta, len(persons))
	}
	if p, err = chosen.Prepare(ofPersons(), nil); err != nil {
		t.Fatal(err)
	}
	if p, err = p.Calibrate(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if err := p.KeepsTarget(t.Context()); err != nil {
		t.Error(err)
	}
	p.Spec.TargetEpsilon = 1.99 // the accountant has no lower end for persons here, so the upper one decides
	if err := p.KeepsTarget(t.Context()); err == nil || !strings.Contains(err.Error(), "costs a person up to ε = ") {
		t.Errorf("a target of 1.99 after a calibration for 2: %v", err)
	}
}

func TestPersonsAreRefusedWhereTheyAreNotCovered(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"adapt = 2, must be 0 for persons":                       func(s *Spec) { s.Adapt = 2 },
		"at most = 4 records of a person, must be 0 with runner": func(s *Spec) { s.Runner = DistributedRunner },
		"at most = 1001 records of a person, must be in":         func(s *Spec) { s.AtMost = 1001 },
		"at most = -1 records of a person, must be in":           func(s *Spec) { s.AtMost = -1 },
		`sampling = "fixed", must be "poisson" for persons`:      func(s *Spec) { s.Sampling = string(dp.FixedSize) },
		`split = "shuffled", must be "by-record"`:                func(s *Spec) { s.Split = ShuffledSplit },
		`partition = "shard", must be "replicate" for persons`:   func(s *Spec) { s.Clients, s.Partition = 2, string(data.Shard) },
		"bounds epsilon = 0.1, must be 0 for persons":            func(s *Spec) { s.BoundsEpsilon = 0.1 },
		"group = 0, must be the largest number":                  func(s *Spec) { s.AtMost = 0 },
	} {
		s := forPersons()
		change(&s)
		if _, err := s.Prepare(ofPersons(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s := forPersons()
	if _, err := s.Prepare(drawn(), nil); err == nil || !strings.Contains(err.Error(), "--person") {
		t.Errorf("no persons: %v", err)
	}
	s = smallSpec()
	s.Runner, s.Adapt = DistributedRunner, 0
	if _, err := NewSource(ofPersons()).PrepareOwn(s, 0, 100); err == nil || !strings.Contains(err.Error(), "do not know of each") {
		t.Errorf("an own client: %v", err)
	}
	stage := Stage{Root: rng.New(1), Participants: []Participant{{Records: 9}}}
	s = forPersons()
	s.NoiseMultiplier = 0
	for _, s.AtMost = range []int{1, 4} {
		if err := stage.check(s); err == nil || !strings.Contains(err.Error(), "records = 9, must be 0 for persons") {
			t.Errorf("a stage: %v", err)
		}
	}
	d := ofPersons() // with a test set of its own, which records of a person are kept still depends on the root
	for i := range d.Person {
		d.Person[i] = data.PersonOf(fmt.Sprint(i / 10))
	}
	d.Train = 300
	source, kept := NewSource(d), [2][]int32{}
	for i := range kept {
		s = forPersons()
		s.Clients, s.Seed = 1, uint64(1+i)
		p, err := source.Prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		kept[i] = p.Config.Rows[0].Rows
	}
	if len(kept[0]) != 4*30 || slices.Equal(kept[0], kept[1]) {
		t.Errorf("%d records are kept, the same with two seeds: %v", len(kept[0]), slices.Equal(kept[0], kept[1]))
	}
}
