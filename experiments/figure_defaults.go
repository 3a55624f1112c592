package experiments

import (
	"context"
	"strconv"

	"proactivedp/internal/plots"
	"proactivedp/sim"
	"proactivedp/train"
)

// defaultsEpsilons are the certified ε, per record, of the comparison with common defaults.
var defaultsEpsilons = []float64{0.1, 0.3, 1, 3}

// The settings that a first private training of MNIST usually has. They are the defaults of Opacus'
// MNIST example (pytorch/opacus, examples/mnist.py), except for its noise multiplier of 1. Here the
// noise is the least for each ε.
const (
	defaultBatch        = 64
	defaultEpochs       = 10
	defaultLearningRate = 0.1 // of the mean gradient
	defaultClip         = 1
)

// withDefaults returns the spec with one client and the common default settings, for n records.
func withDefaults(s train.Spec, n int) train.Spec {
	s.Clients, s.SampleSize = 1, strconv.Itoa(defaultBatch)
	s.GradComps = max(n*defaultEpochs/defaultBatch, 1) * defaultBatch
	s.Clip, s.Eta0, s.Beta, s.Schedule = defaultClip, defaultLearningRate/defaultBatch, 0, string(sim.ZeroDecay)
	return s
}

// defaultsFigure compares, at equal certified ε, the settings that this program proposes with common
// default settings.
func (s experiment) defaultsFigure() Figure {
	return s.pricedFigure(s.Train.Data+"-defaults", "Accuracy over the certified ε, proposed settings and common defaults",
		s.besideDefaults, func(f *figureConfig, all []priced, p *plots.Picture) string {
			p.Title = f.data().Name + ": proposed settings and common defaults"
			p.XLabel = "certified ε of a record"
			p.Lines = linesOver(all, (*priced).epsilon)
			p.Caption = "Common defaults: batch size 64, 10 epochs, learning rate 0.1, clipping norm 1, as in Opacus' MNIST " +
				"example, with the least noise for each ε.\n" + p.Caption
			return ""
		})
}

// besideDefaults returns the trainings of the figure: for each ε, one of the paper's model with the common
// defaults, and one of each model with the proposed settings.
func (s experiment) besideDefaults(ctx context.Context, f *figureConfig) ([]priced, error) {
	var all []priced
	add := func(series string, chosen func(epsilon float64) (train.Spec, error)) error {
		for _, epsilon := range defaultsEpsilons {
			spec, err := chosen(epsilon)
			if err != nil {
				return err
			}
			p, err := f.price(ctx, s.label(spec)+series, spec)
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		return nil
	}
	usual, err := f.part(withDefaults(s.Train, f.data().Len()))
	if err != nil {
		return nil, err
	}
	err = add("common defaults", func(epsilon float64) (train.Spec, error) {
		return f.source.Calibrate(ctx, usual, epsilon)
	})
	for _, spec := range s.models {
		if err != nil {
			return nil, err
		}
		if spec, err = f.part(spec); err != nil {
			return nil, err
		}
		err = add("proposed", func(epsilon float64) (train.Spec, error) {
			return f.choice(ctx, ChoiceRequest{spec, epsilon, true})
		})
	}
	return all, err
}
