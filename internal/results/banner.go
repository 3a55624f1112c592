package results

import (
	"fmt"
	"strings"

	"proactivedp/train"
)

// Banner returns the warning that a picture shows in red below its title: that the data are synthetic, or
// that the trainings cannot be repeated exactly. It returns "" if there is nothing to warn about.
func Banner(s train.Spec, synthetic bool) string {
	var parts []string
	if synthetic {
		parts = append(parts, fmt.Sprintf("SYNTHETIC DATA (%s)", s.Data))
	}
	if s.Runner == train.HogwildRunner {
		parts = append(parts, "RUNNER hogwild: another run of this command gives another result")
	}
	return strings.Join(parts, "; ")
}
