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
	parts := func(f *figureConfig) [][]series {
		spec := l.with
		spec.GradComps = f.gradComps(scaled(l.paper.GradComps, l.realPart))
		virtual := delaySeries(spec, timedDelays)
		spec.Runner, spec.TimeScale = train.HogwildRunner, l.realScale
		return [][]series{virtual, delaySeries(spec, timedDelays)}
	}
	fig := l.comparisonFigure("-runners", "Both runners: what the virtual clock predicts for a real one", parts, nil, drawRunners)
	fig.Long, fig.Fixed = true, true
	fig.redraw = func(ctx context.Context, f *figureConfig, k *storedFigure) (*content, error) {
		var config runnersConfig
		if err := json.Unmarshal(k.config, &config); err != nil {
			return nil, fmt.Errorf("%s: config: %w", results.ManifestFile, err)
		}
		var of comparedRuns
		if err := k.table.Columns(of.columns()); err != nil {
			return nil, err
		}
		all := parts(f)
		p, err := f.source.Prepare(all[0][0].spec)
		if err != nil {
			return nil, err
		}
		n := len(timedDelays)
		if len(k.table.Rows) != n*k.Seeds {
			return nil, fmt.Errorf("%s has %d rows, must have %d by the manifest's settings", results.TableFile,
				len(k.table.Rows), n*k.Seeds)
		}
		runs := slices.Repeat([][]pool.Timed{slices.Repeat([]pool.Timed{{TestRows: p.Test.Len()}}, k.Seeds)}, n)
		var both []*comparison
		for i, stored := range []*comparisonConfig{&config.Virtual, &config.Hogwild} {
			both = append(both, &comparison{all: all[i], runs: runs, stored: stored, tolerance: stored.Tolerance})
		}
		return runnersContent(ctx, f, both, of, config)
	}
	return fig
}

// comparedColumns are the columns of the compared quantities in the data, for the virtual runner and for hogwild.
var comparedColumns = [comparedCount][2]string{{"virtual_test_accuracy", "hogwild_test_accuracy"},
	{"foretold_seconds", "measured_seconds"}, {"virtual_mean_lag", "hogwild_mean_lag"}, {"virtual_idle", "hogwild_idle"}}

// The quantities that are compared: final accuracy, time, staleness and idle time.
const (
	comparedAccuracy = iota
	comparedTime
	comparedLag
	comparedIdle
	comparedCount
)

// comparedRuns has the compared quantities of all runs, and the relative difference between the time on the real clock
// and its prediction, by delay and then by seed.
type comparedRuns struct {
	of  [2][comparedCount][]float64 // by runner
	off []float64
}

// columns returns the columns of the data that have the quantities.
func (r *comparedRuns) columns() map[string]*[]float64 {
	columns := map[string]*[]float64{"off": &r.off}
	for what, names := range comparedColumns {
		for runner, name := range names {
			columns[name] = &r.of[runner][what]
		}
	}
	return columns
}

// compared returns the compared quantities of the runs of both runners.
func compared(both []*comparison) (r comparedRuns) {
	for runner, c := range both {
		for _, runs := range c.runs {
			for _, t := range runs {
				lag, _ := t.Lag()
				end := clockSeconds(t.At[len(t.At)-1]) // the last update was applied then
				for what, value := range [comparedCount]float64{t.Accuracy[len(t.Accuracy)-1], end, lag, t.Idle()} {
					r.of[runner][what] = append(r.of[runner][what], value)
				}
			}
		}
	}
	for i, real := range r.of[1][comparedTime] {
		r.off = append(r.off, real/r.of[0][comparedTime][i]-1)
	}
	return r
}

// runnersConfig is the manifest's description of both runners.
type runnersConfig struct {
	Virtual comparisonConfig `json:"virtual"`
	Hogwild comparisonConfig `json:"hogwild"`
	// The relative difference between the time of a run and its prediction, over all delays and seeds.
	MedianOff  float64 `json:"median_off"`
	LargestOff float64 `json:"largest_off"`
}

func drawRunners(ctx context.Context, f *figureConfig, both []*comparison) (*content, error) {
	of := compared(both)
	var off []float64
	for _, by := range of.off {
		off = append(off, math.Abs(by))
	}
	return runnersContent(ctx, f, both, of, runnersConfig{MedianOff: report.Median(off), LargestOff: slices.Max(off)})
}

// runnersContent draws accuracy, time and staleness against the delays, for the virtual runner and for
// hogwild on a real clock. config has the differences of their times, for which the data have too few digits.
func runnersContent(ctx context.Context, f *figureConfig, both []*comparison, all comparedRuns, config runnersConfig) (*content, error) {
	virtual, real := both[0], both[1]
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
	for i, m := range virtual.all {
		from, to := i*f.seeds, (i+1)*f.seeds
		for run := from; run < to; run++ {
			row := []string{f.data().Name, spec.Model, m.spec.Delay, strconv.Itoa(run - from + 1)}
			for what := range comparedCount {
				for runner := range both {
					row = append(row, report.Number(all.of[runner][what][run]))
				}
			}
			table = append(table, append(row, report.Number(all.off[run])))
		}
		row := []string{m.name}
		for what := range comparedCount {
			var texts []string
			for runner := range both {
				values := all.of[runner][what][from:to]
				mean, sd := report.Spread(values)
				texts = append(texts, comparedText(what, mean, sd, f.seeds))
				if what < len(panels) {
					addMean(&panels[what].Lines[runner], float64(i), values, 0)
				}
			}
			switch what {
			case comparedAccuracy:
				row = append(row, texts...)
			case comparedTime:
				row = append(row, strings.Join(texts, ", "), report.Percent(report.Median(all.off[from:to])))
			default:
				row = append(row, strings.Join(texts, ", "))
			}
		}
		p.Rows = append(p.Rows, row)
	}
	config.Virtual, config.Hogwild = virtual.config(), real.config()
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
