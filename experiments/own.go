package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/experiments/presets"
	"proactivedp/internal/decimal"
	"proactivedp/internal/paper"
	"proactivedp/sim"
	"proactivedp/train"
)

// OwnSpec returns sensible parameters for a model on data of one's own, of which a client
// holds n records: five epochs of 1000 rounds, clipped to 0.3, with step sizes that fall to
// 0. Noise and first step size follow from a budget, see [OwnSteps].
func OwnSpec(model, dataset string, n int) train.Spec {
	s := train.DefaultSpec()
	size := max(1, 5*n/1000)
	s.Model, s.Data, s.SampleSize, s.GradComps = model, dataset, strconv.Itoa(size), max(5*n, size)
	s.Clip, s.Schedule, s.Beta = 0.3, string(sim.ZeroDecay), 0
	return s
}

// ownWalk is how far the noise alone makes a model walk with the step size of [OwnSteps]:
// what proposals for linear models have is about that.
const ownWalk = 12

// OwnSteps returns the step size η₀ with which the noise of the run, with step sizes that fall
// to 0, makes a model of d parameters walk by 12: η₀Cσ√(Td/3) in T rounds of all clients.
func OwnSteps(p *train.Prepared) float64 {
	s, d := p.Spec, float64(p.Config.Model.NumParams())
	rounds := float64(p.Config.Run().Rounds * s.Clients)
	return ownWalk / (s.Clip * s.NoiseMultiplier * math.Sqrt(rounds*d/3))
}

// OwnEpsilons are the certified ε, per record, of a sweep on one's own data.
var OwnEpsilons = []float64{0.25, 0.5, 1, 2, 4}

// OwnFigures returns the figures of one's own data, each under a name that begins as given, after
// "own-" where a figure of the registry begins so, of which the paper states something: the
// utility graph, sample sizes, an ε sweep and permissible delays, of trainings like the
// spec, of which a client holds n records. σ is calibrated on the source for each of the epsilons
// of the sweep ([OwnEpsilons] are the usual ones), which none of so many seeds, from 1 on, is to
// cost more than.
func OwnFigures(ctx context.Context, source *train.Source, spec train.Spec, n, seeds int, epsilons []float64,
	name string) ([]Figure, error) {
	if err := errors.Join(CheckEpsilons(epsilons), CheckSeeds(seeds)); err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(spec.SampleSize)
	if err != nil || size < 1 || size > n {
		return nil, fmt.Errorf("experiments: sample size = %q, must be constant, in [1, n = %d]", spec.SampleSize, n)
	}
	if slices.ContainsFunc(Figures(), func(f Figure) bool { return strings.HasPrefix(f.Name, name+"-") }) {
		name = "own-" + name
	}
	s := convexExperiment(presets.Convex(train.Ridge, spec.Data))
	s.own, s.Train, s.models, s.yMin = name, spec, []train.Spec{spec}, 0
	s.Plain = presets.Steps{Eta0: spec.Eta0, Beta: spec.Beta, Decay: sim.Decay(spec.Schedule)}
	s.paper = paper.Case{N: n, GradComps: spec.GradComps}
	s.paper.Basic.Epsilon = "0" // nothing is stated
	s.WStar, s.sizes = spec.GradComps*spec.Clients, nil
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
		one.TargetEpsilon = 0 // σ is what it came to
		text := "σ " + decimal.Up(one.NoiseMultiplier, 4)
		members = append(members, member{name: fmt.Sprintf("ε ≤ %g (%s)", epsilon, text), legend: text, spec: one})
	}
	return []Figure{s.utilityFigure(), s.sampleSizeFigure(),
		s.curveFigure("epsilon", "Privacy budgets", func(*figureConfig) []member { return members }),
		s.delayExperiment().delayFigure()}, nil
}
