package experiments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/sim"
	"proactivedp/train/pool"
)

// storedLags returns the lags of a run of stalenessTable.
func storedLags(t results.Table) (r pool.Timed, err error) {
	var lags, rounds []float64
	err = t.Columns(map[string]*[]float64{"lag": &lags, "rounds": &rounds})
	for i, lag := range whole(lags) {
		if lag != i {
			return r, fmt.Errorf("%s has the lag %d in row %d of a run, must be %d", results.TableFile, lag, i+1, i)
		}
	}
	r.Staleness = whole(rounds)
	return r, err
}

// storedWaits returns the times of a run of idleTable.
func storedWaits(t results.Table) (r pool.Timed, err error) {
	var busy, done []float64
	err = t.Columns(map[string]*[]float64{"busy_virtual_seconds": &busy, "last_round_ends_virtual_seconds": &done})
	r.Busy, r.Done = clockTimes(busy), clockTimes(done)
	return r, err
}

// clockTimes returns times that a table has in seconds.
func clockTimes(seconds []float64) (all []sim.Time) {
	for _, s := range seconds {
		all = append(all, sim.Time(math.Round(1e9*s)))
	}
	return all
}

// storedComparisons reads the comparisons of a figure from its folder. parts has the series of each comparison. read
// returns what the figure's data have of a run. If it is nil, they have accuracies. Other numbers are those of the
// manifest.
func storedComparisons(
	f *figureConfig, k *storedFigure, parts [][]series, read func(results.Table) (pool.Timed, error),
) ([]*comparison, error) {
	text := k.config
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) { // a figure of one comparison has no list
		text = fmt.Appendf(nil, "[%s]", text)
	}
	var configs []comparisonConfig
	if err := json.Unmarshal(text, &configs); err != nil {
		return nil, fmt.Errorf("%s: config: %w", results.ManifestFile, err)
	}
	if len(configs) != len(parts) {
		return nil, fmt.Errorf("%s has %d comparisons, must have %d", results.ManifestFile, len(configs), len(parts))
	}
	n := 0
	for _, all := range parts {
		n += len(all) * k.Seeds
	}
	split := k.table.Runs
	if read != nil {
		split = k.table.Split
	}
	runs, err := split(n, "sigma", "series", "seed")
	if err != nil {
		return nil, err
	}
	var out []*comparison
	for i, all := range parts {
		c, err := storedComparison(f, &configs[i], all, runs[:len(all)*k.Seeds], read)
		if err != nil {
			return nil, err
		}
		runs = runs[len(all)*k.Seeds:]
		out = append(out, c)
	}
	return out, nil
}

// storedComparison returns the comparison of series that a manifest and the runs of a table describe.
func storedComparison(f *figureConfig, config *comparisonConfig, all []series, tables []results.Table,
	read func(results.Table) (pool.Timed, error),
) (*comparison, error) {
	if len(config.Summaries) != len(all) {
		return nil, fmt.Errorf("%s has %d summaries of delays, must have %d", results.ManifestFile, len(config.Summaries), len(all))
	}
	p, err := f.source.Prepare(all[0].spec)
	if err != nil {
		return nil, err
	}
	c := &comparison{all: all, tolerance: config.Tolerance, stored: config}
	seeds := len(tables) / len(all)
	names := clockColumns(all[0].spec, []string{"virtual_seconds", "test_accuracy"})
	for i, s := range config.Summaries {
		if s.Diverged > 0 {
			return nil, fmt.Errorf("%w: runs of %s diverged", ErrNotRedrawn, s.Name)
		}
		if read != nil {
			var runs []pool.Timed
			for _, t := range tables[i*seeds : (i+1)*seeds] {
				r, err := read(t)
				if err != nil {
					return nil, err
				}
				r.TestRows = p.Test.Len()
				runs = append(runs, r)
			}
			c.runs = append(c.runs, runs)
			continue
		}
		var runs []pool.Timed
		var ends []float64
		for _, t := range tables[i*seeds : (i+1)*seeds] {
			var at, accuracy []float64
			if err := t.Columns(map[string]*[]float64{names[0]: &at, names[1]: &accuracy}); err != nil {
				return nil, err
			}
			r := pool.Timed{TestRows: p.Test.Len(), Accuracy: accuracy, At: clockTimes(at)}
			r.Clock = r.At[len(r.At)-1]
			runs, ends = append(runs, r), append(ends, clockSeconds(r.Clock))
			c.kept = append(c.kept, t.Rows...)
		}
		accuracy, _ := report.Spread(finals(runs))
		end, _ := report.Spread(ends)
		if math.Abs(accuracy-s.Accuracy) > 1e-5 || end > s.Seconds+1e-8 || end < 0.9*s.Seconds {
			return nil, fmt.Errorf("%s has the accuracy %.6g after %.9g s for %s, not %.6g after %.9g s as in %s", results.TableFile,
				accuracy, end, s.Name, s.Accuracy, s.Seconds, results.ManifestFile)
		}
		for j := range runs { // a run ends with the last broadcast, shortly after the last look at the model
			runs[j].Clock += sim.Time(math.Round(1e9 * (s.Seconds - end)))
		}
		c.runs = append(c.runs, runs)
	}
	if read != nil {
		c.goal = slices.Repeat([]float64{config.Summaries[0].Accuracy - c.tolerance}, seeds) // the mean is enough for a picture
		return c, nil
	}
	for _, accuracy := range finals(c.runs[0]) {
		c.goal = append(c.goal, accuracy-c.tolerance)
	}
	return c, nil
}
