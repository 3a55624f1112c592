package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sourcegraph/conc/pool"

	"proactivedp/dp"
)

// Course is a training that chooses its rounds, and when to stop, by what it has released,
// such as a loop of stages within a filter. It is audited whole, by what is guaranteed of
// all that it may release. Courses are of others' making: a fault is not planted in them.
type Course struct {
	Name, About string
	Guarantee   dp.Bound // per record, an upper bound of ε at its δ
	Share       int      // Options.Runs/Share courses are run in each world, at least MinRuns
	// Run makes one course, with the canary or without it, with randomness of the seed
	// alone, and returns the adversary's statistic of all that was released. It may be
	// called by several goroutines.
	Run func(ctx context.Context, canary bool, seed uint64) (float64, error)
}

// run audits the course with its share of the runs.
func (c Course) run(ctx context.Context, o *Options, level float64) (Finding, error) {
	return c.Audit(ctx, o, max(MinRuns, o.Runs/max(1, c.Share)), level)
}

// Audit makes so many runs of the course in each world, with seed and workers of the
// options, and tests the statistic in both directions: each bound is wrong with a
// probability of at most level, in (0, 0.5]. There are from MinRuns to MaxRuns of them; a
// statistic that is no number is an error, as it would show nothing, and an infinite one is
// the largest of all or the least.
func (c Course) Audit(ctx context.Context, o *Options, runs int, level float64) (Finding, error) {
	if err := c.check(o, runs, level); err != nil {
		return Finding{}, err
	}
	start := time.Now()
	g := c.Guarantee
	found := Finding{Probe: c.Name, About: c.About, EpsilonUpper: g.EpsilonUpper, Delta: g.Delta, Kind: g.Kind,
		Accountant: g.Accountant, Adjacency: g.Adjacency, Sampling: g.Sampling}
	values := map[bool][]float64{}
	for _, canary := range []bool{true, false} {
		of := make([]float64, runs)
		values[canary] = of
		w := world{probe: c.Name, name: fmt.Sprint("canary ", canary), o: o}
		workers := pool.New().WithContext(ctx).WithMaxGoroutines(o.Workers).WithCancelOnError().WithFirstError()
		for i := range of {
			workers.Go(func(ctx context.Context) (err error) {
				if of[i], err = c.Run(ctx, canary, w.seed(i)); err == nil && math.IsNaN(of[i]) {
					err = errors.New("the statistic is no number")
				}
				// Likelihood ratios may be infinite, and thresholds are written as JSON.
				of[i] = min(math.MaxFloat64, max(-math.MaxFloat64, of[i]))
				return err
			})
		}
		if err := workers.Wait(); err != nil {
			return found, fmt.Errorf("course %s: %w", c.Name, err)
		}
	}
	found.Tests = directions("likelihood-ratio", values[true], values[false], g.Delta, level)
	for _, t := range found.Tests {
		found.EpsilonLowerBound = max(found.EpsilonLowerBound, t.EpsilonLowerBound)
	}
	found.conclude(2*runs, time.Since(start))
	return found, nil
}

// check reports all that keeps the course from being audited.
func (c Course) check(o *Options, runs int, level float64) error {
	var errs []error
	if c.Run == nil {
		errs = append(errs, errors.New("the course has no run"))
	}
	g := c.Guarantee
	if !(g.EpsilonUpper >= 0 && g.EpsilonUpper <= math.MaxFloat64) || !(g.Delta >= 0 && g.Delta < 1) {
		errs = append(errs, fmt.Errorf("guarantee of a course: epsilon = %v at delta = %v, must be finite and "+
			"not negative, delta in [0, 1)", g.EpsilonUpper, g.Delta))
	}
	if o == nil {
		errs = append(errs, errors.New("there are no options"))
	} else if o.Workers < 1 {
		errs = append(errs, fmt.Errorf("workers = %d, must be at least 1", o.Workers))
	}
	if runs < MinRuns || runs > MaxRuns {
		errs = append(errs, fmt.Errorf("runs = %d of a course, must be in [%d, %d]", runs, MinRuns, MaxRuns))
	}
	if !(level > 0 && level <= 0.5) {
		errs = append(errs, fmt.Errorf("level = %v of a course, must be in (0, 0.5]", level))
	}
	return errors.Join(errs...)
}
