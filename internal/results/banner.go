package results

import (
	"fmt"
	"strings"

	"proactivedp/train"
)

// Banner returns the warning in red of a picture: that its data are synthetic, or that the runs cannot
// be repeated exactly. It returns "" if neither applies.
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
