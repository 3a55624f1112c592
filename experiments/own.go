package experiments

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"proactivedp/internal/decimal"
	"proactivedp/internal/paper"
	"proactivedp/sim"
	"proactivedp/train"
)

// OwnSpec returns sensible parameters for a model on data of one's own, of which a client
// holds n records: five epochs of 1000 rounds, and the step size that is the paper's for its
// sample size. The noise is to be calibrated.
func OwnSpec(model, dataset string, n int) train.Spec {
	s := convexSpec(train.Ridge, dataset)
	size := max(1, 5*n/1000)
	s.Model, s.SampleSize, s.GradComps = model, strconv.Itoa(size), max(5*n, size)
	s.Eta0 = s.Eta0 * 26 / float64(size)
	return s
}

// ownEpsilons are the certified ε, per record, of a sweep on one's own data.
var ownEpsilons = []float64{0.25, 0.5, 1, 2, 4}

// OwnFigures returns the figures of one's own data, each under a name that begins as given:
// the utility graph, sample sizes, an ε sweep and permissible delays, of trainings like the
// spec, of which a client holds n records. σ is calibrated on the source for each ε.
func OwnFigures(ctx context.Context, source *train.Source, spec train.Spec, n int, name string) ([]Figure, error) {
	s := convexSetting(train.Ridge, spec.Data)
	s.own, s.train, s.models, s.yMin = name, spec, []train.Spec{spec}, 0
	s.plain = steps{spec.Eta0, spec.Beta, sim.Decay(spec.Schedule)}
	s.paper = paper.Case{N: n, GradComps: spec.GradComps}
	s.paper.Basic.Epsilon = "0" // nothing is stated
	s.wstar, s.sizes = spec.GradComps*spec.Clients, nil
	size, err := strconv.Atoi(spec.SampleSize)
	if err != nil {
		return nil, fmt.Errorf("experiments: sample size = %q, must be constant", spec.SampleSize)
	}
	for _, part := range []float64{0.25, 0.5, 1, 2, 4} {
		if one := int(math.Round(part * float64(size))); one >= 1 && one <= n {
			s.sizes = append(s.sizes, one)
		}
	}
	members := []member{{name: "no noise", spec: s.withoutNoise(), reference: true}}
	for _, epsilon := range ownEpsilons {
		p, err := source.Prepare(spec)
		if err != nil {
			return nil, err
		}
		if p, err = p.Calibrate(ctx, epsilon); err != nil {
			return nil, err
		}
		one := spec
		one.NoiseMultiplier = p.Spec.NoiseMultiplier
		text := "σ " + decimal.Up(one.NoiseMultiplier, 4)
		members = append(members, member{name: fmt.Sprintf("ε ≤ %g (%s)", epsilon, text), legend: text, spec: one})
	}
	return []Figure{s.utilityFigure(), s.sampleSizeFigure(), s.curveFigure("epsilon", "Privacy budgets", members),
		s.laboratory().delayFigure()}, nil
}
