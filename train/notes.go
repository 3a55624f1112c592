package train

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/dp/pld"
	"proactivedp/internal/decimal"
	"proactivedp/models"
	"proactivedp/sim"
)

// Secret reports whether nobody knows the seed of the noise: it comes from the operating system (SeedFromOS), or each
// client draws its own (DistributedRunner). Only then does (ε, δ) protect the records, so that the model may be
// published. A run with a numbered seed is only a simulation: whoever knows the seed can subtract the noise.
func (s Spec) Secret() bool { return s.SeedFromOS || s.Runner == DistributedRunner }

// Notes returns sentences for a report that warn its reader of unusual settings of the spec, for example that class
// weights are not covered by ε. It returns nil if there is nothing to say.
func (s Spec) Notes() []string {
	var notes []string
	if data.Partition(s.Partition).Skewed() {
		notes = append(notes, fmt.Sprintf("labels are distributed differently across clients (%s), unlike the paper's "+
			"assumption that all clients' data has the same distribution", s.Partition))
	}
	if s.Adapt != 0 {
		notes = append(notes, fmt.Sprintf("clients adapt their sample sizes to their speed, by up to a factor of %v; "+
			"T, the step sizes and Υ use the nominal sizes, ε and θ use the real ones", s.Adapt))
	}
	if s.Averages() {
		notes = append(notes, "the averaged model is computed from the broadcasts, so it costs no privacy. Which of "+
			"the two models is better is judged on rows that (ε, δ) does not cover")
	}
	if !s.IsAccuracy() && s.Metric != "" {
		notes = append(notes, "models are compared by the metric "+s.Metric)
	}
	if s.Clipping == AutomaticClipping {
		notes = append(notes, fmt.Sprintf("automatic clipping: every gradient g is multiplied by C/(‖g‖ + %v), whether it is "+
			"longer than C or not. The sensitivity is C", models.AutomaticGamma))
	}
	if s.ClassWeights != "" {
		notes = append(notes, "the loss is weighted by class ("+s.ClassWeights+"). (ε, δ) does not cover weights that "+
			"were computed from the records, for example from their class counts")
	}
	whom := "a record"
	if s.AtMost > 0 {
		whom = "a person"
		notes = append(notes, fmt.Sprintf("(ε, δ) is for a person: the training uses at most %s of each person. "+
			"A keyed hash of the person and the record picks them. Names that differ in any character are different persons. ε does not "+
			"cover the number of records; the number of persons is not used", decimal.Many(s.AtMost, "record")))
	}
	if s.Initial != "" {
		notes = append(notes, "the training began with "+s.InitialNote())
	}
	if s.TargetEpsilon != 0 && s.NoiseMultiplier <= pld.MinSigma { // less might keep the target, too
		notes = append(notes, fmt.Sprintf("σ = %v is the smallest that the accountant accepts; the certified ε of %s is at most %v",
			s.NoiseMultiplier, whom, s.TargetEpsilon))
	} else if s.TargetEpsilon != 0 {
		notes = append(notes, fmt.Sprintf("σ is the smallest for which the certified ε of %s is at most %v",
			whom, s.TargetEpsilon))
	}
	if s.Runner == HogwildRunner || s.Runner == DistributedRunner {
		free := "clients run as fast as they can"
		if s.TimeScale > 0 {
			free = fmt.Sprintf("clients run on a real clock, %g s for each simulated second",
				s.TimeScale)
		}
		free += ": which updates a round has seen depends on how long computing takes, which may depend on " +
			"the data. (ε, δ) assumes that it does not"
		if s.Runner == HogwildRunner {
			free += ". Another run with the same seed gives another model, with the same samples and noise"
		}
		notes = append(notes, free)
	}
	return notes
}

// StepText returns the step size of the spec's schedule as a formula for plots and reports, such as 0.1/(1+0.001t).
// In it, t is the number of gradients that a client has computed so far, and K the number that it computes in all.
func (s Spec) StepText() string {
	switch sim.Decay(s.Schedule) {
	case sim.LinearDecay:
		return fmt.Sprintf("%g/(1+%gt)", s.Eta0, s.Beta)
	case sim.SqrtDecay:
		return fmt.Sprintf("%g/(1+%g√t)", s.Eta0, s.Beta)
	case sim.ZeroDecay:
		return fmt.Sprintf("%g(1−t/K)", s.Eta0)
	case sim.CosineDecay:
		return fmt.Sprintf("%g(1+cos(πt/K))/2", s.Eta0)
	}
	return fmt.Sprintf("%g", s.Eta0)
}
