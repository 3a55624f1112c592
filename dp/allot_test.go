package dp

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/rng"
)

func allocating(n, t int) Mechanism {
	return Mechanism{Sampling: Allocation, Adjacency: AddOrRemove, ClipNorm: 1, NoiseMultiplier: 1, DatasetSize: n,
		Sizes: ConstantSizes(1), Batches: t}
}

// Each record is in exactly one round of an epoch, also if there are more rounds than records, and the
// rounds have their records in order.
func TestEachRecordIsInOneRound(t *testing.T) {
	var a Allotment
	var scratch SampleScratch
	for epoch, c := range []struct{ n, batches int }{{1000, 7}, {1, 1}, {5, 1}, {3, 50}, {257, 256}, {1000, 7}} {
		m := allocating(c.n, c.batches)
		if err := m.Validate(3); err != nil {
			t.Fatal(err)
		}
		m.Allot(&a, rng.New(1).Stream(rng.Sampling, 0, epoch), &scratch)
		var all []int32
		for j := range c.batches {
			if !slices.IsSorted(a.Of(j)) {
				t.Errorf("%+v: round %d is not in order", c, j)
			}
			all = append(all, a.Of(j)...)
		}
		slices.Sort(all)
		for p := range c.n {
			if len(all) != c.n || all[p] != int32(p) {
				t.Fatalf("%+v: the rounds have the records %v", c, all)
			}
		}
	}
}

// The rounds of a record are uniform and independent of those of other records and epochs: over many
// epochs, the pairs of rounds of two records, and of one record in two epochs, are equally frequent.
// The chi-square of 15 degrees of freedom exceeds 55 with a probability of 2e-6.
func TestRoundsAreUniformAndIndependent(t *testing.T) {
	const batches, epochs = 4, 4000
	m := allocating(2, batches)
	var a Allotment
	var scratch SampleScratch
	var pairs, next [batches * batches]float64
	before := 0
	for epoch := range epochs {
		m.Allot(&a, rng.New(3).Stream(rng.Sampling, 0, epoch), &scratch)
		var at [2]int
		for j := range batches {
			for _, p := range a.Of(j) {
				at[p] = j
			}
		}
		pairs[at[0]*batches+at[1]]++
		next[before*batches+at[0]]++
		before = at[0]
	}
	for name, seen := range map[string][batches * batches]float64{"two records": pairs, "two epochs": next} {
		chi := 0.0
		for _, n := range seen {
			const want = epochs / float64(batches*batches)
			chi += (n - want) * (n - want) / want
		}
		if chi > 55 {
			t.Errorf("%s: chi-square %v of %v", name, chi, seen)
		}
	}
}

// The rounds of a client are one event. Those of several clients are added up only if the epochs are
// whole: three rounds of one draw and three of another are not an epoch of six.
func TestEpochsOfAllocationAreNotMixed(t *testing.T) {
	m := allocating(100, 10)
	shuffle := Event{Sampling: Shuffle, Adjacency: ZeroOut, NoiseMultiplier: 1, Rate: 0.1, Redraw: EachEpoch}
	for _, c := range []struct {
		shuffled                               bool
		rounds, epochs, clients, events, total int
	}{
		{false, 25, 3, 5, 5, 15}, {false, 30, 3, 5, 1, 15}, {false, 3, 1, 2, 2, 2}, {false, 7, 1, 1, 1, 1},
		{true, 25, 3, 5, 5, 15}, {true, 30, 3, 5, 1, 15}, {true, 3, 1, 2, 2, 2}, {true, 7, 1, 1, 1, 1},
	} {
		events := m.Events(c.rounds)
		if c.shuffled {
			shuffle.Count = c.rounds
			events = []Event{shuffle}
		}
		if len(events) != 1 || events[0].Count != c.rounds || events[0].Epochs() != c.epochs || events[0].Validate() != nil {
			t.Errorf("%+v: %+v, %v", c, events, events[0].Validate())
		}
		all, err := Times(events, c.clients)
		total := 0
		for _, e := range all {
			total += e.Epochs()
		}
		if err != nil || len(all) != c.events || total != c.total {
			t.Errorf("%+v: %d events of %d epochs, %v", c, len(all), total, err)
		}
	}
	var l Ledger
	l.Record(m.Event(0))
	if l.Record(m.Event(0)); len(l.Events()) != 2 {
		t.Errorf("draws that may differ are added up: %+v", l.Events())
	}
	kept := m.Events(10)[0]
	kept.Redraw = Once
	for _, e := range []Event{m.Events(3)[0], kept} {
		if _, err := Times([]Event{e}, maxCopies+1); !errors.Is(err, ErrNotCovered) || !strings.Contains(err.Error(), "whole epochs of 10 batches, each drawn anew") {
			t.Errorf("too many events: %v", err)
		}
	}
	if all, err := Times(m.Events(10), 1_000_000); err != nil || len(all) != 1 || all[0].Count != 10_000_000 {
		t.Errorf("%+v, %v", all, err)
	}
	shuffle.Redraw, shuffle.Count = "", 30 // the epochs may all be one draw
	if all, err := Times([]Event{shuffle}, 2); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	if run := l.Run(); run.Rounds != 2 || run.Computed != 20 {
		t.Errorf("%+v", run)
	}
	m.DatasetSize, m.Group = 101, 1
	if e := m.Event(0); e.ExpectedSize() != 11 || e.Group != 1 { // ⌈101/10⌉
		t.Errorf("%+v: expected size %d", e, e.ExpectedSize())
	}
}

// Settings that would make the number of rounds an epoch depend on the records, or the rounds unequal,
// are refused by name.
func TestMechanismsOfAllocation(t *testing.T) {
	for want, change := range map[string]func(*Mechanism){
		"batches = 0, must be in [1, 20000000]":        func(m *Mechanism) { m.Batches = 0 },
		"batches = -1":                                 func(m *Mechanism) { m.Batches = -1 },
		"batches = 5, must be 0 with poisson":          func(m *Mechanism) { m.Sampling, m.Batches = Poisson, 5 },
		"must be one size with allocation":             func(m *Mechanism) { m.Sizes = ListSizes{1, 2} },
		"use add-or-remove adjacency":                  func(m *Mechanism) { m.Adjacency = ReplaceOne },
		"data set size N = 0, must be at least 1":      func(m *Mechanism) { m.DatasetSize = 0 },
		"sample size = 101, must be in [1, N = 100]":   func(m *Mechanism) { m.Sizes = ConstantSizes(101) },
		"noise multiplier = -1":                        func(m *Mechanism) { m.NoiseMultiplier = -1 },
		"clipping norm = 0, must be above 0":           func(m *Mechanism) { m.ClipNorm = 0 },
		`sampling = "shuffle", must be "poisson", "fi`: func(m *Mechanism) { m.Sampling, m.Adjacency, m.Batches = Shuffle, ZeroOut, 0 },
	} {
		m := allocating(100, 10)
		change(&m)
		if err := m.Validate(5); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, must say %q", err, want)
		}
	}
}

// A release of allocation is rarely larger than LargestRelease says. Here noise is almost none, and a
// batch has more than 1.5 times its mean of 10 records in about one round of twenty.
func TestLargestReleaseOfAllocation(t *testing.T) {
	m := allocating(1000, 100)
	m.NoiseMultiplier = 1e-9
	most, err := m.LargestRelease(1, 1, 1e-9)
	if err != nil || most < 10+3*math.Sqrt(10) || most > 100 {
		t.Errorf("%v, %v", most, err)
	}
	var a Allotment
	var scratch SampleScratch
	for epoch := range 20 {
		m.Allot(&a, rng.New(7).Stream(rng.Sampling, 0, epoch), &scratch)
		for j := range m.Batches {
			if float64(len(a.Of(j))) > most {
				t.Errorf("%d records in a round, most %v", len(a.Of(j)), most)
			}
		}
	}
}
