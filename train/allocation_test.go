package train

import (
	"context"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/sim"
)

// allocating is a spec of epochs of ten rounds in three epochs and a half.
func allocating() Spec {
	s := smallSpec()
	s.Sampling, s.Batches, s.SampleSize, s.GradComps = string(dp.Allocation), 10, "32", 35*32
	return s
}

// A training by random allocation costs what its plan says. A record of one client pays for four
// epochs, and one that all five clients hold for twenty draws; the noise for a target keeps it.
func TestAllocationPaysForItsEpochs(t *testing.T) {
	for _, partition := range []data.Partition{data.Shard, data.Replicate} {
		s := allocating()
		s.Partition, s.Delta = string(partition), 1e-5
		source := NewSource(drawn())
		s, err := source.Calibrate(t.Context(), s, 3)
		if err != nil {
			t.Fatal(err)
		}
		p, err := source.Prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(context.Background(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if planned := plannedPrivacy(t, p); !equalJSON(t, planned, r.Privacy) {
			t.Errorf("planned %+v, run %+v", planned, r.Privacy)
		}
		epochs, want := 0, 4
		if partition == data.Replicate {
			want = 20
		}
		for _, release := range r.Releases {
			for _, e := range release.Events {
				epochs += e.Epochs()
			}
		}
		if e := *r.Privacy.EpsilonUpper; epochs != want || !(e <= 3 && e > 2.99) || p.KeepsTarget(t.Context()) != nil {
			t.Errorf("%s: %d epochs, ε ≤ %v", partition, epochs, e)
		}
	}
}

func TestAllocationIsRefusedWhereItIsNotDrawn(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"adapt = 2, must be 0 with allocation sampling":   func(s *Spec) { s.Adapt = 2 },
		"allocation trains in one process":                func(s *Spec) { s.Runner = DistributedRunner },
		"must be one size with allocation sampling":       func(s *Spec) { s.SampleSize = "linear:10,1" },
		"batches = 0, must be in [1, 20000000]":           func(s *Spec) { s.Batches = 0 },
		"batches = 10, must be 0 with fixed sampling":     func(s *Spec) { s.Sampling = string(dp.FixedSize) },
		"shuffled batches can be accounted for, but not":  func(s *Spec) { s.Sampling = string(dp.Shuffle) },
		`bounds epsilon = 1, must be 0 with runner = "di`: func(s *Spec) { s.BoundsEpsilon, s.Runner = 1, DistributedRunner },
	} {
		s := allocating()
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, must say %q", err, want)
		}
	}
	if err := allocating().Validate(); err != nil {
		t.Error(err)
	}
}

// Private bounds compose with the training, of Poisson samples or by random allocation: the noise for a
// target is less than that for the target minus the ε of the bounds, and the report lists them.
func TestPrivateBoundsCompose(t *testing.T) {
	for _, s := range []Spec{allocating(), smallSpec()} {
		s.Clients, s.Delta = 1, 1e-5
		source := NewSource(drawn())
		less, err := source.Calibrate(t.Context(), s, 1.5)
		if err != nil {
			t.Fatal(err)
		}
		s.BoundsEpsilon = 0.5
		s, err = source.Calibrate(t.Context(), s, 2)
		if err != nil {
			t.Fatal(err)
		}
		p, err := source.Prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Train(context.Background(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		last := r.Releases[len(r.Releases)-1].Events[0]
		if e := *r.Privacy.EpsilonUpper; !(e <= 2 && e > 1.99) || s.NoiseMultiplier >= less.NoiseMultiplier ||
			p.KeepsTarget(t.Context()) != nil || last.Other != dp.PureDP || last.Epsilon != 0.5 {
			t.Errorf("ε ≤ %v, σ = %v and %v, %+v", e, s.NoiseMultiplier, less.NoiseMultiplier, last)
		}
		if _, err := source.Calibrate(t.Context(), s, 0.5); err == nil || !strings.Contains(err.Error(), "must be above the ε of the private bounds") {
			t.Error(err)
		}
	}
}
