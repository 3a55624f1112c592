package train

import (
	"errors"
	"fmt"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/rng"
	"proactivedp/sim"
)

// Leg is what a leg of a training in several has of its own, beside its spec: the
// model to begin with, and who takes part. The other clients of the spec only
// receive.
type Leg struct {
	Initial []float32 // the global model that the leg before ended with; nil: the default one
	Parts   []Part    // at least one, in increasing order of clients
	// Root draws the samples, noise and dropout of those that take part; nil: that of the
	// spec's seed. Split, deal, default model and virtual clock are the seed's in any case.
	Root *rng.Root
}

// Part is a client's part in a leg. Its noise multiplier, and its release, are its own.
type Part struct {
	Client          int     `json:"client"`            // its number among the spec's clients, from 0
	Records         int     `json:"records,omitempty"` // N_c: it uses the first so many of its records; 0: all
	NoiseMultiplier float64 `json:"sigma"`
	// Run is the number of the release among those of the seed. No two parts of any legs
	// may have one number: they would share their noise.
	Run uint64 `json:"run"`
}

// legID is what a checkpoint says of a leg.
type legID struct {
	Parts   []Part `json:"parts"`
	Initial string `json:"initial_sha256,omitempty"` // absent: the default global model
	Root    string `json:"root,omitempty"`           // its public name; absent: that of the seed
}

// PrepareLeg is Prepare for a leg: with the spec's seed, sizes, clipping norm and step
// sizes, and of the spec's clients those that take part. The spec's noise multiplier and
// run are not used and must be 0, so that no report can state them. All that is wrong
// is reported together.
func (s *Source) PrepareLeg(spec Spec, leg Leg) (*Prepared, error) {
	if err := s.made(); err != nil {
		return nil, err
	}
	if err := errors.Join(leg.check(spec)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	p, err := s.configure(spec, rng.New(spec.Seed))
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	all, config := p.Config.Rows, p.Config
	config.Rows, config.Initial = nil, leg.Initial
	roots := sim.Roots{Run: config.Roots.Run}
	var errs []error
	for _, part := range leg.Parts {
		rows := all[part.Client]
		if part.Records > rows.Len() {
			errs = append(errs, fmt.Errorf("train: client %d: records = %d, must be at most the %d that it holds",
				part.Client, part.Records, rows.Len()))
			continue
		}
		if part.Records > 0 {
			rows = data.Subset{Data: rows.Data, Rows: rows.Rows[:part.Records:part.Records]}
		}
		own := config.Mechanism
		own.NoiseMultiplier, own.DatasetSize = part.NoiseMultiplier, rows.Len()
		config.Rows, config.Own = append(config.Rows, rows), append(config.Own, own)
		root := config.Roots.Clients[part.Client]
		if leg.Root != nil {
			root = leg.Root
		}
		roots.Clients = append(roots.Clients, root.ForRun(part.Run))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	config.Roots = roots
	p.leg = &legID{Parts: leg.Parts}
	if leg.Root != nil {
		p.leg.Root = leg.Root.Name().Root
	}
	if leg.Initial != nil {
		p.leg.Initial = (&sim.Result{Params: leg.Initial}).ParamsSHA256()
	}
	if err := p.finish(config.Rows[0].Len()); err != nil {
		return nil, err
	}
	return p, nil
}

// check reports what is wrong with who takes part.
func (l Leg) check(spec Spec) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("train: leg: "+format, args...)) }
	if l.Root != nil {
		if err := l.Root.Check(); err != nil {
			fail("%w", err)
		}
	}
	if len(l.Parts) == 0 {
		fail("nobody takes part, at least one client must")
	}
	if spec.TargetEpsilon != 0 {
		fail("target epsilon = %v of the spec, must be 0", spec.TargetEpsilon)
	}
	if spec.NoiseMultiplier != 0 || spec.Run != 0 || spec.SeedFromOS {
		fail("sigma = %v, run = %d and a seed from the system = %v of the spec, must be 0, 0 and false: each part has "+
			"its own", spec.NoiseMultiplier, spec.Run, spec.SeedFromOS)
	}
	runs := map[uint64]bool{}
	for i, part := range l.Parts {
		if part.Client < 0 || part.Client >= spec.Clients || i > 0 && part.Client <= l.Parts[i-1].Client {
			fail("client = %d at place %d, must increase and be in [0, %d]", part.Client, i, spec.Clients-1)
		}
		if part.Records < 0 {
			fail("client %d: records = %d, must be at least 0", part.Client, part.Records)
		}
		if runs[part.Run] {
			fail("client %d: run = %d is another part's: %w", part.Client, part.Run, dp.ErrSharedNoise)
		}
		runs[part.Run] = true
	}
	return errors.Join(errs...)
}
