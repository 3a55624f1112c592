package claim

import (
	"fmt"
	"strings"

	"proactivedp/dp"
	"proactivedp/rng"
)

// simulation is the sentence which says why a run with a numbered seed is not a release, and how to
// make one.
const simulation = "anyone who knows the seed can subtract the noise; use --seed-from-os for a release"

// named is the largest number of roots that a text lists.
const named = 3

// roots returns a text that lists the first named of the names, and the number of the others.
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

// noiseText names the source of the release's noise. It is empty if the source is not known.
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

// noiseSentences returns the sentences of a statement about the source of the events' noise, the
// assumptions about it, and whether it protects.
func noiseSentences(events []dp.Event) string {
	names, unnamed := dp.Names(events)
	if len(names) == 0 {
		return " The noise of all rounds is assumed to be independent, because its source is not named."
	}
	text := fmt.Sprintf(" The noise is from %s", roots(names))
	if unnamed {
		text += "; the noise of the other rounds has no named source and is assumed to be independent"
	}
	text += "."
	for _, name := range names {
		if name.Simulated() {
			return text + " A numbered seed is for SIMULATION: " + simulation + "."
		}
	}
	return text
}
