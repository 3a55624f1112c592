package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/f32"
	"proactivedp/internal/report"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// UtilitySpec describes one line of a utility graph (paper, Section "Utility Graph"). The graph shows how much noise
// a model tolerates: how much of its accuracy it keeps when noise is added to its parameters. A model w* is trained
// with the clipping norm C of Train and without noise. Then noise n ~ N(0, C²σ²I) is added to its parameters (n is not
// multiplied by a step size). The line has, for each σ of Sigmas, the test accuracy of w* + n as a fraction of that of
// w*.
type UtilitySpec struct {
	Train  train.Spec `json:"train"`  // the training of w*; its noise multiplier counts as 0
	Sigmas []float64  `json:"sigmas"` // noise multipliers σ ≥ 0 to try
	Draws  int        `json:"draws"`  // number of draws of n for each σ
}

// maxDraws is the largest number of draws of one point.
const maxDraws = 1_000_000

// Validate returns an error that lists every problem of Sigmas and Draws: there must be at least one σ, each σ must
// be at least 0, and Draws at least 1. It does not check s.Train.
func (s UtilitySpec) Validate() error {
	var errs []error
	if len(s.Sigmas) == 0 {
		errs = append(errs, errors.New("sigmas: none given, must be at least one"))
	}
	for _, sigma := range s.Sigmas {
		errs = append(errs, dp.CheckNotNegative("sigma", sigma))
	}
	errs = append(errs, dp.CheckCount("draws", s.Draws, 1, maxDraws))
	return errors.Join(errs...)
}

// Utility is one line of a utility graph, for one clipping norm: the accuracy of a model w* that was trained without
// noise, and its accuracies after noise was added to its parameters, for each σ that was tried.
type Utility struct {
	Clip     float64        `json:"clip"`        // clipping norm C with which w* was trained
	Accuracy float64        `json:"accuracy"`    // test accuracy of w*
	Norm     float64        `json:"params_norm"` // ‖w*‖, the Euclidean norm of the parameters
	Points   []UtilityPoint `json:"points"`      // one for each σ of UtilitySpec.Sigmas
}

// UtilityPoint says how accurate a trained model w* is after random noise n is added to its parameters, for one noise
// multiplier σ: its numbers are statistics over several draws of n.
type UtilityPoint struct {
	Sigma        float64 `json:"sigma"`
	Fraction     float64 `json:"fraction"`      // mean accuracy of w* + n divided by the accuracy of w*
	FractionSD   float64 `json:"fraction_sd"`   // standard deviation of Fraction over the draws; 0 for one draw
	MeanAccuracy float64 `json:"test_accuracy"` // mean accuracy of w* + n
}

// plain returns s.Train, the spec of the training of w*, without noise.
func (s UtilitySpec) plain() train.Spec {
	spec := s.Train
	spec.NoiseMultiplier = 0
	return spec
}

// Run computes the line of the utility graph that s describes. It trains a model w* without noise on source. For each
// σ of s.Sigmas it adds noise N(0, C²σ²) to every parameter of w*, s.Draws times, where C is the clipping norm of
// s.Train, and measures the test accuracies. perf has the settings for the speed. It calls progress with the fraction
// of the work that is done. keep says where checkpoints of the training are written.
func (s UtilitySpec) Run(ctx context.Context, source *train.Source, perf sim.Perf, progress func(part float64),
	keep train.Keep) (*Utility, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	spec := s.plain()
	p, err := source.Prepare(spec)
	if err != nil {
		return nil, err
	}
	training := p.Work() / s.Work(p)
	r, _, err := p.RunKept(ctx, perf, p.Progress(func(part float64) { progress(training * part) }), keep.For(p, nil))
	if err != nil {
		return nil, err
	}
	judge := p.Judge()
	u := &Utility{Clip: spec.Clip, Accuracy: judge(r.Params), Norm: math.Sqrt(f32.SumSquares(r.Params))}
	if u.Accuracy == 0 {
		return nil, fmt.Errorf("w* has the %s 0 on the %s, so there is no fraction of it", p.Spec.MetricName(),
			decimal.Many(p.Test.Len(), "test row"))
	}
	noisy := make([]float32, len(r.Params))
	var stream rng.Stream
	for i, sigma := range s.Sigmas {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		accuracy := make([]float64, s.Draws)
		for draw := range accuracy {
			copy(noisy, r.Params)
			p.Config.Roots.Run.Reseed(&stream, rng.Perturbation, uint32(draw), i)
			f32.AddNormal(noisy, spec.Clip*sigma, &stream)
			accuracy[draw] = judge(noisy)
		}
		progress(training + (1-training)*float64(i+1)/float64(len(s.Sigmas)))
		mean, sd := report.Spread(accuracy)
		u.Points = append(u.Points, UtilityPoint{
			Sigma: sigma, Fraction: mean / u.Accuracy, FractionSD: sd / u.Accuracy, MeanAccuracy: mean,
		})
	}
	return u, nil
}

// Work returns an estimate of the floating-point operations of [UtilitySpec.Run]: those of p, the prepared training
// of w*, and those of evaluating the noisy models.
func (s UtilitySpec) Work(p *train.Prepared) float64 {
	return p.Work() + float64(len(s.Sigmas)*s.Draws)*p.Judging()
}

// OfUtility returns the [Cell] whose result is the [Utility] that spec describes: how much accuracy a model, trained
// without noise on the data of source, keeps when noise is added to its parameters.
func OfUtility(spec UtilitySpec, source *train.Source) Cell {
	spec.Sigmas = slices.Clone(spec.Sigmas)
	c := cellOf(cellSpec{Kind: "utility", Spec: &spec}, source)
	c.Cost = func(workers int) (train.Cost, error) {
		return CostOf(source, spec.plain(), len(spec.Sigmas)*spec.Draws, workers)
	}
	c.Run = func(ctx context.Context, perf sim.Perf, progress func(float64), keep train.Keep) (any, error) {
		return spec.Run(ctx, source, perf, progress, keep)
	}
	c.Check = func(text json.RawMessage) error {
		u, err := Decode[Utility](text)
		if err == nil && len(u.Points) != len(spec.Sigmas) {
			err = fmt.Errorf("finished cell: %d points, must be %d", len(u.Points), len(spec.Sigmas))
		}
		return err
	}
	return c
}
