package results

import (
	"fmt"
	"strings"

	"proactivedp/train"
)

// Banner returns what a picture of trainings of the spec says in red: that its data were drawn,
// or that no other run gives the same; "" if neither is so.
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
