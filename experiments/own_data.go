package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/internal/decimal"
	"proactivedp/internal/paper"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// OwnEpsilons are the privacy budgets that the command line passes to [OwnFigures] if the user gives none. Each is a
// target epsilon: the most that a training may cost a record.
var OwnEpsilons = []float64{0.25, 0.5, 1, 2, 4}

// OwnFigures returns figures for your own data, which [Make] then computes. source has the data, with n records for
// each client, and spec is the training. The figures show the accuracy that a model trained without noise keeps when
// noise is added to its parameters (the utility graph), and the accuracies for several batch sizes, for several
// privacy budgets and, if there are several clients, for several permissible delays.
//
// epsilons are the budgets. For each budget, the training runs with the given number of seeds. The noise is the least
// with which each of these runs by itself costs a record at most the budget; all runs together cost more. The names
// of the figures begin with name. But if the name of a figure of this package begins with name and a hyphen, they
// begin with "own-" and name, so that nobody takes your figures for those of this package, which are compared with
// the paper.
func OwnFigures(ctx context.Context, source *train.Source, spec train.Spec, n, seeds int, epsilons []float64,
	name string) ([]Figure, error) {
	if err := errors.Join(CheckEpsilons(epsilons), CheckSeeds(seeds)); err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(spec.SampleSize)
	if err != nil || size < 1 || size > n {
		return nil, fmt.Errorf("sample size = %q, must be constant, in [1, n = %d]", spec.SampleSize, n)
	}
	if slices.ContainsFunc(Figures(), func(f Figure) bool { return strings.HasPrefix(f.Name, name+"-") }) {
		name = "own-" + name
	}
	s := convexExperiment(pool.Convex(train.Ridge, spec.Data))
	s.own, s.Train, s.models, s.yMin = name, spec, []train.Spec{spec}, 0
	s.Plain = pool.Steps{Eta0: spec.Eta0, Beta: spec.Beta, Decay: sim.Decay(spec.Schedule)}
	s.paper = paper.Case{N: n, GradComps: spec.GradComps}
	s.paper.Basic.Epsilon = "0" // the paper states no ε
	s.WStar, s.Lambda, s.sizes = spec.GradComps*spec.Clients, 0, nil
	for _, part := range []float64{0.25, 0.5, 1, 2, 4} {
		one := int(math.Round(part * float64(size)))
		if one >= 1 && one <= n && !slices.Contains(s.sizes, one) {
			s.sizes = append(s.sizes, one)
		}
	}
	members := []member{{name: "no noise", spec: s.WithoutNoise(), reference: true}}
	for _, epsilon := range epsilons {
		one, err := source.CalibrateSeeds(ctx, spec, seeds, epsilon)
		if err != nil {
			return nil, err
		}
		one.TargetEpsilon = 0 // its σ is known now
		text := "σ " + decimal.Up(one.NoiseMultiplier, 4)
		members = append(members, member{name: fmt.Sprintf("ε ≤ %g (%s)", epsilon, text), spec: one})
	}
	figures := []Figure{s.utilityFigure(), s.equalSizesFigure(),
		s.curveFigure("epsilon", "Privacy budgets", func(*figureConfig) []member { return members })}
	if spec.Clients > 1 { // one client waits for nobody
		figures = append(figures, s.delayExperiment().delayFigure())
	}
	return figures, nil
}
