package audit

import (
	"context"
	"time"

	"github.com/sourcegraph/conc/pool"

	"proactivedp/dp"
	"proactivedp/sim"
)

// probe is a setting that is run many times with the canary, which is record 0 of the data, and many
// times without it.
type probe struct {
	name, about string
	setting
	also  []statistic // in addition to the likelihood ratio
	share int         // the probe makes Options.Runs/share runs, but at least
	least int         // this many; 0 means MinRuns
}

// statistics returns the statistics that distinguish the runs with the canary from those without.
func (p probe) statistics() []statistic { return append([]statistic{likelihood}, p.also...) }

// run makes the runs of a probe, tests its statistics, and checks how far the canary moves releases.
func (p probe) run(ctx context.Context, o *Options, level float64) (Finding, Check, error) {
	start := time.Now()
	runs := max(p.least, o.Runs/p.share)
	if p.least == 0 {
		runs = max(MinRuns, runs)
	}
	found := newFinding(p.name, p.about, p.setting)
	nothing, canary := make([]bool, p.data.Len()), make([]bool, p.data.Len())
	other, absent := p.setting, canary
	for i := range p.canaries() {
		canary[i] = true
	}
	if p.neighbour != nil {
		other.data, absent = p.neighbour, nothing
	}
	with, err := p.watched(ctx, "with", p.setting, nothing, runs, o)
	if err != nil {
		return found, Check{}, err
	}
	without, err := p.watched(ctx, "without", other, absent, runs, o)
	if err != nil {
		return found, Check{}, err
	}
	if err := found.claim(ctx, with, o.Delta); err != nil {
		return found, Check{}, err
	}
	for i, s := range p.statistics() {
		found.Tests = append(found.Tests, directions(s.name, with.values[i], without.values[i], o.Delta, level)...)
	}
	found.conclude(2*runs, time.Since(start))
	return found, push(p.name, with, without), nil
}

// chunk is the number of runs that a worker takes at a time.
const chunk = 200

// outcome has what the adversary saw in all runs of one world: all with the canary, or all without
// it.
type outcome struct {
	values  [][]float64 // by statistic, then by run
	cfg     sim.Config  // configuration of the runs
	ledgers []dp.Ledger // of the first run
	along   moments     // components of releases in the canary's direction, for clients that hold the canary
	rate    moments     // of the sample rates of these releases
}

// watched runs the trainings of one world, with or without the canary. In both worlds, the releases
// are read along the direction of the probe's canary.
func (p probe) watched(
	ctx context.Context, name string, s setting, absent []bool, runs int, o *Options,
) (*outcome, error) {
	l, err := newLens(p.setting)
	if err != nil {
		return nil, err
	}
	out := &outcome{values: make([][]float64, len(p.statistics()))}
	for i := range out.values {
		out.values[i] = make([]float64, runs)
	}
	parts := make([]outcome, (runs+chunk-1)/chunk)
	workers := pool.New().WithContext(ctx).WithMaxGoroutines(o.Workers).WithCancelOnError().WithFirstError()
	for at := range parts {
		workers.Go(func(ctx context.Context) error {
			part := &parts[at]
			v := newView(l, s)
			w := newWorld(p.name, name, s, absent, o, v.see)
			for i := at * chunk; i < min((at+1)*chunk, runs); i++ {
				result, err := w.run(ctx, i)
				if err != nil {
					return err
				}
				if i == 0 {
					out.ledgers, out.cfg = result.Ledgers, w.cfg
				}
				for j, of := range p.statistics() {
					out.values[j][i] = of.of(s, v)
				}
				for j := range s.holders() * s.rounds {
					part.along.add(v.along[j])
					part.rate.add(v.rate[j])
				}
			}
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	for i := range parts {
		out.along.merge(parts[i].along)
		out.rate.merge(parts[i].rate)
	}
	return out, nil
}
