package train

import (
	"context"
	"fmt"

	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
)

// ofSeeds prepares the spec with several consecutive seeds, starting with the spec's own. It
// returns one run for each number of records that a client holds. With the split by record this
// number, and so the sample rate, depends on the seed. Other splits always give the same number.
func (s *Source) ofSeeds(spec Spec, seeds int) ([]*Prepared, error) {
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
		if spec.Split != RecordSplit || s.data.Train > 0 {
			break
		}
		spec.Seed++
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("seeds = %d, must be at least 1", seeds)
	}
	return runs, nil
}

// Costliest prepares several runs of the spec with consecutive seeds, beginning with the spec's own. seeds is the
// number of runs, at least 1. It returns the run with the largest ε of a record, as package dp/pld certifies it, so
// that this ε holds for each of the runs. If pld certifies no ε for some of the runs, Costliest returns the first
// such run.
func (s *Source) Costliest(ctx context.Context, spec Spec, seeds int) (*Prepared, error) {
	if err := s.made(); err != nil {
		return nil, err
	}
	runs, err := s.ofSeeds(spec, seeds)
	if err != nil {
		return nil, err
	}
	if len(runs) == 1 {
		return runs[0], nil
	}
	costliest, most := runs[0], 0.0
	for _, p := range runs {
		privacy, err := p.Config.PlannedPrivacy(ctx, pld.Accountant{}, p.Delta)
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

// PlannedOfSeeds returns the privacy guarantee that each of several runs of the spec will have. The runs have
// consecutive seeds, beginning with the spec's own. The guarantee is that of the run with the largest ε: see
// [Source.Costliest].
func (s *Source) PlannedOfSeeds(ctx context.Context, spec Spec, seeds int) (claim.Report, error) {
	p, err := s.Costliest(ctx, spec, seeds)
	if err != nil {
		return claim.Report{}, err
	}
	return p.PlannedPrivacy(ctx)
}

// CalibrateSeeds returns spec with the smallest noise multiplier at which the ε of a record is at most targetEpsilon
// in each of several runs. The runs have consecutive seeds, beginning with the spec's own. seeds is the number of
// runs, at least 1. See [Source.Calibrate], which does the same for one run.
func (s *Source) CalibrateSeeds(ctx context.Context, spec Spec, seeds int, targetEpsilon float64) (Spec, error) {
	if err := s.made(); err != nil {
		return Spec{}, err
	}
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
