package train

import (
	"cmp"
	"math"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/dp/pld"
	"proactivedp/rng"
)

// recordCost is what a record of the run pays, certified, at the run's own δ.
func recordCost(t *testing.T, source *Source, spec Spec) float64 {
	t.Helper()
	return costAt(t, source, spec, 0)
}

// costAt is recordCost at the given δ, or at the run's own δ if it is 0.
func costAt(t *testing.T, source *Source, spec Spec, delta float64) float64 {
	t.Helper()
	p, err := source.Prepare(spec)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := p.Config.PlannedPrivacy(t.Context(), pld.Accountant{}, cmp.Or(delta, p.Delta))
	if err != nil || planned.PerRecord.EpsilonUpper == nil {
		t.Fatalf("%v, %s", err, planned.PerRecord.Reason)
	}
	return *planned.PerRecord.EpsilonUpper
}

// No seed costs more than the one that Costliest returns, and with the noise for all seeds none costs more
// than the target. If each seed has another number of training records, this does not follow from the first seed: with
// a split by record, and if records are held out, also of data that has a separate test set.
func TestNoSeedCostsMoreThanTheCostliest(t *testing.T) {
	const seeds, target = 6, 0.5
	parted := drawn()
	parted.Train = 300
	for _, c := range []struct {
		name    string
		data    *data.Dataset
		split   string
		holdout float64
		varies  bool
	}{
		{"split by record", drawn(), RecordSplit, 0, true},
		{"shuffled split", drawn(), ShuffledSplit, 0, false},
		{"shuffled split, records held out", drawn(), ShuffledSplit, 0.3, true},
		{"test set", parted, RecordSplit, 0, false},
		{"test set, records held out", parted, RecordSplit, 0.3, true},
	} {
		source := NewSource(c.data)
		spec := smallSpec()
		spec.Split, spec.Holdout = c.split, c.holdout
		p, err := source.Costliest(t.Context(), spec, seeds)
		if err != nil {
			t.Fatal(err)
		}
		most := recordCost(t, source, p.Spec)
		calibrated, err := source.CalibrateSeeds(t.Context(), spec, seeds, target)
		if err != nil {
			t.Fatal(err)
		}
		fewest, err := source.LeastRecords(spec, seeds)
		if err != nil {
			t.Fatal(err)
		}
		first, least, few := recordCost(t, source, spec), 0.0, math.MaxInt
		for range seeds {
			p, err := source.Prepare(spec)
			if err != nil {
				t.Fatal(err)
			}
			few = min(few, p.Config.Mechanism.DatasetSize)
			if e := recordCost(t, source, spec); e > most {
				t.Errorf("%s: seed %d costs %v, the costliest %v", c.name, spec.Seed, e, most)
			}
			if e := recordCost(t, source, calibrated); e > target {
				t.Errorf("%s: seed %d costs %v of %v", c.name, calibrated.Seed, e, target)
			}
			less := calibrated
			less.NoiseMultiplier *= 0.995
			least = max(least, recordCost(t, source, less))
			spec.Seed++
			calibrated.Seed++
		}
		if least <= target {
			t.Errorf("%s: with 0.995 of σ = %v no seed costs more than %v: it is not the least", c.name,
				calibrated.NoiseMultiplier, target)
		}
		if fewest != few {
			t.Errorf("%s: least number of records = %d, the seeds have at least %d", c.name, fewest, few)
		}
		if (first != most) != c.varies {
			t.Errorf("%s: the first seed costs %v, the costliest %v", c.name, first, most)
		}
	}
	if _, err := NewSource(parted).Costliest(t.Context(), smallSpec(), 0); err == nil {
		t.Error("no seeds have a costliest")
	}
}

// The pair (ε, δ) of the costliest run holds for every seed, also if δ is 1/N and so differs: here, runs with more
// records have a larger ε, but at a smaller δ, and runs with fewer records cost more at that δ.
func TestTheCostliestPairHoldsForEverySeed(t *testing.T) {
	const seeds = 20
	d := synth.OneHot(rng.New(3), 40)
	d.Train = 36
	source, spec := NewSource(d), smallSpec()
	spec.Clients, spec.NoiseMultiplier, spec.SampleSize, spec.GradComps, spec.Holdout = 1, 1, "1", 5, 0.25
	p, err := source.Costliest(t.Context(), spec, seeds)
	if err != nil {
		t.Fatal(err)
	}
	most := recordCost(t, source, p.Spec)
	for range seeds {
		if e := costAt(t, source, spec, p.Delta); e > most {
			t.Errorf("seed %d costs ε = %v at δ = %v, the costliest seed %d has %v", spec.Seed, e, p.Delta, p.Spec.Seed, most)
		}
		spec.Seed++
	}
}
