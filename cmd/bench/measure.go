//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/internal/cpu"
	"proactivedp/internal/report"
	"proactivedp/plan"
)

// points is the number of sizes on a frontier.
const points = 25

// measureOracle measures settings for which public accountants have an answer.
func measureOracle(settings []setting, runs int) ([]figure, error) {
	bounds, times, err := account(settings, runs)
	if err != nil {
		return nil, err
	}
	of := fmt.Sprintf("ε of %d reference settings", len(settings))
	return []figure{
		{of, "median time", report.Median(times), 2, " ms", atMost, 0.3},
		{of, "90 % time", quantile(times, 0.9), 2, " ms", noTarget, 0},
		{of, "longest time", slices.Max(times), 2, " ms", atMost, 200},
		{of, "largest relative width", 100 * widest(bounds), 4, " %", atMost, 100 * pld.DefaultAccuracy},
	}, nil
}

// measureRandom measures settings drawn from the whole range.
func measureRandom(settings []setting, runs int) ([]figure, error) {
	bounds, times, err := account(settings, runs)
	if err != nil {
		return nil, err
	}
	narrow, zero, unsound := 0, 0, 0
	for _, b := range bounds {
		if width(b) <= asked(b) {
			narrow++
		}
		if b.EpsilonUpper == 0 {
			zero++
		}
		if !sound(b) {
			unsound++
		}
	}
	of := fmt.Sprintf("ε of %d random settings", len(settings))
	return []figure{
		{of, "as narrow as asked", 100 * float64(narrow) / float64(len(bounds)), 1, " %", atLeast, 99},
		{of, "largest relative width", 100 * widest(bounds), 2, " %", noTarget, 0},
		{of, "of no width, as ε is 0", float64(zero), 0, "", noTarget, 0},
		{of, "inverted, negative or not a number", float64(unsound), 0, "", atMost, 0},
		{of, "median time", report.Median(times), 2, " ms", atMost, 0.3},
		{of, "99 % time", quantile(times, 0.99), 1, " ms", noTarget, 0},
		{of, "longest time", slices.Max(times), 0, " ms", atMost, 1000},
	}, nil
}

// account returns the ε of each setting, and how many milliseconds it took.
func account(settings []setting, runs int) (bounds []dp.Bound, times []float64, err error) {
	bounds, times = make([]dp.Bound, len(settings)), make([]float64, len(settings))
	for i, s := range settings {
		times[i], err = timed(runs, func() (err error) {
			bounds[i], err = pld.Accountant{}.Epsilon(context.Background(), []dp.Event{s.event}, s.delta)
			return err
		})
		if err != nil {
			return nil, nil, fmt.Errorf("%+v: %w", s, err)
		}
	}
	return bounds, times, nil
}

// measureLooseness compares the closed form with the certified ε, for runs that the closed form just
// allows.
func measureLooseness(settings []setting) ([]figure, error) {
	var quotients []float64
	for _, s := range settings {
		events := []dp.Event{s.event}
		closed, err := closedform.Accountant{}.Epsilon(context.Background(), events, s.delta)
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", s, err)
		}
		certified, err := pld.Accountant{}.Epsilon(context.Background(), events, s.delta)
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", s, err)
		}
		quotients = append(quotients, closed.EpsilonUpper/certified.EpsilonUpper)
	}
	of := fmt.Sprintf("closed form over certified ε, %d random plans", len(settings))
	return []figure{
		{of, "smallest", slices.Min(quotients), 2, "", atLeast, 1},
		{of, "median", report.Median(quotients), 2, "", noTarget, 0},
		{of, "largest", slices.Max(quotients), 2, "", noTarget, 0},
	}, nil
}

// measureCalibration solves for σ as the program does.
func measureCalibration(targets []plan.Target, least map[plan.Target]float64, runs int) ([]figure, error) {
	var times, quotients []float64
	for _, target := range targets {
		var c *plan.Calibration
		ms, err := timed(runs, func() (err error) {
			c, err = plan.Calibrate(context.Background(), target, pld.Accountant{})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", target, err)
		}
		times, quotients = append(times, ms), append(quotients, c.Sigma/least[target])
	}
	of := fmt.Sprintf("σ for %d reference budgets", len(targets))
	return []figure{
		{of, "median time", report.Median(times), 1, " ms", atMost, 3},
		{of, "longest time", slices.Max(times), 1, " ms", atMost, 150},
		{of, "smallest σ over the least of public libraries", slices.Min(quotients), 5, "", noTarget, 0},
		{of, "largest σ over the least of public libraries", slices.Max(quotients), 5, "", atMost, 1.001},
	}, nil
}

// measurePlans measures plans, and compares each with what a tight accountant allows.
func measurePlans(requests []plan.Request, runs int) ([]figure, error) {
	var figures []figure
	for _, r := range requests {
		ms, err := timed(runs, func() error {
			p, err := plan.Solve(context.Background(), r)
			if err != nil {
				return err
			}
			if !p.Feasible {
				return errors.New(p.Reason)
			}
			if err := p.Tighten(context.Background(), pld.Accountant{}); err != nil {
				return err
			}
			_, err = p.Frontier(context.Background(), pld.Accountant{}, points)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", r, err)
		}
		of := fmt.Sprintf("plan for N = %d, k = %v, σ = %v", r.N, r.Epochs, r.Sigma)
		figures = append(figures, figure{of, fmt.Sprintf("time with tight comparison and frontier of %d sizes", points),
			ms, 0, " ms", atMost, 50})
	}
	return figures, nil
}

// measureMixed measures the ε of different rounds together.
func measureMixed(events []dp.Event, runs int, most float64) ([]figure, error) {
	var b dp.Bound
	ms, err := timed(runs, func() (err error) {
		b, err = pld.Accountant{}.Epsilon(context.Background(), events, mixedDelta)
		return err
	})
	of := fmt.Sprintf("ε of %s different rounds", thousands(float64(len(events))))
	return []figure{
		{of, "time", ms, 0, " ms", atMost, most},
		{of, "relative width", 100 * width(b), 3, " %", atMost, 100 * pld.DefaultAccuracy},
	}, err
}

// quantile returns the smallest element of x that at least a fraction p in (0, 1] of x does not
// exceed. x must not be empty.
func quantile(x []float64, p float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[int(math.Ceil(p*float64(len(x))))-1]
}

// timed returns the median processor time of f over the runs, in milliseconds. Other programs hardly change it.
func timed(runs int, f func() error) (ms float64, err error) {
	times := make([]float64, runs)
	for i := range times {
		start := cpu.Used()
		if err := f(); err != nil {
			return 0, err
		}
		times[i] = (cpu.Used() - start).Seconds() * 1e3
	}
	return report.Median(times), nil
}
