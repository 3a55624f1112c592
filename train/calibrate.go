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

// Calibrate returns spec with the least noise multiplier, rounded up to 7 digits, with
// which the run costs a record at most targetEpsilon, in [1e-8, 1e4], at the spec's δ:
// the record is paid for in all rounds of all clients that hold it, and ε is the upper
// end of the interval that package pld certifies. The spec that is returned names the
// target. The spec's own noise multiplier and target decide nothing.
//
// Where clients adapt their sample sizes, every sample counts as the largest that they
// may draw. A target that no noise multiplier of at most 1e6 meets is a *plan.Infeasible
// error.
func (s *Source) Calibrate(ctx context.Context, spec Spec, targetEpsilon float64) (Spec, error) {
	if err := s.made(); err != nil {
		return Spec{}, err
	}
	spec.NoiseMultiplier, spec.TargetEpsilon = 1, 0 // any that is allowed
	p, err := s.Prepare(spec)
	if err != nil {
		return Spec{}, err
	}
	if p, err = p.Calibrate(ctx, targetEpsilon); err != nil {
		return Spec{}, err
	}
	return p.Spec, nil
}

// Calibrate returns the run with the noise multiplier of Source.Calibrate. A stage's participants
// have noise multipliers of their own, and it has no target.
func (p *Prepared) Calibrate(ctx context.Context, targetEpsilon float64) (*Prepared, error) {
	if err := p.made(); err != nil {
		return nil, err
	}
	if p.stage != nil {
		return nil, errors.New("a stage of a training has no target epsilon: each participant has its own sigma")
	}
	sigma, _, err := plan.LeastNoise(ctx, p.recordEvents(), targetEpsilon, p.Delta, pld.Accountant{},
		pld.Accountant{Accuracy: roughAccuracy})
	if err != nil {
		return nil, err
	}
	config, calibrated := *p.Config, *p
	config.Mechanism.NoiseMultiplier = sigma
	calibrated.Config = &config
	calibrated.Spec.NoiseMultiplier, calibrated.Spec.TargetEpsilon = sigma, targetEpsilon
	return &calibrated, config.Validate()
}

// roughAccuracy is how near an accountant comes that only finds where to start.
const roughAccuracy = 3e-2

// recordEvents returns what a record pays for: the rounds of a client or, where clients
// share their records, of all of them. All clients have one mechanism.
func (p *Prepared) recordEvents() []dp.Event {
	events := p.Config.PlannedEvents(0)
	if !p.Config.Partition.Disjoint() {
		for i := range events {
			events[i].Count *= p.Config.Clients()
		}
	}
	return events
}

// KeepsTarget refuses a run that would cost more than the target that its spec names, as
// one may that was calibrated for other data. The error is context.Cause(ctx) or says
// what it costs.
func (p *Prepared) KeepsTarget(ctx context.Context) error {
	if err := p.made(); err != nil {
		return err
	}
	if p.Spec.TargetEpsilon == 0 {
		return nil
	}
	b, err := pld.Accountant{}.Epsilon(ctx, p.recordEvents(), p.Delta)
	if err != nil {
		return err
	}
	if !(b.EpsilonUpper <= p.Spec.TargetEpsilon) {
		return fmt.Errorf("sigma = %v costs a record up to ε = %s here, must be at most the target %v: "+
			"calibrate it for this data, or name no target", p.Spec.NoiseMultiplier, decimal.Up(b.EpsilonUpper, 5),
			p.Spec.TargetEpsilon)
	}
	return nil
}
