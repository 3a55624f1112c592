package experiments

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"proactivedp/data/scatter"
	"proactivedp/dp"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// ChoiceRequest is what [Make] asks a [Chooser]: the settings for a training whose ε is at most Epsilon.
type ChoiceRequest struct {
	// Spec has the given settings: everything but the noise multiplier, the clipping norm, the step size and its
	// schedule.
	Spec    train.Spec
	Epsilon float64 // largest ε that a record may pay, as the accountant certifies it at the spec's δ
	Free    bool    // whether the Chooser may also change the batch size and the numbers of rounds and clients
}

// Chooser is a function that chooses noise, clipping norm and step sizes of a training for a privacy budget. You
// write one, usually with package propose, and pass it as [MakeOptions].Choose: figures that compare privacy budgets
// call it. A Chooser must not use the test set. Equal requests must give equal answers, so that [Make] finds the
// trainings that it has stored.
type Chooser func(ctx context.Context, source *train.Source, w ChoiceRequest) (train.Spec, error)

// choice returns the answer of the Chooser, which is called only once for each request.
func (f *figureConfig) choice(ctx context.Context, w ChoiceRequest) (train.Spec, error) {
	if spec, done := f.chosen[w]; done {
		return spec, nil
	}
	if f.choose == nil {
		return train.Spec{}, errors.New("choose = nil, must be given: the figure needs settings that are chosen " +
			"for a budget")
	}
	spec, err := f.choose(ctx, f.source, w)
	if err != nil {
		return train.Spec{}, err
	}
	f.chosen[w] = spec
	return spec, nil
}

// method is one of the compared methods of choosing a training for a budget.
type method struct {
	name string
	// spec returns the training for a certified ε of a record.
	spec func(ctx context.Context, f *figureConfig, epsilon float64) (train.Spec, error)
}

// chosen returns the method that asks the Chooser.
func chosen(name string, spec train.Spec, free bool) method {
	return method{name, func(ctx context.Context, f *figureConfig, epsilon float64) (train.Spec, error) {
		spec, err := f.part(spec)
		if err != nil {
			return spec, err
		}
		return f.choice(ctx, ChoiceRequest{spec, epsilon, free})
	}}
}

// part returns the spec with the figure's fraction of its gradients, at least one round.
func (f *figureConfig) part(spec train.Spec) (train.Spec, error) {
	sizes, err := dp.ParseSizes(spec.SampleSize)
	if err != nil {
		return spec, err
	}
	spec.GradComps = max(f.gradComps(spec.GradComps), sizes.At(0))
	return spec, nil
}

// leanness is the factor by which a tight plan computes fewer gradients than the paper's. If σ is above
// about 2, the accuracy at equal ε only depends on s√T/σ. Fewer records with less noise therefore give
// the same accuracy.
const leanness = 16

// tight returns the spec with one client that computes a sixteenth of all clients' gradients, in as
// many rounds.
func tight(s train.Spec) (train.Spec, error) {
	size, err := strconv.Atoi(s.SampleSize)
	if err != nil {
		return s, fmt.Errorf("sample size = %q, must be constant", s.SampleSize)
	}
	rounds := s.GradComps / size
	size = max(size*s.Clients/leanness, 1)
	s.Clients, s.SampleSize, s.GradComps = 1, strconv.Itoa(size), size*rounds
	return s, nil
}

// commonBatch is a common batch size, for comparison.
const commonBatch = 256

// common returns the spec with one client, commonBatch, and the given number of epochs of n records.
func common(s train.Spec, n, epochs int) train.Spec {
	s.Clients, s.SampleSize = 1, strconv.Itoa(commonBatch)
	s.GradComps = max(n*epochs/commonBatch, 1) * commonBatch
	return s
}

// methods returns the methods that are compared at an equal ε. n is the number of records of a client.
func (s experiment) methods(n int) ([]method, error) {
	var all []method
	if !s.heavy {
		all = append(all, method{s.label(s.Train) + "the paper's plan and step size",
			func(_ context.Context, f *figureConfig, _ float64) (train.Spec, error) { return f.part(s.Train) }})
	}
	for _, spec := range s.models {
		lean, err := tight(spec)
		if err != nil {
			return nil, err
		}
		label := s.label(spec)
		all = append(all,
			chosen(label+"the paper's plan, step chosen", spec, false),
			chosen(fmt.Sprintf("%s1/%d of its gradients", label, leanness), lean, false),
			chosen(fmt.Sprintf("%sbatch %d, 1 epoch", label, commonBatch), common(spec, n, 1), false),
			chosen(fmt.Sprintf("%sbatch %d, 15 epochs", label, commonBatch), common(spec, n, 15), false),
			chosen(label+"proposed", spec, true))
	}
	if scatterPlans[s.Train.Data] == nil {
		return all, nil
	}
	return append(all,
		method{scatterSeries + "the paper's plan, usual step", func(ctx context.Context, f *figureConfig, epsilon float64) (train.Spec, error) {
			spec := pool.Network(train.Softmax, s.Train.Data)
			spec.FeatureMap, spec.Beta, spec.Schedule = scatter.Name, 0, string(sim.ZeroDecay)
			spec, err := f.part(spec)
			if err != nil {
				return spec, err
			}
			return f.usual(ctx, spec, epsilon)
		}},
		method{fmt.Sprintf("%sbatch %d, usual step", scatterSeries, largeBatch),
			func(ctx context.Context, f *figureConfig, epsilon float64) (train.Spec, error) {
				return s.large(ctx, f, epsilon)
			}}), nil
}

// label returns the model's name as a prefix for a method's name, if the figure has several models.
func (s experiment) label(spec train.Spec) string {
	if len(s.models) == 1 && s.models[0].Model == s.Train.Model {
		return ""
	}
	return spec.Model + ": "
}
