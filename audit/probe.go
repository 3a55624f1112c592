package audit

import (
	"context"
	"time"

	"github.com/sourcegraph/conc/pool"

	"proactivedp/dp"
)

// probe is a setting that is run many times with the canary, record 0 of the
// data, and many times without, with the statistics that tell the two apart.
type probe struct {
	name, about string
	setting
	statistics []statistic
	share      int // the probe makes Options.Runs/share runs
}

// run makes the runs of a probe and tests its statistics.
func (p probe) run(ctx context.Context, o *Options, level float64) (Finding, error) {
	start := time.Now()
	runs := max(MinRuns, o.Runs/p.share)
	found := newFinding(p.name, p.about, p.setting)
	nothing, canary := make([]bool, p.data.Len()), make([]bool, p.data.Len())
	canary[0] = true
	with, ledgers, err := p.values(ctx, "with", nothing, runs, o)
	if err != nil {
		return found, err
	}
	without, _, err := p.values(ctx, "without", canary, runs, o)
	if err != nil {
		return found, err
	}
	if err := found.claim(ctx, ledgers, p.partition, o.Delta); err != nil {
		return found, err
	}
	for i, s := range p.statistics {
		found.Tests = append(found.Tests, directions(s.name, with[i], without[i], o.Delta, level)...)
	}
	for _, t := range found.Tests {
		found.EpsilonLowerBound = max(found.EpsilonLowerBound, t.EpsilonLowerBound)
	}
	found.conclude(2*runs, time.Since(start))
	return found, nil
}

// chunk is how many runs a worker takes at a time.
const chunk = 200

// values returns every statistic of every run in one world, and the ledgers of
// the first run.
func (p probe) values(ctx context.Context, name string, absent []bool, runs int, o *Options) ([][]float64, []dp.Ledger,
	error) {
	values := make([][]float64, len(p.statistics))
	for i := range values {
		values[i] = make([]float64, runs)
	}
	l, err := newLens(p.setting)
	if err != nil {
		return nil, nil, err
	}
	var ledgers []dp.Ledger
	workers := pool.New().WithContext(ctx).WithMaxGoroutines(o.Workers).WithCancelOnError().WithFirstError()
	for first := 0; first < runs; first += chunk {
		workers.Go(func(ctx context.Context) error {
			v := newView(l, p.setting)
			w := newWorld(p.name, name, p.setting, absent, o, v.see)
			for i := first; i < min(first+chunk, runs); i++ {
				result, err := w.run(ctx, i)
				if err != nil {
					return err
				}
				if i == 0 {
					ledgers = result.Ledgers
				}
				for j, s := range p.statistics {
					values[j][i] = s.of(p.setting, v)
				}
			}
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		return nil, nil, err
	}
	return values, ledgers, nil
}
