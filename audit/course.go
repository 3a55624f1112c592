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

// Course describes a training that chooses its rounds, and when to stop, from its earlier results, as package auto
// does. To audit one, write a Course and put it into Options.Courses. The audit tests it as a whole, against the
// guarantee for everything that it may release. Options.Fault plants no fault in it.
type Course struct {
	Name, About string
	Guarantee   dp.Bound // claimed upper bound on the ε of a record, for everything that a run may release
	// Share reduces the number of trainings of a slow course: the audit makes Options.Runs/Share trainings with the
	// canary (the record in question) and as many without it, but at least MinRuns of each.
	Share int
	// Run makes one training with or without the canary (the record in question). All its randomness must come from
	// the seed. It returns a number that an adversary can compute from everything that was released, by which the
	// adversary guesses whether the canary was there. It should tend to be larger with the canary. Several goroutines
	// may call Run at the same time.
	Run func(ctx context.Context, canary bool, seed uint64) (float64, error)
}

// Audit audits the course c by itself, without the other tests of [Run], and returns lower bounds on its ε. It runs the
// course the given number of times, in [MinRuns, MaxRuns], with the canary (the record in question), and as often
// without it. It then compares the numbers that c.Run returned. It uses only Seed and Workers of the options. Each
// bound is wrong with a probability of at most level, in (0, 0.5]. If c.Run returns NaN, Audit returns an error.
// Infinite numbers are allowed: +Inf counts as larger, and -Inf as smaller, than all other numbers.
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
					err = errors.New("the statistic is not a number")
				}
				// Likelihood ratios may be infinite, but JSON has no infinite numbers.
				of[i] = min(math.MaxFloat64, max(-math.MaxFloat64, of[i]))
				return err
			})
		}
		if err := workers.Wait(); err != nil {
			return found, fmt.Errorf("course %s: %w", c.Name, err)
		}
	}
	found.Tests = directions("likelihood-ratio", values[true], values[false], g.Delta, level)
	found.conclude(2*runs, time.Since(start))
	return found, nil
}

// check reports everything that prevents an audit of the course.
func (c Course) check(o *Options, runs int, level float64) error {
	var errs []error
	if c.Run == nil {
		errs = append(errs, errors.New("the course has no Run"))
	}
	g := c.Guarantee
	if !(g.EpsilonUpper >= 0 && g.EpsilonUpper <= math.MaxFloat64) || !(g.Delta >= 0 && g.Delta < 1) {
		errs = append(errs, fmt.Errorf("guarantee of a course: epsilon = %v at delta = %v, must be finite and "+
			"not negative, delta in [0, 1)", g.EpsilonUpper, g.Delta))
	}
	if o == nil {
		errs = append(errs, errors.New("options are missing"))
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
