package experiments

import (
	"proactivedp/internal/paper"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// experiment is one of the paper's experiments, with the settings of its figures.
type experiment struct {
	pool.Experiment
	paper paper.Case // numbers that the paper prints for it
	sizes []int      // sample sizes of the sweep

	points     int // points of a curve after its start
	yMin, yMax float64
	long       bool // whether its figures take long

	models []train.Spec // trainings in figures of budgets, whose step sizes are chosen
	own    string       // for custom data, the beginning of the names of figures; "" means data and model
	heavy  bool         // whether figures of budgets omit the paper's own model, which takes a day
}

func (s experiment) name() string {
	if s.own != "" {
		return s.own
	}
	return s.Train.Data + "-" + s.Train.Model
}

// experimentList returns the experiments of the registry, in the order of the index.
func experimentList() []experiment {
	var all []experiment
	for _, p := range pool.Experiments() {
		switch p.Train.Data {
		case "mnist":
			all = append(all, mnistExperiment(p))
		case "cifar10":
			all = append(all, cifarExperiment(p))
		default:
			all = append(all, convexExperiment(p))
		}
	}
	return all
}

func convexExperiment(p pool.Experiment) experiment {
	return experiment{
		Experiment: p, paper: paper.Convex(), sizes: []int{1, 5, 10, 15, 20, 26},
		points: 50, yMin: 0.4, yMax: 1,
		models: []train.Spec{p.Train},
	}
}

func mnistExperiment(p pool.Experiment) experiment {
	return experiment{
		Experiment: p, paper: paper.MNIST(), sizes: []int{10, 25, 50, 100, 200, 300, 370},
		points: 25, yMin: 0, yMax: 1, long: true,
		models: []train.Spec{pool.Network(p.Train.Model, "mnist"), pool.Features("mnist")},
	}
}

func cifarExperiment(p pool.Experiment) experiment {
	return experiment{
		Experiment: p, paper: paper.CIFAR(), sizes: []int{10, 25, 50, 100, 300, 500, 689},
		points: 20, yMin: 0, yMax: 0.8, long: true,
		models: []train.Spec{pool.Features("cifar10")}, heavy: true,
	}
}

// PaperUtilitySpec returns the settings of the paper's utility graph for a model on a data set. The graph shows how
// much accuracy a model that was trained without noise keeps when noise N(0, C²σ²) is added to each of its
// parameters. It has one line for each clipping norm C in clips, and spec has all other settings. If model is "", the
// default model for the data set is used; if dataset is "", the default data set for the model. If the paper has no
// such graph, the settings are those of a similar experiment of the paper, see [pool.Of].
func PaperUtilitySpec(model, dataset string) (spec pool.UtilitySpec, clips []float64) {
	s := pool.Of(model, dataset)
	return pool.UtilitySpec{Train: s.Utility(), Sigmas: s.Sigmas, Draws: s.Draws}, s.Clips
}
