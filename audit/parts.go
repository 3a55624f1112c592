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

// request asks another process for a part of an audit. It contains everything that the result depends on.
type request struct {
	Kind    string `json:"kind"`
	Program string `json:"program"` // see version.Info.Source
	Part    string `json:"part"`
	Options
	Courses []string `json:"courses"` // the names of Options.Courses
}

type made struct {
	Checks   []Check  `json:"checks,omitempty"`
	Finding  *Finding `json:"finding,omitempty"`
	By       string   `json:"by,omitempty"` // for alarmPart: what raised the alarm
	Replayed bool     `json:"replayed,omitempty"`
}

func (o *Options) request(part string) request {
	r := request{Kind: PartKind, Program: version.Get().Source(), Part: part, Options: *o}
	for _, c := range o.Courses {
		r.Courses = append(r.Courses, c.Name)
	}
	return r
}

// Do computes one part of an audit, in a process that helps the one in which [Run] or [Alarms] was called. That process
// has an [Elsewhere] (your code), which sends parts to the helping processes. Call Do with each part that arrives, in
// text, and send the result back to the Elsewhere. courses must have every [Course] of the audit's Options.Courses
// again, because a part is JSON, which has only the name of a Course and not its function Run. It may also have others.
// workers is the number of trainings at the same time, at least 1. Do refuses a part from another build of the program,
// because its result might differ.
func Do(ctx context.Context, text json.RawMessage, courses []Course, workers int) (json.RawMessage, error) {
	var p request
	if err := strictjson.DecodeWhole(text, &p, len(text)); err != nil {
		return nil, fmt.Errorf("part: %w", err)
	}
	if own := version.Get().Source(); p.Kind != PartKind || p.Program != own {
		return nil, fmt.Errorf("part of kind %q and program %q, must be %q and %q", p.Kind, p.Program, PartKind,
			own)
	}
	o := p.Options
	o.Workers = workers
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

// part is a part of an audit that is computed by itself.
type part struct {
	name string
	make func(ctx context.Context) (made, error)
}

// parts returns the parts of the audit, in the order of its report.
func (a *audit) parts() (all []part) {
	for _, w := range a.watches {
		all = append(all, part{watchPart + w.name, func(ctx context.Context) (m made, err error) {
			m.Checks, err = w.run(ctx, a.o)
			return m, err
		}})
	}
	for _, p := range a.probes {
		all = append(all, part{probePart + p.name, func(ctx context.Context) (made, error) {
			found, check, err := p.run(ctx, a.o, a.level)
			return made{Finding: &found, Checks: []Check{check}}, err
		}})
	}
	for _, c := range a.o.Courses {
		if a.o.Fault == NoFault {
			all = append(all, part{coursePart + c.Name, func(ctx context.Context) (made, error) {
				found, err := c.Audit(ctx, a.o, max(MinRuns, a.o.Runs/max(1, c.Share)), a.level)
				return made{Finding: &found}, err
			}})
		}
	}
	return append(all, part{onePart, func(ctx context.Context) (made, error) {
		found, err := oneRun(ctx, a.o, a.level)
		return made{Finding: &found}, err
	}})
}

// compute computes a part, and says which of its checks failed.
func (a *audit) compute(ctx context.Context, p part) (made, error) {
	m, err := p.make(ctx)
	if err != nil {
		return m, fmt.Errorf("%s: %w", p.name, err)
	}
	for i := range m.Checks {
		m.Checks[i].Failed = !(m.Checks[i].PValue >= a.level) // also true for NaN
	}
	return m, nil
}

// make computes the part with the name, or a whole audit until its first alarm.
func (a *audit) make(ctx context.Context, name string) (made, error) {
	if name == alarmPart {
		return a.alarm(ctx)
	}
	parts := a.parts()
	i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
	if i < 0 {
		return made{}, fmt.Errorf("no part %q", name)
	}
	return a.compute(ctx, parts[i])
}

// away computes the parts in other processes, by e.
func away(ctx context.Context, e Elsewhere, parts []request) ([]made, error) {
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
	parts := a.parts()
	if a.o.Elsewhere != nil {
		var asked []request
		for _, p := range parts {
			asked = append(asked, a.o.request(p.name))
		}
		return away(ctx, a.o.Elsewhere, asked)
	}
	all := make([]made, len(parts))
	bar := report.NewLines(a.o.Progress, "audit", int64(len(parts)))
	for i, p := range parts {
		var err error
		if all[i], err = a.compute(ctx, p); err != nil {
			return nil, err
		}
		bar.Set(int64(i + 1))
	}
	return all, nil
}
