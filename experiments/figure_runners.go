package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// runnersFigure compares the paper's own runner, goroutines on a real clock, with the prediction of the
// virtual clock.
func (l delayExperiment) runnersFigure() Figure {
	n := len(timedDelays)
	allSeries := func(f *figureConfig) []series {
		spec := l.with
		spec.GradComps = f.gradComps(scaled(l.paper.GradComps, l.realPart))
		all := delaySeries(spec, timedDelays)
		spec.Runner, spec.TimeScale = train.HogwildRunner, l.realScale
		return append(all, delaySeries(spec, timedDelays)...)
	}
	fig := Figure{
		Name: l.name() + "-runners", Data: l.with.Data, Long: true, Fixed: true,
		Title: fmt.Sprintf("Both runners: what the virtual clock predicts for a real one, %s on %s",
			train.ModelTitle(l.with.Model), l.with.Data),
		cells: func(_ context.Context, f *figureConfig) ([]pool.Cell, error) {
			return comparisonCells(allSeries(f), f.seeds, l.looks, f.source), nil
		},
		finish: func(ctx context.Context, f *figureConfig, trained []json.RawMessage) (*content, error) {
			c, err := decodeComparison(allSeries(f), trained)
			if err != nil {
				return nil, err
			}
			return runnersContent(ctx, f, [2]*comparison{c.part(0, n), c.part(n, 2*n)}, nil, nil)
		},
	}
	fig.redraw = func(ctx context.Context, f *figureConfig, k *storedFigure) (*content, error) {
		var config runnersConfig
		if err := json.Unmarshal(k.config, &config); err != nil {
			return nil, fmt.Errorf("%s: config: %w", results.ManifestFile, err)
		}
		var columns [2][comparedCount][]float64
		names := map[string]*[]float64{"off": &config.off}
		for what, of := range comparedColumns {
			for runner, name := range of {
				names[name] = &columns[runner][what]
			}
		}
		if err := k.table.Columns(names); err != nil {
			return nil, err
		}
		all := allSeries(f)
		p, err := f.source.Prepare(all[0].spec)
		if err != nil {
			return nil, err
		}
		if len(k.table.Rows) != n*k.Seeds {
			return nil, fmt.Errorf("%s has %d rows, must have %d by the manifest's settings", results.TableFile,
				len(k.table.Rows), n*k.Seeds)
		}
		runs := slices.Repeat([][]pool.Timed{slices.Repeat([]pool.Timed{{TestRows: p.Test.Len()}}, k.Seeds)}, n)
		return runnersContent(ctx, f, [2]*comparison{{all: all[:n], runs: runs, stored: &config.Virtual, tolerance: config.Virtual.Tolerance},
			{all: all[n:], runs: runs, stored: &config.Hogwild, tolerance: config.Hogwild.Tolerance}},
			func(runner, i, seed int) (of [comparedCount]float64) {
				for what := range of {
					of[what] = columns[runner][what][i*k.Seeds+seed]
				}
				return of
			}, &config)
	}
	return fig
}

// comparedColumns are the columns of the compared quantities in the data, for the virtual runner and for hogwild.
var comparedColumns = [comparedCount][2]string{{"virtual_test_accuracy", "hogwild_test_accuracy"},
	{"foretold_seconds", "measured_seconds"}, {"virtual_mean_lag", "hogwild_mean_lag"}, {"virtual_idle", "hogwild_idle"}}

// ends returns the time at which the last update of the run was applied.
func ends(t *pool.Timed) float64 { return clockSeconds(t.At[len(t.At)-1]) }

// The quantities that are compared: final accuracy, time, staleness and idle time.
const (
	comparedAccuracy = iota
	comparedTime
	comparedLag
	comparedIdle
	comparedCount
)

// compared returns the four compared quantities of a run.
func compared(t *pool.Timed) [comparedCount]float64 {
	lag, _ := t.Lag()
	return [comparedCount]float64{t.Accuracy[len(t.Accuracy)-1], ends(t), lag, t.Idle()}
}

// runnersConfig is the manifest's description of both runners.
type runnersConfig struct {
	Virtual comparisonConfig `json:"virtual"`
	Hogwild comparisonConfig `json:"hogwild"`
	// The relative difference between the time of a run and its prediction, over all delays and seeds.
	MedianOff  float64 `json:"median_off"`
	LargestOff float64 `json:"largest_off"`

	off []float64 // this difference of every run, if the figure is drawn again
}

// runnersContent draws accuracy, time and staleness against the delays, for the virtual runner and for
// hogwild on a real clock. If the figure is drawn again, quantities returns the compared quantities of a run from the
// data, and stored is the manifest's description, for which the data have too few digits. Otherwise both are nil.
func runnersContent(ctx context.Context, f *figureConfig, both [2]*comparison,
	quantities func(runner, i, seed int) [comparedCount]float64, stored *runnersConfig) (*content, error) {
	virtual, real := both[0], both[1]
	if quantities == nil {
		quantities = func(runner, i, seed int) [comparedCount]float64 { return compared(&both[runner].runs[i][seed]) }
	}
	spec := real.all[0].spec
	p := heading(f, virtual, "both runners, "+virtual.noiseText())
	p.XLabel, p.YLabel, p.XNames = delayLabel, accuracyLabel(spec)+" at the end", virtual.axisNames()
	p.Below = []plots.Picture{
		{YLabel: "time of the run (s)", XNames: p.XNames}, {YLabel: "mean of i − k", XNames: p.XNames},
	}
	panels := []*plots.Picture{&p, &p.Below[0], &p.Below[1]}
	for runner, name := range []string{"virtual", "hogwild"} {
		for i, panel := range panels {
			l := plots.Line{Name: name, Points: true, Colour: plots.Palette[runner]}
			if i > 0 {
				l.Name = ""
			}
			panel.Lines = append(panel.Lines, l)
		}
	}
	p.Rows = [][]string{{"virtual, hogwild", "accuracy at the end", "", "time: predicted, measured", "off by",
		"mean of i − k", "idle"}}
	header := []string{"data", "model", "delay", "seed"}
	for _, of := range comparedColumns {
		header = append(header, of[:]...)
	}
	table := [][]string{append(header, "off")}
	var off []float64
	for i, m := range virtual.all {
		var of [2][comparedCount][]float64 // by seed
		var here []float64
		for s := range f.seeds {
			row := []string{f.data().Name, spec.Model, m.spec.Delay, strconv.Itoa(s + 1)}
			pair := [2][comparedCount]float64{quantities(0, i, s), quantities(1, i, s)}
			for what := range comparedCount {
				for runner := range both {
					of[runner][what] = append(of[runner][what], pair[runner][what])
					row = append(row, report.Number(pair[runner][what]))
				}
			}
			by := pair[1][comparedTime]/pair[0][comparedTime] - 1
			if stored != nil {
				by = stored.off[i*f.seeds+s]
			}
			here = append(here, by)
			table = append(table, append(row, report.Number(by)))
		}
		row := []string{m.name}
		for what := range comparedCount {
			var texts []string
			for runner := range both {
				mean, sd := report.Spread(of[runner][what])
				texts = append(texts, comparedText(what, mean, sd, f.seeds))
				if what < len(panels) {
					addMean(&panels[what].Lines[runner], float64(i), of[runner][what], 0)
				}
			}
			switch what {
			case comparedAccuracy:
				row = append(row, texts...)
			case comparedTime:
				row = append(row, strings.Join(texts, ", "), report.Percent(median(here)))
			default:
				row = append(row, strings.Join(texts, ", "))
			}
		}
		p.Rows = append(p.Rows, row)
		for _, by := range here {
			off = append(off, math.Abs(by))
		}
	}
	config := runnersConfig{Virtual: virtual.config(), Hogwild: real.config(), MedianOff: median(off), LargestOff: slices.Max(off)}
	if stored != nil {
		config = *stored
		config.Virtual, config.Hogwild = virtual.config(), real.config()
	}
	accuracyAxis(&p)
	var err error
	if p.Caption, err = virtual.caption(ctx, f); err != nil {
		return nil, err
	}
	p.Caption += fmt.Sprintf("\nhogwild: a goroutine for each client, of the same seeds. %s That is drawn as on the "+
		"virtual clock, and really waited for. Time: until the last update is in. Over all delays and %s the virtual "+
		"clock is off by %s (median; at most %s). hogwild's results are of this one run: no other has the same.",
		timingText(spec), seedsText(f.seeds), report.Percent(config.MedianOff), report.Percent(config.LargestOff))
	return &content{picture: p, table: table, config: config}, nil
}

// comparedText formats the mean and the deviation of a quantity.
func comparedText(what int, mean, sd float64, seeds int) string {
	switch what {
	case comparedAccuracy:
		return report.SpreadText(mean, sd, seeds)
	case comparedTime:
		return fmt.Sprintf("%.3g s", mean)
	case comparedLag:
		return fmt.Sprintf("%.3g", mean)
	}
	return report.Share(mean)
}

// median returns the median of x, or 0 if x is empty.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(x))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
