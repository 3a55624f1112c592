package experiments

import (
	"fmt"
	"slices"

	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/timeline"
	"proactivedp/train"
)

// The largest numbers of clients and delays in a timeline.
const (
	shownClients = 8
	shownDelays  = 3
)

// windowPicture draws the timelines of several delays below each other, with a common clock. rounds is
// the number of rounds of the runs.
func windowPicture(f *figureConfig, all []series, windows []timeline.Window, rounds int) plots.Picture {
	spec := all[0].spec
	clients := min(spec.Clients, shownClients)
	all, windows = all[:min(len(all), shownDelays)], windows[:min(len(all), shownDelays)]
	p := plots.Picture{
		Title: fmt.Sprintf("%s, %s: until %s of every client are in", f.data().Name,
			train.ModelTitle(spec.Model), decimal.Many(min(rounds, timelineRounds), "round")),
		XLabel: clockLabel(spec) + " (ms)", Banner: f.banner(),
	}
	var t plots.Timeline
	height := clients + 1
	p.YNames = make([]string, height*len(all))
	most := 0
	for i, w := range windows {
		top := float64(len(p.YNames) - 1 - i*height)
		p.YNames[int(top)] = all[i].name + ": server"
		for client := range clients {
			p.YNames[int(top)-1-client] = fmt.Sprintf("client %d", client)
		}
		most = max(most, addWindow(&t, w, top, clients, min(rounds, timeline.Kept*timelineRounds)))
	}
	p.Marks = append(p.Marks, t)
	p.Key = windowKey(most, slices.ContainsFunc(windows, func(w timeline.Window) bool { return len(w.Away) > 0 }))
	if clients < spec.Clients {
		p.Title += fmt.Sprintf(" (%d of %d clients)", clients, spec.Clients)
	}
	return p
}
