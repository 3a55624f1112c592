package experiments

import (
	"fmt"
	"image/color"
	"slices"

	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/sim"
	"proactivedp/train"
)

// A timeline shows the first of many clients and delays.
const (
	shownClients = 8
	shownDelays  = 3
)

// windowPicture draws the timelines of several delays below each other, on one
// clock, of runs that have so many rounds.
func windowPicture(f *frame, all []contender, windows []window, rounds int) plots.Picture {
	spec := all[0].spec
	clients := min(spec.Clients, shownClients)
	all, windows = all[:min(len(all), shownDelays)], windows[:min(len(all), shownDelays)]
	p := plots.Picture{
		Title: fmt.Sprintf("%s, %s: until %s of every client are in", f.data().Name,
			train.ModelTitle(spec.Model), decimal.Many(min(rounds, timelineRounds), "round")),
		XLabel: "time on the virtual clock (ms)", Banner: f.banner(),
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
		most = max(most, addWindow(&t, w, top, clients, min(rounds, keptRounds*timelineRounds)))
	}
	p.Marks = append(p.Marks, t)
	for lag := range most + 1 {
		name := fmt.Sprintf("computes, i − k = %d", lag)
		if lag == len(lagColours)-1 && most == lag {
			name += " or more"
		}
		p.Key = append(p.Key, plots.KeyEntry{Name: name, Colour: lagColours[lag]})
	}
	p.Key = append(p.Key, plots.KeyEntry{Name: "waits for a broadcast", Colour: waitColour})
	if slices.ContainsFunc(windows, func(w window) bool { return len(w.Away) > 0 }) {
		p.Key = append(p.Key, plots.KeyEntry{Name: "is away", Colour: awayColour},
			plots.KeyEntry{Name: "gave a round up", Colour: abortedColour})
	}
	if clients < spec.Clients {
		p.Title += fmt.Sprintf(" (%d of %d clients)", clients, spec.Clients)
	}
	return p
}

// These are the colours of a timeline.
var (
	lagColours      = plots.Palette[:5]
	waitColour      = color.Gray{228}
	awayColour      = color.Gray{120}
	abortedColour   = color.RGBA{150, 90, 90, 255}
	serverColour    = color.Gray{200}
	updateColour    = color.NRGBA{0, 0, 0, 150}
	broadcastColour = color.NRGBA{200, 0, 0, 150}
)

// addWindow draws a window, of so many clients and rounds of each, with the server in
// the row top and client c in the row top - 1 - c. A client that has done these
// rounds is not shown to wait. It returns the number of the last colour of a lag
// in use.
func addWindow(t *plots.Timeline, w window, top float64, clients, rounds int) (most int) {
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
			t.Stretches = append(t.Stretches, plots.Stretch{Row: row(r.Client), From: ms(free[r.Client]),
				To: ms(r.From), Colour: waitColour})
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
			t.Flights = append(t.Flights, plots.Flight{Rows: [2]float64{row(r.Client), top}, From: ms(r.To),
				To: ms(r.Arrives), Colour: updateColour})
		}
		end = max(end, r.To, r.Arrives)
		t.Stretches = append(t.Stretches, plots.Stretch{Row: row(r.Client), From: ms(r.From), To: ms(r.To),
			Colour: colour})
	}
	for _, b := range w.Broadcasts {
		if b.Client >= clients {
			continue
		}
		t.Flights = append(t.Flights, plots.Flight{Rows: [2]float64{top, row(b.Client)}, From: ms(b.Sent),
			To: ms(b.Arrives), Colour: broadcastColour})
	}
	t.Stretches = append(t.Stretches, plots.Stretch{Row: top, From: 0, To: ms(end), Colour: serverColour})
	for client := range clients {
		if done[client] < rounds && free[client] < end {
			t.Stretches = append(t.Stretches, plots.Stretch{Row: row(client), From: ms(free[client]), To: ms(end),
				Colour: waitColour})
		}
	}
	for _, a := range w.Away {
		if a.Client >= clients {
			continue
		}
		t.Stretches = append(t.Stretches, plots.Stretch{Row: row(a.Client), From: ms(a.From), To: ms(a.To),
			Colour: awayColour})
	}
	return most
}
