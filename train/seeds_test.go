package train

import (
	"testing"

	"proactivedp/dp/pld"
)

// recordCost is what a record of the run pays, certified.
func recordCost(t *testing.T, source *Source, spec Spec) float64 {
	t.Helper()
	p, err := source.Prepare(spec)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := p.Config.PlannedPrivacy(t.Context(), pld.Accountant{}, p.Delta)
	if err != nil || planned.PerRecord.EpsilonUpper == nil {
		t.Fatalf("%v, %s", err, planned.PerRecord.Reason)
	}
	return *planned.PerRecord.EpsilonUpper
}

// No seed costs more than the one that Costliest returns, and with the noise for all seeds none costs more
// than the target. With a split by record, this does not follow from the first seed.
func TestNoSeedCostsMoreThanTheCostliest(t *testing.T) {
	const seeds, target = 6, 0.5
	source := NewSource(drawn())
	for _, split := range []string{RecordSplit, ShuffledSplit} {
		spec := smallSpec()
		spec.Split = split
		p, err := source.Costliest(t.Context(), spec, seeds)
		if err != nil {
			t.Fatal(err)
		}
		most := recordCost(t, source, p.Spec)
		calibrated, err := source.CalibrateSeeds(t.Context(), spec, seeds, target)
		if err != nil {
			t.Fatal(err)
		}
		first, least := recordCost(t, source, spec), 0.0
		for range seeds {
			if e := recordCost(t, source, spec); e > most {
				t.Errorf("%s: seed %d costs %v, the costliest %v", split, spec.Seed, e, most)
			}
			if e := recordCost(t, source, calibrated); e > target {
				t.Errorf("%s: seed %d costs %v of %v", split, calibrated.Seed, e, target)
			}
			less := calibrated
			less.NoiseMultiplier *= 0.995
			least = max(least, recordCost(t, source, less))
			spec.Seed++
			calibrated.Seed++
		}
		if least <= target {
			t.Errorf("%s: with 0.995 of σ = %v no seed costs more than %v: it is not the least", split,
				calibrated.NoiseMultiplier, target)
		}
		if sole := first == most; sole != (split == ShuffledSplit) {
			t.Errorf("%s: the first seed costs %v, the costliest %v", split, first, most)
		}
	}
	if _, err := source.Costliest(t.Context(), smallSpec(), 0); err == nil {
		t.Error("no seeds have a costliest")
	}
}
