package experiments

import (
	"fmt"
	"image/color"

	"proactivedp/internal/plots"
	"proactivedp/internal/timeline"
	"proactivedp/sim"
)

var (
	lagColours      = plots.Palette[:5]
	waitColour      = color.Gray{228}
	awayColour      = color.Gray{120}
	abortedColour   = color.RGBA{150, 90, 90, 255}
	serverColour    = color.Gray{200}
	updateColour    = color.NRGBA{0, 0, 0, 150}
	broadcastColour = color.NRGBA{200, 0, 0, 150}
)

// addWindow draws a window with the given number of clients and rounds of each. The server is in row
// top, and client c in row top - 1 - c. A client that has done its rounds is not shown as waiting.
// addWindow returns the index in lagColours of the last colour that it used.
func addWindow(t *plots.Timeline, w timeline.Window, top float64, clients, rounds int) (most int) {
	ms := func(at sim.Time) float64 { return float64(at) / 1e6 }
	row := func(client int) float64 { return top - 1 - float64(client) }
	stretch := func(row float64, from, to sim.Time, colour color.Color) {
		t.Stretches = append(t.Stretches, plots.Stretch{Row: row, From: ms(from), To: ms(to), Colour: colour})
	}
	flight := func(from, to float64, sent, arrives sim.Time, colour color.Color) {
		t.Flights = append(t.Flights, plots.Flight{Rows: [2]float64{from, to}, From: ms(sent), To: ms(arrives), Colour: colour})
	}
	free, done := make([]sim.Time, clients), make([]int, clients)
	end := sim.Time(0)
	for _, r := range w.Rounds {
		if r.Client >= clients {
			end = max(end, r.To, r.Arrives)
			continue
		}
		if r.From > free[r.Client] {
			stretch(row(r.Client), free[r.Client], r.From, waitColour)
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
			flight(row(r.Client), top, r.To, r.Arrives, updateColour)
		}
		end = max(end, r.To, r.Arrives)
		stretch(row(r.Client), r.From, r.To, colour)
	}
	for _, b := range w.Broadcasts {
		if b.Client < clients {
			flight(top, row(b.Client), b.Sent, b.Arrives, broadcastColour)
		}
	}
	stretch(top, 0, end, serverColour)
	for client := range clients {
		if done[client] < rounds && free[client] < end {
			stretch(row(client), free[client], end, waitColour)
		}
	}
	for _, a := range w.Away {
		if a.Client < clients {
			stretch(row(a.Client), a.From, a.To, awayColour)
		}
	}
	return most
}

// windowKey returns the meaning of the colours, up to the last lag colour in use. away says whether
// clients may be away.
func windowKey(most int, away bool) []plots.KeyEntry {
	var key []plots.KeyEntry
	for lag := range most + 1 {
		name := fmt.Sprintf("computes, i − k = %d", lag)
		if lag == len(lagColours)-1 && most == lag {
			name += " or more"
		}
		key = append(key, plots.KeyEntry{Name: name, Colour: lagColours[lag]})
	}
	key = append(key, plots.KeyEntry{Name: "waits for a broadcast", Colour: waitColour})
	if away {
		key = append(key, plots.KeyEntry{Name: "is away", Colour: awayColour},
			plots.KeyEntry{Name: "gave up a round", Colour: abortedColour})
	}
	return key
}
