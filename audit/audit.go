package audit

import (
	"context"
	"fmt"
	"time"
)

// Run makes the audit that the options describe. It fails if a training does, or
// if the context is cancelled.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	battery, err := probes()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	tests := 1 // the one-run probe is a single test
	for _, p := range battery {
		tests += 2 * len(p.statistics)
	}
	// By the union bound all tests together are wrong with a probability of at
	// most 1 - confidence.
	level := (1 - o.Confidence) / float64(tests)
	var all []Finding
	for _, p := range battery {
		found, err := p.run(ctx, &o, level)
		if err != nil {
			return nil, fmt.Errorf("audit: probe %s: %w", p.name, err)
		}
		all = append(all, found)
	}
	found, err := oneRun(ctx, &o, level)
	if err != nil {
		return nil, fmt.Errorf("audit: probe %s: %w", found.Probe, err)
	}
	return newReport(o, tests, append(all, found), time.Since(start)), nil
}
