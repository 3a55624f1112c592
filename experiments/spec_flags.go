package experiments

import (
	"fmt"
	"strings"

	"proactivedp/train"
)

// flags returns the command line's flags for what the spec says other than usual,
// each after a blank. The model, the data and the seed are not among them.
func flags(s, usual train.Spec) string {
	var text strings.Builder
	for _, f := range []struct {
		flag         string
		value, usual any
	}{
		{"clients", s.Clients, usual.Clients},
		{"grad-computations", s.GradComps, usual.GradComps},
		{"sample-size", s.SampleSize, usual.SampleSize},
		{"sigma", s.NoiseMultiplier, usual.NoiseMultiplier},
		{"clip", s.Clip, usual.Clip},
		{"eta0", s.Eta0, usual.Eta0},
		{"beta", s.Beta, usual.Beta},
		{"schedule", s.Schedule, usual.Schedule},
		{"delay", s.Delay, usual.Delay},
		{"partition", s.Partition, usual.Partition},
		{"sampling", s.Sampling, usual.Sampling},
		{"runner", s.Runner, usual.Runner},
		{"compute-time", s.Compute, usual.Compute},
		{"latency", s.Latency, usual.Latency},
		{"speeds", s.Speeds, usual.Speeds},
		{"loss", s.Loss, usual.Loss},
		{"resend", s.Resend, usual.Resend},
		{"duplicate", s.Duplicate, usual.Duplicate},
		{"churn", s.Churn, usual.Churn},
		{"adapt", s.Adapt, usual.Adapt},
		{"delta", s.Delta, usual.Delta},
		{"holdout", s.Holdout, usual.Holdout},
	} {
		if f.value != f.usual {
			fmt.Fprintf(&text, " --%s %v", f.flag, f.value)
		}
	}
	return text.String()
}
