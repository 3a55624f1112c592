package experiments

import (
	"slices"
	"testing"

	"proactivedp/internal/plots"
	"proactivedp/internal/timeline"
)

// On a timeline, a client that has finished all its rounds is not shown as waiting. One that gave up its
// last round is.
func TestTimelineOfFinishedClients(t *testing.T) {
	w := timeline.Window{Rounds: []timeline.Round{
		{Client: 0, Round: 0, To: 1e6, Arrives: 2e6},
		{Client: 1, Round: 0, To: 3e6, Aborted: true},
		{Client: 2, Round: 0, To: 5e6, Arrives: 9e6},
	}}
	var line plots.Timeline
	addWindow(&line, w, 2, 2, 1)
	var waits []plots.Stretch
	for _, s := range line.Stretches {
		if s.Colour == waitColour {
			waits = append(waits, s)
		}
	}
	if want := []plots.Stretch{{Row: 0, From: 3, To: 9, Colour: waitColour}}; !slices.Equal(waits, want) {
		t.Errorf("waiting: %v, want %v", waits, want)
	}
}
