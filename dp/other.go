package dp

import (
	"errors"
	"fmt"
	"slices"
)

// Other names a mechanism that is not a round of training, for example a histogram with Laplace noise. Its cost can
// be added to that of rounds. An [Event] with such a mechanism has the Sampling [Unsampled].
type Other string

// These are the mechanisms other than rounds of training. In their comments, a sensitivity is the largest
// change of the release between two data sets that are neighbours under the Adjacency of the event.
const (
	// GaussianNoise is a release with noise N(0, σ²) on each coordinate. NoiseMultiplier is σ divided by
	// the sensitivity in the 2-norm.
	GaussianNoise Other = "gaussian"
	// LaplaceNoise is a release with Laplace noise of scale b on each coordinate. NoiseMultiplier is b
	// divided by the sensitivity in the 1-norm. So the release is (1/NoiseMultiplier, 0)-differentially
	// private.
	LaplaceNoise Other = "laplace"
	// RandomizedResponse answers a question with yes or no for each record: the truth with probability e^ε/(1+e^ε),
	// otherwise the other answer. ε is the field Epsilon of the event. If a record is removed, it has no answer, so
	// the adjacency must be ReplaceOne.
	RandomizedResponse Other = "randomized-response"
	// PureDP is any release of which only an ε is known (the field Epsilon of the event), with δ = 0.
	PureDP Other = "pure"
	// ApproximateDP is any release of which only one pair (ε, δ) is known: the fields Epsilon and Delta of the event,
	// both above 0.
	ApproximateDP Other = "approximate"
	// ConcentratedDP is any release that is known to be ρ-zCDP, with ρ in the field Rho of the event: its Rényi
	// divergence of each order α > 1 is at most ρα (M. Bun and T. Steinke, "Concentrated Differential Privacy", TCC
	// 2016).
	ConcentratedDP Other = "zcdp"
)

// Others returns all values of [Other]: the mechanisms that are not rounds of training.
func Others() []Other {
	return []Other{GaussianNoise, LaplaceNoise, RandomizedResponse, PureDP, ApproximateDP, ConcentratedDP}
}

// Unsampled is the Sampling of events with an [Other] mechanism, which are not rounds of training and have no batch.
// Only the accountants pld and rdp cover such events.
const Unsampled Sampling = "none"

// The largest ε of an event with an Other mechanism, the range of ρ, and that of the NoiseMultiplier of
// LaplaceNoise.
const (
	maxOtherEpsilon = 100
	minRho, maxRho  = 1e-12, 50
	minLaplace      = 1. / maxOtherEpsilon
	maxLaplace      = 1e6
)

func (e Event) validateOther() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.Contains(Others(), e.Other) {
		_, err := parse("mechanism", string(e.Other), Others())
		return err
	}
	if e.Sampling != Unsampled {
		fail("sampling = %q, must be %q with mechanism %s", e.Sampling, Unsampled, e.Other)
	}
	_, err := ParseAdjacency(string(e.Adjacency))
	errs = append(errs, err)
	if e.Rate != 0 || e.SampleSize != 0 || e.DatasetSize != 0 || e.Redraw != "" || e.Group > 1 || e.Group < 0 || e.Truncated != 0 {
		fail("sample rate = %v, sample size = %d, N = %d, redraw = %q, truncated batch size = %d and group = %d, must not be given "+
			"with mechanism %s", e.Rate, e.SampleSize, e.DatasetSize, e.Redraw, e.Truncated, e.Group, e.Other)
	}
	noise := e.Other == GaussianNoise || e.Other == LaplaceNoise
	epsilon := !noise && e.Other != ConcentratedDP
	switch e.Other {
	case GaussianNoise:
		errs = append(errs, CheckPositive("noise multiplier", e.NoiseMultiplier))
	case LaplaceNoise:
		errs = append(errs, CheckRange("noise multiplier", e.NoiseMultiplier, minLaplace, maxLaplace))
	case RandomizedResponse:
		if err == nil && e.Adjacency != ReplaceOne {
			fail("adjacency = %q, must be %q with mechanism %s: a record that is not there has no answer", e.Adjacency,
				ReplaceOne, e.Other)
		}
	case ApproximateDP:
		if !(e.Delta > 0 && e.Delta < 1) {
			fail("delta = %v, must be in (0, 1) with mechanism %s; mechanism %s has δ = 0", e.Delta, e.Other, PureDP)
		}
	case ConcentratedDP:
		errs = append(errs, CheckRange("rho", e.Rho, minRho, maxRho))
	}
	if epsilon && !(e.Epsilon > 0 && e.Epsilon <= maxOtherEpsilon) {
		fail("epsilon = %v, must be in (0, %v] with mechanism %s", e.Epsilon, maxOtherEpsilon, e.Other)
	}
	if !noise && e.NoiseMultiplier != 0 {
		fail("noise multiplier = %v, must not be given with mechanism %s", e.NoiseMultiplier, e.Other)
	}
	if !epsilon && e.Epsilon != 0 || e.Other != ApproximateDP && e.Delta != 0 {
		fail("epsilon = %v and delta = %v, must not be given with mechanism %s", e.Epsilon, e.Delta, e.Other)
	}
	if e.Other != ConcentratedDP && e.Rho != 0 {
		fail("rho = %v, must not be given with mechanism %s", e.Rho, e.Other)
	}
	if e.Count < 1 {
		fail("count of releases = %d, must be at least 1", e.Count)
	}
	return errors.Join(errs...)
}
