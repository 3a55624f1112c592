package experiments

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"proactivedp/train"
	"proactivedp/train/pool"
)

// delayExperiment is an experiment whose figures compare delays on the virtual clock.
type delayExperiment struct {
	experiment
	with, without train.Spec // specs of the runs with and without noise
	gradComps     int        // K, the number of gradients of one client
	looks         int        // how often the accuracy of each run is measured
	// realPart is the fraction of K that runs on a real clock. realScale is the number of real seconds
	// in a virtual second, which must be large enough for timers to measure a round.
	realPart, realScale float64
}

// How often the accuracy of a run is measured. This takes long for a network.
const (
	convexLooks  = 200
	networkLooks = 50
)

func looksOf(model string) int {
	if train.IsNetwork(model) {
		return networkLooks
	}
	return convexLooks
}

// withStragglers returns the spec with the timing of a delay experiment. It is the default timing, with
// compute times from a Pareto distribution of the same mean. Every client is slow now and then; the
// slowest of five takes 2.7 times the mean.
func withStragglers(spec train.Spec) train.Spec {
	spec.Compute = "pareto:10us,1.5"
	return spec
}

// unequalSpeeds are the speeds of clients with constant differences: three have the same speed, one is
// half as fast, and one a quarter.
const unequalSpeeds = "1,1,1,0.5,0.25"

// networkPart is the fraction of the paper's K in a network's delay experiment, which has many runs.
// Custom data use all of K.
const networkPart = 0.25

func delayExperiments() []delayExperiment {
	return []delayExperiment{convexExperiment(pool.Convex(train.Ridge, "phishing")).delayExperiment(),
		mnistExperiment(pool.MNIST(pool.MNISTModel)).delayExperiment()}
}

// delayExperiment returns the experiment with the timing of its delay figures.
func (s experiment) delayExperiment() delayExperiment {
	l := delayExperiment{experiment: s, with: s.Train, without: s.WithoutNoise(), gradComps: s.paper.GradComps,
		looks: looksOf(s.Train.Model), realPart: 0.4, realScale: 50}
	if s.own == "" && train.IsNetwork(s.Train.Model) {
		l.gradComps = scaled(l.gradComps, networkPart)
		l.realPart, l.realScale = networkPart/4, 40
	}
	l.with, l.without = withStragglers(l.with), withStragglers(l.without)
	return l
}

// The permissible delays of the figures.
var (
	allDelays   = []string{"0", "sqrt", "1", "2", "4", "8", "16", "32", "64", "unlimited"}
	timedDelays = []string{"0", "sqrt", "1", "4", "16", "unlimited"}
)

// delays returns a series for every delay, the synchronous one first, for the part of K that the
// configuration runs.
func (l delayExperiment) delays(f *figureConfig, spec train.Spec, delays []string) []series {
	spec.GradComps = f.gradComps(l.gradComps)
	return delaySeries(f.byClock(spec), delays)
}

// delaySeries returns a series for every delay. The synchronous one is the first, also if it is not listed.
func delaySeries(spec train.Spec, delays []string) []series {
	var out []series
	others := slices.DeleteFunc(slices.Clone(delays), func(d string) bool { return d == synchronous })
	for _, delay := range append([]string{synchronous}, others...) {
		spec.Delay = delay
		out = append(out, series{delayName(delay), spec})
	}
	return out
}

// synchronous is the permissible delay that the others are compared with.
const synchronous = "0"

func delayName(delay string) string {
	if delay == synchronous {
		return "synchronous"
	}
	if _, err := strconv.Atoi(delay); err == nil {
		return "τ = " + delay
	}
	if delay == "sqrt" {
		return "√(t/ln t)"
	}
	return delay
}

func axisName(delay string) string {
	return strings.TrimPrefix(strings.Replace(delayName(delay), "synchronous", "0", 1), "τ = ")
}

// measuredText says how the times of a spec's runs are measured.
func measuredText(s train.Spec) string {
	if s.Runner == train.HogwildRunner {
		return fmt.Sprintf("measured, in seconds of a clock; each takes %g real seconds", s.TimeScale)
	}
	return "simulated"
}

// timingText describes the clock, the durations, and the disturbances of clients and messages.
func timingText(s train.Spec) string {
	text := "Simulated time"
	if s.Runner == train.HogwildRunner {
		text = fmt.Sprintf("Real clock, whose second takes %g real seconds", s.TimeScale)
	}
	text += fmt.Sprintf(": a round takes s × %s", s.Compute)
	if s.Speeds != "" {
		text += fmt.Sprintf(" over the client's speed (%s)", s.Speeds)
	}
	text += fmt.Sprintf(", a message %s.", s.Latency)
	if s.Loss > 0 {
		text += fmt.Sprintf(" A message is lost with probability %g, and then sent again after %s.", s.Loss, s.Resend)
	}
	if s.Duplicate > 0 {
		text += fmt.Sprintf(" A message comes twice with probability %g.", s.Duplicate)
	}
	if s.Churn != "" {
		text += fmt.Sprintf(" Clients are present and away in turn, for %s on average.",
			strings.Replace(s.Churn, ",", " and ", 1))
	}
	return text
}
