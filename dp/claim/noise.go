package claim

import (
	"fmt"
	"strings"

	"proactivedp/dp"
	"proactivedp/rng"
)

// simulation says why a run with a numbered seed is no release, and what to do for one.
const simulation = "who knows the seed can take the noise off; a release needs --seed-from-os"

// named is up to how many names of roots are said.
const named = 3

// roots lists the names.
func roots(names []rng.Name) string {
	var parts []string
	for i, name := range names {
		if i == named {
			parts = append(parts, fmt.Sprintf("and %d more", len(names)-named))
			break
		}
		parts = append(parts, name.String())
	}
	return strings.Join(parts, "; ")
}

// noiseText says whose noise the release has; nothing if that is not known.
func (r Report) noiseText() string {
	if len(r.Noise) == 0 {
		return ""
	}
	text := fmt.Sprintf("  %-14s%s\n", "noise", roots(r.Noise))
	if r.Simulation && r.NoiseMultiplier > 0 {
		text += "    SIMULATION  " + simulation + "\n"
	}
	return text
}

// noiseSentences say of a statement's events whose noise they have, what is assumed of
// it, and whether it protects.
func noiseSentences(events []dp.Event) string {
	names, unnamed := dp.Names(events)
	if len(names) == 0 {
		return " That the noise of all rounds is independent is assumed: no root is named that it is from."
	}
	text := fmt.Sprintf(" The noise is from %s", roots(names))
	if unnamed {
		text += "; that of the rounds that name no root is assumed to be independent of it and of each other"
	}
	text += "."
	for _, name := range names {
		if name.Simulated() {
			return text + " A numbered seed is for SIMULATION: " + simulation + "."
		}
	}
	return text
}
