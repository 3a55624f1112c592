package experiments

import (
	"slices"

	"proactivedp/data/synth"
	"proactivedp/internal/paper"
	"proactivedp/sim"
	"proactivedp/train"
)

// setting is one of the paper's experiments: a model on a data set, with what
// its figures show.
type setting struct {
	paper paper.Case // what the paper prints for it
	train train.Spec // its basic parameters
	plain steps      // the step size of runs without noise
	sizes []int      // the sample sizes of the sweep

	clips, sigmas []float64 // clipping norms and noise multipliers of the utility graph
	wstar         int       // gradient computations of w* there, over all clients
	draws         int       // draws of the noise, for each σ

	points     int // points of a curve, after its start
	yMin, yMax float64
	long       bool // whether its figures take long

	eta0, beta []float64 // the grid of step sizes that is searched

	models []train.Spec // what the figures of budgets train, their step sizes chosen
	own    string       // what the names of figures begin with, of one's own data; "": data and model
	heavy  bool         // whether the paper's own model takes a day, so that those figures leave it out
}

// steps is a step size as it is searched for.
type steps struct {
	eta0, beta float64
	decay      sim.Decay
}

func (s steps) of(t train.Spec) train.Spec {
	t.Eta0, t.Beta, t.Schedule = s.eta0, s.beta, string(s.decay)
	return t
}

// name returns what the names of the setting's figures begin with.
func (s setting) name() string {
	if s.own != "" {
		return s.own
	}
	return s.train.Data + "-" + s.train.Model
}

// withoutNoise returns the basic parameters for a run without noise.
func (s setting) withoutNoise() train.Spec {
	spec := s.plain.of(s.train)
	spec.NoiseMultiplier = 0
	return spec
}

// settings returns the registry, in the order of the index.
func settings() []setting {
	var all []setting
	for _, dataset := range []string{"phishing", "mushrooms"} {
		for _, model := range []string{train.Ridge, train.Plain} {
			all = append(all, convexSetting(model, dataset))
		}
	}
	return append(all, mnistSetting(mnistModel), cifarSetting(train.AlexNet))
}

// convexSetting returns logistic regression: Tables "Basic parameter setting for
// strongly and plain convex problems" and "Different privacy budget settings for
// strongly and plain convex problems".
func convexSetting(model, dataset string) setting {
	spec := convexSpec(model, dataset)
	return setting{
		paper: paper.Convex(), train: spec, plain: steps{spec.Eta0, spec.Beta, sim.Decay(spec.Schedule)},
		sizes:  []int{1, 5, 10, 15, 20, 26},
		clips:  []float64{0.05, 0.075, 0.1, 0.15, 0.2},
		sigmas: []float64{0, 2.5, 5, 7.5, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
		wstar:  3_500_000, draws: 20,
		points: 50, yMin: 0.4, yMax: 1,
		eta0: []float64{0.02, 0.05, 0.1, 0.2, 0.5}, beta: []float64{0.0001, 0.001, 0.01},
		models: []train.Spec{spec},
	}
}

// convexSpec returns the paper's parameters for a convex model: η₀/(1+βt) with β =
// 0.001 for ridge, η₀/(1+β√t) with β = 0.01 for plain logistic regression.
func convexSpec(model, dataset string) train.Spec {
	s := train.DefaultSpec()
	s.Model, s.Data = model, dataset
	if model == train.Plain {
		s.Beta, s.Schedule = 0.01, string(sim.SqrtDecay)
	}
	return s
}

// The paper does not say of its networks which LeNet it has, and what its grid
// search over step sizes found. The values here are found by "proactivedp search" on
// records held out of the training set, for MNIST at full size (results/search-mnist
// and its neighbours), for CIFAR-10 at a twentieth of K. On MNIST with noise
// η₀/(1+βt) was better than the paper's η₀/(1+β√t).
const mnistModel = train.LeNet

var (
	mnistSteps      = steps{0.015, 1e-5, sim.LinearDecay}
	mnistPlainSteps = steps{0.2, 3e-6, sim.LinearDecay}
	cifarSteps      = steps{0.01, 0.01, sim.SqrtDecay}
	cifarPlainSteps = steps{0.02, 0.01, sim.SqrtDecay}
)

// mnistSetting returns a LeNet on MNIST: Tables "Basic parameter setting for
// non-convex problem with MNIST data set" and "Different privacy budget settings
// for non-convex problem for MNIST data set".
func mnistSetting(model string) setting {
	basics := paper.MNIST()
	return setting{
		paper: basics, train: mnistSteps.of(networkSpec(model, "mnist", basics)), plain: mnistPlainSteps,
		sizes:  []int{10, 25, 50, 100, 200, 300, 370},
		clips:  []float64{0.005, 0.01, 0.025, 0.05},
		sigmas: []float64{0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24},
		wstar:  5 * basics.GradComps, draws: 5,
		points: 25, yMin: 0, yMax: 1, long: true,
		eta0: []float64{0.01, 0.015, 0.02, 0.03}, beta: []float64{1e-5, 2e-5, 3e-5},
		models: []train.Spec{networkSpec(model, "mnist", basics), featuresSpec("mnist", basics)},
	}
}

// cifarSetting returns an AlexNet on CIFAR-10: the tables of the same names.
func cifarSetting(model string) setting {
	basics := paper.CIFAR()
	return setting{
		paper: basics, train: cifarSteps.of(networkSpec(model, "cifar10", basics)), plain: cifarPlainSteps,
		sizes:  []int{10, 25, 50, 100, 300, 500, 689},
		clips:  []float64{0.01, 0.025, 0.05},
		sigmas: []float64{0, 1, 2, 3, 4, 5, 6.572, 8, 10, 12},
		wstar:  5 * basics.GradComps, draws: 3,
		points: 20, yMin: 0, yMax: 0.8, long: true,
		eta0: []float64{0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05}, beta: []float64{0.001, 0.01},
		models: []train.Spec{featuresSpec("cifar10", basics)}, heavy: true,
	}
}

// featuresSpec returns the same for a linear model on fixed features, which is not
// the paper's.
func featuresSpec(dataset string, basics paper.Case) train.Spec {
	s := networkSpec(train.Softmax, dataset, basics)
	s.FeatureMap = "hog:4:8"
	return s
}

// networkSpec returns what the networks share, C = 0.025, and what the paper prints
// for the data set. δ is 1/N, as there.
func networkSpec(model, dataset string, basics paper.Case) train.Spec {
	s := train.DefaultSpec()
	s.Model, s.Data = model, dataset
	s.GradComps, s.SampleSize, s.NoiseMultiplier = basics.GradComps, string(basics.Basic.Size),
		basics.Basic.Sigma.Value()
	s.Clip = 0.025
	return s
}

// settingOf returns the paper's experiment of a model on a data set, either "" for
// the usual one with the other. Where the paper has none it is the model's first, or
// the data set's, or ridge logistic regression on phishing, under the names given.
func settingOf(model, dataset string) setting {
	known := append(settings(), mnistSetting(train.LeNet), mnistSetting(train.LeNetReLU),
		cifarSetting(train.AlexNetDropout), cifarSetting(train.ConvNet), mnistSetting(train.ConvNet))
	is := func(s setting) bool { return model == "" || s.train.Model == model }
	on := func(s setting) bool { return dataset == "" || s.train.Data == synth.StandsInFor(dataset) }
	i := slices.IndexFunc(known, func(s setting) bool { return is(s) && on(s) })
	if i < 0 && model != "" {
		i = slices.IndexFunc(known, is)
	}
	if i < 0 {
		i = slices.IndexFunc(known, on)
	}
	s := known[max(i, 0)]
	if model != "" {
		s.train.Model = model
	}
	if dataset != "" {
		s.train.Data = dataset
	}
	return s
}

// PaperTrainSpec returns the paper's parameters for a model on a data set, either
// "" for the usual one with the other. Where the paper has no experiment, they are
// those of the nearest one. The step size of networks is not the paper's,
// which has η₀ = 0.1 and η₀/(1+β√t) with β = 0.01, but searched on held-out
// records.
func PaperTrainSpec(model, dataset string) train.Spec { return settingOf(model, dataset).train }

// PaperUtilitySpec returns the paper's utility graph of a model on a data set, as
// PaperTrainSpec does: what each line needs but its clipping norm, and the
// clipping norms.
func PaperUtilitySpec(model, dataset string) (spec UtilitySpec, clips []float64) {
	s := settingOf(model, dataset)
	train := s.withoutNoise()
	train.GradComps = s.wstar / train.Clients
	return UtilitySpec{Train: train, Sigmas: s.sigmas, Draws: s.draws}, s.clips
}

// StepGrid is the step sizes that are searched for a model on a data set.
type StepGrid struct {
	Train      train.Spec // the paper's parameters, see [PaperTrainSpec]
	Eta0, Beta []float64
	Records    int // how many records the paper gives a client of the data set
}

// PaperStepGrid returns the grid for a model on a data set, either "" for the usual one
// with the other.
func PaperStepGrid(model, dataset string) StepGrid {
	s := settingOf(model, dataset)
	return StepGrid{Train: s.train, Eta0: s.eta0, Beta: s.beta, Records: s.paper.N}
}
