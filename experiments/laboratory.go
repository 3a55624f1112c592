package experiments

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// laboratory is a setting in which delays are compared on the virtual clock.
type laboratory struct {
	setting
	with, without TrainSpec // noise
	gradComps     int       // K, per client
	looks         int       // at each run
	zoom          float64   // where the axis of accuracies against time begins
}

// Looks at a run. Judging a network is not for nothing.
const (
	convexLooks  = 200
	networkLooks = 100
)

func looksOf(model string) int {
	if isNetwork(model) {
		return networkLooks
	}
	return convexLooks
}

// stragglers is the time of one gradient in a laboratory: the mean of the default
// timing, with the tail of a Pareto distribution. Every client is slow now and
// then: of five that take part in a round the slowest takes 2.7 times the mean.
const stragglers = "pareto:10us,1.5"

// Where clients differ for good: three of one speed, one half as fast, and one of
// a quarter of it.
const unequalSpeeds = "1,1,1,0.5,0.25"

// networkPart is which part of the paper's K a network's laboratory runs: there
// are many runs.
const networkPart = 0.25

// laboratories lists the settings that there are delay figures of.
func laboratories() []laboratory {
	ridge := convexSetting(Ridge, "phishing").laboratory()
	ridge.zoom = 0.6
	return []laboratory{ridge, mnistSetting(mnistModel).laboratory()}
}

// laboratory makes the setting's own.
func (s setting) laboratory() laboratory {
	l := laboratory{setting: s, with: s.train, without: s.withoutNoise(), gradComps: s.paper.gradComps, looks: looksOf(s.train.Model)}
	if isNetwork(s.train.Model) {
		l.gradComps = scaled(l.gradComps, networkPart)
	}
	l.with.Compute, l.without.Compute = stragglers, stragglers
	return l
}

// The permissible delays of the figures.
var (
	allDelays   = []string{"0", "1", "2", "4", "8", "16", "32", "64", "sqrt", "unlimited"}
	timedDelays = []string{"0", "1", "4", "16", "sqrt", "unlimited"}
)

// delays returns a contender for every delay, the synchronous one first, for the
// part of K that the frame runs.
func (l laboratory) delays(f *frame, spec TrainSpec, delays []string) []contender {
	spec.GradComps = f.gradComps(l.gradComps)
	return delayContenders(spec, delays)
}

// delayContenders returns a contender for every delay, the synchronous one first.
func delayContenders(spec TrainSpec, delays []string) []contender {
	var out []contender
	for _, delay := range withSynchronous(delays) {
		spec.Delay = delay
		out = append(out, contender{delayName(delay), spec})
	}
	return out
}

// synchronous is the permissible delay that others are compared with.
const synchronous = "0"

// withSynchronous puts the synchronous delay first, whether it is listed or not.
func withSynchronous(delays []string) []string {
	rest := slices.DeleteFunc(slices.Clone(delays), func(d string) bool { return d == synchronous })
	return append([]string{synchronous}, rest...)
}

// delayName is what a legend calls a permissible delay.
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

// axisName is delayName as short as the axis needs it.
func axisName(delay string) string {
	return strings.TrimPrefix(strings.Replace(delayName(delay), "synchronous", "0", 1), "τ = ")
}

// title begins the titles of the laboratory's figures.
func (l laboratory) title(dataset string) string {
	return fmt.Sprintf("%s, %s", dataset, modelTitle(l.with.Model))
}

// caption says what all runs of a figure share.
func labCaption(spec TrainSpec, f *frame) string {
	noise := fmt.Sprintf("σ = %.7g, ", spec.NoiseMultiplier)
	if spec.NoiseMultiplier == 0 {
		noise = "no noise, "
	}
	return fmt.Sprintf("%d clients, K = %d each, s = %s, %sC = %g, step size %s, partition %s; mean and one standard deviation over %d seeds%s.\n"+
		"Virtual clock: a round takes s times %s%s, a message %s. Accuracy is that of the server's model v, which has every update that has come.\n",
		spec.Clients, spec.GradComps, spec.SampleSize, noise, spec.Clip, stepText(spec), spec.Partition, f.seeds, f.note(),
		spec.Compute, speedsText(spec), spec.Latency)
}

// speedsText says how fast the clients are, if they differ.
func speedsText(spec TrainSpec) string {
	if spec.Speeds == "" {
		return ""
	}
	return fmt.Sprintf(" over the client's speed (%s)", spec.Speeds)
}
