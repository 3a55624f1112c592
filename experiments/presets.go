package experiments

import (
	"slices"

	"proactivedp/sim"
)

// Table "Basic parameter setting for strongly and plain convex problems" and
// Table "Different privacy budget settings for strongly and plain convex
// problems" of the paper.

// paperN is the data set size N_c for which the paper states its budgets; no
// data set it uses for logistic regression has that many records.
const paperN = 10_000

// paperDelta is the paper's δ = 1/N_c.
const paperDelta = 1.0 / paperN

// budget is a row of the paper's table of budgets, as printed.
type budget struct {
	Epsilon    float64 // as stated, for N = 10000 and δ = 0.0001
	Sigma      float64
	SampleSize int
}

var convexBudgets = []budget{
	{0.04945, 19.29962, 26},
	{0.1, 13.06742, 55},
	{0.25, 8.59143, 103},
	{0.5, 6.05868, 168},
	{1.0, 4.27273, 265},
	{2.0, 3.03241, 400},
}

// convexSampleSizes is the sweep at the smallest budget.
var convexSampleSizes = []int{1, 5, 10, 15, 20, 26}

// utilityClips are the clipping norms of the convex utility graphs, and
// utilitySigmas where they are evaluated.
var (
	utilityClips  = []float64{0.05, 0.075, 0.1, 0.15, 0.2}
	utilitySigmas = []float64{0, 2.5, 5, 7.5, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}
)

// Full size of the experiments.
const (
	convexGradComps  = 50_000    // K, per client
	utilityGradComps = 3_500_000 // of w*, over all clients
	utilityDraws     = 20
	curvePoints      = 50
)

// convexSpec is the paper's parameters for a convex model: η₀/(1+βt) with β =
// 0.001 for ridge, η₀/(1+β√t) with β = 0.01 for plain logistic regression.
func convexSpec(model, dataset string) TrainSpec {
	s := DefaultTrainSpec()
	s.Model, s.Data = model, dataset
	if model == Plain {
		s.Beta, s.Schedule = 0.01, string(sim.SqrtDecay)
	}
	return s
}

// DefaultUtilitySpec is the paper's utility graph of ridge logistic regression
// on phishing: what each line needs but its clipping norm, and the clipping
// norms.
func DefaultUtilitySpec() (spec UtilitySpec, clips []float64) {
	train := convexSpec(Ridge, "phishing")
	train.NoiseMultiplier = 0
	train.GradComps = utilityGradComps / train.Clients
	return UtilitySpec{Train: train, Sigmas: slices.Clone(utilitySigmas), Draws: utilityDraws}, slices.Clone(utilityClips)
}
