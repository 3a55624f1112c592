package train

import (
	"context"
	"errors"
	"fmt"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
)

// Calibrate returns spec with the smallest noise multiplier, rounded up to 7 significant digits, at which the
// training's ε is at most targetEpsilon. Use it if you know the privacy budget and need the noise. targetEpsilon must
// be in [1e-8, 1e4]. δ comes from the spec. Calibrate ignores the values that spec.NoiseMultiplier and
// spec.TargetEpsilon have and sets both in the result.
//
// Package dp/pld certifies an interval that contains the true ε. Calibrate compares its upper end with targetEpsilon.
// The ε counts all rounds of all clients that hold the record. If the bounds of columns were estimated with noise
// (Spec.BoundsEpsilon), it also counts their ε. If clients adapt their batch sizes, every batch counts as the largest
// that a client may draw. If no noise multiplier up to 1e6 meets the target, the error is a *plan.Infeasible.
func (s *Source) Calibrate(ctx context.Context, spec Spec, targetEpsilon float64) (Spec, error) {
	return s.CalibrateSeeds(ctx, spec, 1, targetEpsilon)
}

// Calibrate returns a copy of p with the smallest noise multiplier at which the ε of a record is at most
// targetEpsilon, in [1e-8, 1e4]. Use it instead of [Source.Calibrate], which does the same for a Spec, if the run is
// already prepared. If p comes from [Source.PrepareStage], Calibrate returns an error, because each client of a stage
// has its own noise multiplier.
func (p *Prepared) Calibrate(ctx context.Context, targetEpsilon float64) (*Prepared, error) {
	if err := p.made(); err != nil {
		return nil, err
	}
	if p.stage != nil {
		return nil, errors.New("a stage of a training has no target epsilon, because each participant has its own sigma")
	}
	if err := plan.CheckEpsilon(targetEpsilon); err != nil {
		return nil, fmt.Errorf("target %w", err)
	}
	if err := p.Spec.checkTarget(targetEpsilon); err != nil {
		return nil, err
	}
	events, err := p.recordEvents()
	if err != nil {
		return nil, err
	}
	sigma, err := LeastNoise(ctx, events, targetEpsilon, p.Delta)
	if err != nil {
		return nil, err
	}
	config, calibrated := *p.Config, *p
	config.Mechanism.NoiseMultiplier = sigma
	calibrated.Config = &config
	calibrated.Spec.NoiseMultiplier, calibrated.Spec.TargetEpsilon = sigma, targetEpsilon
	return &calibrated, config.Validate()
}

// checkTarget returns an error if the private bounds leave nothing of the target epsilon for the training.
func (s Spec) checkTarget(epsilon float64) error {
	if s.BoundsEpsilon >= epsilon {
		return fmt.Errorf("target epsilon = %v, must be above the ε of the private bounds, %v", epsilon, s.BoundsEpsilon)
	}
	return nil
}

// LeastNoise returns the smallest noise multiplier, rounded up to 7 significant digits, with which the ε of all
// events together is at most epsilon at delta. An event describes one round or several equal rounds of training: how
// its batch is drawn, and how often. The noise multiplier that an event already has is ignored. If no noise
// multiplier up to 1e6 is enough, the error is a *plan.Infeasible. Use LeastNoise if you have no Spec; for a Spec,
// [Source.Calibrate] makes the events and calls LeastNoise.
func LeastNoise(ctx context.Context, events []dp.Event, epsilon, delta float64) (float64, error) {
	sigma, _, err := plan.LeastNoise(ctx, events, epsilon, delta, pld.Accountant{UpperEnd: true})
	return sigma, err
}

// recordEvents returns the events that a record pays for: the rounds of one client or, if clients
// share their records, of all clients, and the private bounds. All clients must have the same mechanism.
func (p *Prepared) recordEvents() ([]dp.Event, error) {
	holders := 1
	if !p.Config.Partition.Disjoint() {
		holders = p.Config.Clients()
	}
	events, err := dp.Times(p.Config.PlannedEvents(0), holders)
	return append(events, p.boundsEvents()...), err
}

// boundsEvents returns the release of the private bounds, if there are any.
func (p *Prepared) boundsEvents() []dp.Event {
	if p.Spec.BoundsEpsilon == 0 {
		return nil
	}
	return []dp.Event{{Other: dp.PureDP, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove,
		Epsilon: p.Spec.BoundsEpsilon, Count: 1}}
}

// KeepsTarget returns nil if the certified ε of this run (the upper end of the interval that package dp/pld computes)
// is at most Spec.TargetEpsilon, or if the spec has no target. Otherwise it returns an error that asks for a new
// calibration. This happens, for example, if the noise multiplier was calibrated for another number of records.
// [Prepared.Train] calls KeepsTarget before it starts. If ctx is cancelled, the error is context.Cause(ctx).
func (p *Prepared) KeepsTarget(ctx context.Context) error {
	if err := p.made(); err != nil {
		return err
	}
	if p.Spec.TargetEpsilon == 0 {
		return nil
	}
	events, err := p.recordEvents()
	if err != nil {
		return err
	}
	b, err := pld.Accountant{UpperEnd: true}.Epsilon(ctx, events, p.Delta)
	if err != nil {
		return err
	}
	if !(b.EpsilonUpper <= p.Spec.TargetEpsilon) {
		whom := "record"
		if p.Spec.AtMost > 0 {
			whom = "person"
		}
		return fmt.Errorf("sigma = %v costs a %s up to ε = %s with this data, must be at most the target %v: "+
			"calibrate sigma for this data, or remove the target", p.Spec.NoiseMultiplier, whom, decimal.Up(b.EpsilonUpper, 5),
			p.Spec.TargetEpsilon)
	}
	return nil
}
