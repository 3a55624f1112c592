package experiments

import (
	"fmt"
	"image/color"
	"slices"

	"proactivedp/sim"
)

// Of many clients and delays a timeline shows the first.
const (
	shownClients = 8
	shownDelays  = 3
)

// windowPicture is the timelines of several delays below each other, on one clock,
// of runs that have so many rounds.
func windowPicture(f *frame, all []contender, windows []window, rounds int) picture {
	spec := all[0].spec
	clients := min(spec.Clients, shownClients)
	all, windows = all[:min(len(all), shownDelays)], windows[:min(len(all), shownDelays)]
	p := picture{
		title:  fmt.Sprintf("%s, %s: until %d rounds of every client are in", f.data.Name, modelTitle(spec.Model), min(rounds, timelineRounds)),
		xLabel: "time on the virtual clock (ms)", banner: f.banner(),
	}
	var t timeline
	height := clients + 1
	p.yNames = make([]string, height*len(all))
	most := 0
	for i, w := range windows {
		top := float64(len(p.yNames) - 1 - i*height)
		p.yNames[int(top)] = all[i].name + ": server"
		for client := range clients {
			p.yNames[int(top)-1-client] = fmt.Sprintf("client %d", client)
		}
		most = max(most, addWindow(&t, w, top, clients, min(rounds, keptRounds*timelineRounds)))
	}
	p.marks = append(p.marks, t)
	for lag := range most + 1 {
		name := fmt.Sprintf("computes, i − k = %d", lag)
		if lag == len(lagColours)-1 && most == lag {
			name += " or more"
		}
		p.key = append(p.key, keyEntry{name, lagColours[lag]})
	}
	p.key = append(p.key, keyEntry{"waits for a broadcast", waitColour})
	if slices.ContainsFunc(windows, func(w window) bool { return len(w.Away) > 0 }) {
		p.key = append(p.key, keyEntry{"is away", awayColour}, keyEntry{"gave a round up", abortedColour})
	}
	if clients < spec.Clients {
		p.title += fmt.Sprintf(" (%d of %d clients)", clients, spec.Clients)
	}
	return p
}

// Colours of a timeline.
var (
	lagColours      = palette[:5]
	waitColour      = color.Gray{228}
	awayColour      = color.Gray{120}
	abortedColour   = color.RGBA{150, 90, 90, 255}
	serverColour    = color.Gray{200}
	updateColour    = color.NRGBA{0, 0, 0, 150}
	broadcastColour = color.NRGBA{200, 0, 0, 150}
)

// addWindow draws a window, of so many clients and rounds of each, with the server in
// the row top and client c in the row top - 1 - c. Who has done these rounds waits for
// nothing. It returns the number of the last colour of a lag in use.
func addWindow(t *timeline, w window, top float64, clients, rounds int) (most int) {
	ms := func(at sim.Time) float64 { return 1e3 * clockSeconds(at) }
	row := func(client int) float64 { return top - 1 - float64(client) }
	free, done := make([]sim.Time, clients), make([]int, clients)
	end := sim.Time(0)
	for _, r := range w.Rounds {
		if r.Client >= clients {
			end = max(end, r.To, r.Arrives)
			continue
		}
		if r.From > free[r.Client] {
			t.stretches = append(t.stretches, stretch{row(r.Client), ms(free[r.Client]), ms(r.From), waitColour})
		}
		free[r.Client] = r.To
		if !r.Aborted {
			done[r.Client]++
		}
		lag := min(r.Lag, len(lagColours)-1)
		most = max(most, lag)
		colour := color.Color(lagColours[lag])
		if r.Aborted {
			colour = abortedColour
		}
		if r.Arrives > 0 {
			t.flights = append(t.flights, flight{[2]float64{row(r.Client), top}, ms(r.To), ms(r.Arrives), updateColour})
		}
		end = max(end, r.To, r.Arrives)
		t.stretches = append(t.stretches, stretch{row(r.Client), ms(r.From), ms(r.To), colour})
	}
	for _, b := range w.Broadcasts {
		if b.Client >= clients {
			continue
		}
		t.flights = append(t.flights, flight{[2]float64{top, row(b.Client)}, ms(b.Sent), ms(b.Arrives), broadcastColour})
	}
	t.stretches = append(t.stretches, stretch{top, 0, ms(end), serverColour})
	for client := range clients {
		if done[client] < rounds && free[client] < end {
			t.stretches = append(t.stretches, stretch{row(client), ms(free[client]), ms(end), waitColour})
		}
	}
	for _, a := range w.Away {
		if a.Client >= clients {
			continue
		}
		t.stretches = append(t.stretches, stretch{row(a.Client), ms(a.From), ms(a.To), awayColour})
	}
	return most
}
