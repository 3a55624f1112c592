package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"proactivedp/internal/report"
	"proactivedp/internal/strictjson"
	"proactivedp/internal/version"
)

// PartKind is the value of the key "kind" in the JSON of each part of an audit that an [Elsewhere] (your code) sends to
// other processes. If a process gets several kinds of work, it should pass to [Do] the work that has this kind.
const PartKind = "audit"

// Elsewhere is an interface for spreading an audit over processes. You implement it, and set Options.Elsewhere. The
// audit calls Compute with its parts. Compute sends each part to a process that calls [Do], and calls done with the
// index of the part in parts and the result of Do. It must call done once for each part, in any order, but not
// concurrently.
type Elsewhere interface {
	Compute(ctx context.Context, parts []json.RawMessage, done func(part int, result json.RawMessage) error) error
}

// The parts of an audit. The name of a watch, a probe or a course follows after a slash.
const (
	watchPart  = "watch/"
	probePart  = "probe/"
	coursePart = "course/"
	onePart    = "one-run"
	alarmPart  = "alarm" // a whole audit until its first alarm
)

// part is a part of an audit. It contains everything that the result depends on.
type part struct {
	Kind       string   `json:"kind"`
	Program    string   `json:"program"` // see version.Info.Source
	Part       string   `json:"part"`
	Fault      Fault    `json:"fault"`
	FaultSize  float64  `json:"fault_size"`
	Runner     Runner   `json:"runner"`
	Seed       uint64   `json:"seed"`
	Runs       int      `json:"runs"`
	Delta      float64  `json:"delta"`
	Confidence float64  `json:"confidence"`
	Courses    []string `json:"courses"`
	Exact      bool     `json:"exact,omitempty"`
}

type made struct {
	Checks   []Check  `json:"checks,omitempty"`
	Finding  *Finding `json:"finding,omitempty"`
	By       string   `json:"by,omitempty"` // for alarmPart: what raised the alarm
	Replayed bool     `json:"replayed,omitempty"`
}

func (o *Options) describe(name string) part {
	p := part{Kind: PartKind, Program: version.Get().Source(), Part: name, Fault: o.Fault, FaultSize: o.FaultSize,
		Runner: o.Runner, Seed: o.Seed, Runs: o.Runs, Delta: o.Delta, Confidence: o.Confidence,
		Exact: o.Exact}
	for _, c := range o.Courses {
		p.Courses = append(p.Courses, c.Name)
	}
	return p
}

// Do computes one part of an audit, in a process that helps the one in which [Run] or [Alarms] was called. That process
// has an [Elsewhere] (your code), which sends parts to the helping processes. Call Do with each part that arrives, in
// text, and send the result back to the Elsewhere. courses must have every [Course] of the audit's Options.Courses
// again, because a part is JSON, which has only the name of a Course and not its function Run. It may also have others.
// workers is the number of trainings at the same time, at least 1. Do refuses a part from another build of the program,
// because its result might differ.
func Do(ctx context.Context, text json.RawMessage, courses []Course, workers int) (json.RawMessage, error) {
	var p part
	if err := strictjson.DecodeWhole(text, &p, len(text)); err != nil {
		return nil, fmt.Errorf("part: %w", err)
	}
	if own := version.Get().Source(); p.Kind != PartKind || p.Program != own {
		return nil, fmt.Errorf("part of kind %q and program %q, must be %q and %q", p.Kind, p.Program, PartKind,
			own)
	}
	o := Options{Fault: p.Fault, FaultSize: p.FaultSize, Runner: p.Runner, Seed: p.Seed, Runs: p.Runs, Delta: p.Delta,
		Confidence: p.Confidence, Exact: p.Exact, Workers: workers}
	for _, name := range p.Courses {
		i := slices.IndexFunc(courses, func(c Course) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("part of an audit with the course %q, which is unknown here", name)
		}
		o.Courses = append(o.Courses, courses[i])
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	a, err := newAudit(&o)
	if err != nil {
		return nil, err
	}
	m, err := a.make(ctx, p.Part)
	if err != nil {
		return nil, err
	}
	result, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("part %s: %w", p.Part, err)
	}
	return result, nil
}

// parts returns the names of the parts of the audit, in the order of its report.
func (a *audit) parts() []string {
	var names []string
	for _, w := range a.watches {
		names = append(names, watchPart+w.name)
	}
	for _, p := range a.probes {
		names = append(names, probePart+p.name)
	}
	if a.o.Fault == NoFault {
		for _, c := range a.o.Courses {
			names = append(names, coursePart+c.Name)
		}
	}
	return append(names, onePart)
}

func (a *audit) make(ctx context.Context, name string) (m made, err error) {
	var found Finding
	if rest, ok := strings.CutPrefix(name, watchPart); ok {
		for _, w := range a.watches {
			if w.name == rest {
				m.Checks, err = a.watch(ctx, w)
				return m, err
			}
		}
	}
	if rest, ok := strings.CutPrefix(name, probePart); ok {
		for _, p := range a.probes {
			if p.name == rest {
				var check Check
				found, check, err = a.probe(ctx, p)
				return made{Finding: &found, Checks: []Check{check}}, err
			}
		}
	}
	if rest, ok := strings.CutPrefix(name, coursePart); ok {
		for _, c := range a.o.Courses {
			if c.Name == rest {
				found, err = c.Audit(ctx, a.o, max(MinRuns, a.o.Runs/max(1, c.Share)), a.level)
				return made{Finding: &found}, err
			}
		}
	}
	switch name {
	case onePart:
		found, err = a.oneRun(ctx)
		return made{Finding: &found}, err
	case alarmPart:
		m.By, m.Replayed, err = a.alarm(ctx)
		return m, err
	}
	return m, fmt.Errorf("no part %q", name)
}

// away computes the parts in other processes, by e.
func away(ctx context.Context, e Elsewhere, parts []part) ([]made, error) {
	texts := make([]json.RawMessage, len(parts))
	for i, p := range parts {
		var err error
		if texts[i], err = json.Marshal(p); err != nil {
			return nil, fmt.Errorf("part %s: %w", p.Part, err)
		}
	}
	all := make([]made, len(parts))
	err := e.Compute(ctx, texts, func(i int, result json.RawMessage) error {
		if err := strictjson.DecodeWhole(result, &all[i], len(result)); err != nil {
			return fmt.Errorf("result of %s: %w", parts[i].Part, err)
		}
		name := parts[i].Part
		if watched := strings.HasPrefix(name, watchPart); name != alarmPart &&
			(all[i].Finding == nil) != watched || watched && len(all[i].Checks) == 0 {
			return fmt.Errorf("result of %s is incomplete", name)
		}
		return nil
	})
	return all, err
}

// makeAll computes all parts of the audit, here or elsewhere.
func (a *audit) makeAll(ctx context.Context) ([]made, error) {
	names := a.parts()
	if a.o.Elsewhere != nil {
		parts := make([]part, len(names))
		for i, name := range names {
			parts[i] = a.o.describe(name)
		}
		return away(ctx, a.o.Elsewhere, parts)
	}
	all := make([]made, len(names))
	bar := report.NewLines(a.o.Progress, "audit", int64(len(names)))
	for i, name := range names {
		var err error
		if all[i], err = a.make(ctx, name); err != nil {
			return nil, err
		}
		bar.Set(int64(i + 1))
	}
	return all, nil
}
