package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
)

// ofSeeds prepares the spec with several consecutive seeds, starting with the spec's own. It
// returns one run for each number of records that a client holds. With the split by record, and if
// records are held out (Spec.Holdout), this number, and so the sample rate, depends on the seed.
// Otherwise it is always the same.
func (s *Source) ofSeeds(spec Spec, seeds int) ([]*Prepared, error) {
	if err := s.made(); err != nil {
		return nil, err
	}
	var runs []*Prepared
	known := map[int]bool{}
	for range seeds {
		p, err := s.Prepare(spec)
		if err != nil {
			return nil, err
		}
		if n := p.Config.Mechanism.DatasetSize; !known[n] {
			known[n] = true
			runs = append(runs, p)
		}
		if spec.Holdout == 0 && (spec.Split != RecordSplit || s.data.Train > 0) {
			break
		}
		spec.Seed++
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("seeds = %d, must be at least 1", seeds)
	}
	return runs, nil
}

// LeastRecords returns the least number of records that a client holds in seeds ≥ 1 runs of the spec with consecutive
// seeds, beginning with the spec's own.
func (s *Source) LeastRecords(spec Spec, seeds int) (int, error) {
	runs, err := s.ofSeeds(spec, seeds)
	if err != nil {
		return 0, err
	}
	least := math.MaxInt
	for _, p := range runs {
		least = min(least, p.Config.Mechanism.DatasetSize)
	}
	return least, nil
}

// Costliest prepares seeds ≥ 1 runs of the spec with consecutive seeds, beginning with the spec's own, and returns the
// run with the largest ε. Use it for a guarantee that holds for each of several runs. The runs differ in ε only if
// Spec.Holdout is above 0, or if Spec.Split is RecordSplit and the data has no separate test set, because then the
// number of training records depends on the seed. ε is the upper end of the interval that package dp/pld certifies, at
// the smallest δ of the runs. If pld cannot certify an ε for some of the runs, Costliest returns the first such run,
// because its ε has no known limit.
func (s *Source) Costliest(ctx context.Context, spec Spec, seeds int) (*Prepared, error) {
	runs, err := s.ofSeeds(spec, seeds)
	if err != nil {
		return nil, err
	}
	if len(runs) == 1 {
		return runs[0], nil
	}
	// At one δ for all: if it is 1/N, a run with more records has a smaller one, at which its ε may be larger although
	// its sample rate is smaller. Its pair (ε, δ) would not hold for the runs with fewer records.
	delta := slices.MinFunc(runs, func(a, b *Prepared) int { return cmp.Compare(a.Delta, b.Delta) }).Delta
	costliest, most := runs[0], 0.0
	for _, p := range runs {
		privacy, err := p.Config.PlannedPrivacy(ctx, pld.Accountant{}, delta)
		if err != nil {
			return nil, err
		}
		e := privacy.PerRecord.EpsilonUpper
		if e == nil {
			return p, nil
		}
		if *e > most {
			costliest, most = p, *e
		}
	}
	return costliest, nil
}

// PlannedOfSeeds returns a privacy guarantee that holds for each of several planned runs of the spec, for example
// those whose mean a figure shows. The runs have consecutive seeds, beginning with the spec's own, and seeds ≥ 1 is
// their number. The guarantee covers the run with the largest ε, and so the others: see [Source.Costliest]. It is not
// the ε of all runs together.
func (s *Source) PlannedOfSeeds(ctx context.Context, spec Spec, seeds int) (claim.Report, error) {
	p, err := s.Costliest(ctx, spec, seeds)
	if err != nil {
		return claim.Report{}, err
	}
	return p.PlannedPrivacy(ctx)
}

// CalibrateSeeds does the same as [Source.Calibrate] for several runs with the same settings. It returns spec with
// the smallest noise multiplier at which the ε of each run is at most targetEpsilon, in [1e-8, 1e4]. The runs have
// consecutive seeds, beginning with the spec's own, and seeds ≥ 1 is their number. Their numbers of training records
// may differ, see [Source.Costliest].
func (s *Source) CalibrateSeeds(ctx context.Context, spec Spec, seeds int, targetEpsilon float64) (Spec, error) {
	spec.NoiseMultiplier, spec.TargetEpsilon = 1, 0 // any valid values
	runs, err := s.ofSeeds(spec, seeds)
	if err != nil {
		return Spec{}, err
	}
	calibrated := runs[0].Spec
	calibrated.NoiseMultiplier = 0
	for _, p := range runs {
		if p, err = p.Calibrate(ctx, targetEpsilon); err != nil {
			return Spec{}, err
		}
		calibrated.NoiseMultiplier = max(calibrated.NoiseMultiplier, p.Spec.NoiseMultiplier)
	}
	calibrated.TargetEpsilon = targetEpsilon
	return calibrated, nil
}
