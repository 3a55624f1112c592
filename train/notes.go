package train

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/sim"
)

// Secret reports whether nobody is to know the run's noise: it is a release then, and no
// simulation.
func (s Spec) Secret() bool { return s.SeedFromOS || s.Runner == DistributedRunner }

// Notes says what a reader of the run's results must know of its setting.
func (s Spec) Notes() []string {
	var notes []string
	if data.Partition(s.Partition).Skewed() {
		notes = append(notes, fmt.Sprintf("labels are distributed differently by client (%s), outside the paper's "+
			"assumption that all clients' data has one distribution", s.Partition))
	}
	if s.Adapt != 0 {
		notes = append(notes, fmt.Sprintf("clients adapt their sample sizes to their speed, by up to a factor of %v; "+
			"T, the step sizes and Υ are of the nominal sizes, ε and θ are not", s.Adapt))
	}
	if s.Averages() {
		notes = append(notes, "the averaged model is computed from what is broadcast, and costs no privacy; which of "+
			"the two is better is seen on rows that (ε, δ) does not cover")
	}
	if s.TargetEpsilon != 0 {
		notes = append(notes, fmt.Sprintf("σ is the least with which ε of a record, certified, is at most %v",
			s.TargetEpsilon))
	}
	if s.Runner == HogwildRunner || s.Runner == DistributedRunner {
		free := "clients run as fast as they can"
		if s.TimeScale > 0 {
			free = fmt.Sprintf("clients run on a real clock, a second of the durations drawn being %g long",
				s.TimeScale)
		}
		free += ": which updates a round has seen depends on how long computing really takes, which may depend on " +
			"the data; (ε, δ) takes it to be independent of them"
		if s.Runner == HogwildRunner {
			free += ". Another run of the seed gives another model, with the same samples and noise"
		}
		notes = append(notes, free)
	}
	return notes
}

// StepText returns the step size as a formula in t, the gradients of a client so far.
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
