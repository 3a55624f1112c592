package experiments

import (
	"context"
	"fmt"
	"strconv"

	"proactivedp/internal/timeline"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// The extent of a timeline: the first rounds of a few clients.
const timelineRounds = 8

var timelineDelays = []string{"0", "1", "4"}

// timelineFigure shows the first rounds for several delays.
func (l delayExperiment) timelineFigure() Figure {
	allSeries := func(f *figureConfig) []series { return l.delays(f, l.with, timelineDelays) }
	return figureOf(Figure{
		Name: l.name() + "-timeline", Data: l.with.Data, Long: l.long,
		Title: fmt.Sprintf("Timeline of the first rounds, %s on %s", train.ModelTitle(l.with.Model), l.with.Data),
		first: true,
		lacks: "it has no times of broadcasts, which are the red lines",
	}, func(f *figureConfig) ([]pool.Cell, error) {
		return windowCells(allSeries(f), f), nil
	}, func(_ context.Context, f *figureConfig, windows []timeline.Window) (*content, error) {
		return windowContent(f, allSeries(f), windows)
	}, nil)
}

// windowCells returns the cells of the first rounds of every series, with the first seed.
func windowCells(all []series, f *figureConfig) []pool.Cell {
	var cells []pool.Cell
	for _, c := range all {
		c.spec.Seed = 1
		cells = append(cells, pool.OfWindow(c.spec, timelineRounds, f.source))
	}
	return cells
}

func windowContent(f *figureConfig, all []series, windows []timeline.Window) (*content, error) {
	table := [][]string{clockColumns(all[0].spec, []string{"delay", "client", "round", "lag", "aborted",
		"begins_virtual_seconds", "ends_virtual_seconds", "update_arrives_virtual_seconds"})}
	var specs []train.Spec
	for i, w := range windows {
		specs = append(specs, all[i].spec)
		for _, r := range w.Rounds {
			arrives := ""
			if r.Arrives > 0 {
				arrives = seconds(r.Arrives)
			}
			table = append(table, []string{all[i].spec.Delay, strconv.Itoa(r.Client), strconv.Itoa(r.Round),
				strconv.Itoa(r.Lag), strconv.FormatBool(r.Aborted),
				seconds(r.From), seconds(r.To), arrives})
		}
	}
	p, err := f.source.Prepare(specs[0])
	if err != nil {
		return nil, err
	}
	picture := windowPicture(f, all, windows, p.Config.Run().Rounds)
	picture.Caption = fmt.Sprintf("The first seed. %s\nColoured: a client computes a round that is i − k rounds ahead "+
		"of the newest broadcast it has. "+
		"Dark lines: updates on their way to the server; red lines: broadcasts to the clients. The same seed gives a "+
		"client's rounds the same durations, whatever the delay.",
		timingText(specs[0]))
	return &content{picture: picture, table: table, config: struct {
		Train  []train.Spec `json:"train"`
		Rounds int          `json:"rounds"`
	}{specs, timelineRounds}}, nil
}
