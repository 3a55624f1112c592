// Package verdict holds what the paper's text states of its figures against a folder of
// results: ours beside each number, with seeds, spread and certified ε, and a verdict.
package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"proactivedp/experiments/manifest"
	"proactivedp/internal/paper"
	"proactivedp/internal/report"
	"proactivedp/internal/spread"
)

// Verdict says whether a statement holds in a folder of results.
type Verdict string

// The verdicts.
const (
	Reproduced Verdict = "reproduced"
	// Exceeded: ours is better than what was stated.
	Exceeded      Verdict = "reproduced, and more"
	NotReproduced Verdict = "not reproduced"
	// Undecided: it is missed only within the spread, or ours is of a part of the paper's K.
	Undecided Verdict = "undecided"
)

// Finding is a statement with what a folder of results has for it.
type Finding struct {
	paper.Claim
	Ours  string // with its spread
	Seeds int
	Scale float64 // which part of the paper's K was run
	// Synthetic says that the data are a stand-in, of which the paper states nothing.
	Synthetic bool
	Epsilon   string // certified, per record, of the runs; "" where there is none
	Client    string // likewise per client
	Verdict   Verdict
	Why       string // why it does not hold, or is not decided, as far as it is known
	Command   string // that makes the figure
}

// rounding is how far a number of whole per cent may be from what it stands for.
const rounding = 0.005

// deviations is how many standard deviations over seeds ours may be off for a number to be
// called reproduced.
const deviations = 2

// Rule says how verdicts are found.
var Rule = fmt.Sprintf("A stated accuracy is reproduced if it is within its rounding (%g) and %d standard deviations "+
	"over seeds of ours, and a bound if ours keeps it in the mean; undecided is what misses it only within "+
	"one standard deviation, and what was run with a part of the paper's K.", rounding, deviations)

// Read returns a finding for every statement about a figure that the folder has, in the
// order of the paper.
func Read(dir string) ([]Finding, error) {
	var all []Finding
	tables := map[string]*table{}
	var errs []error
	for _, claim := range paper.Claims() {
		t, known := tables[claim.Figure]
		if !known {
			var err error
			t, err = readTable(dir, claim.Figure)
			if err != nil {
				errs = append(errs, err)
			}
			tables[claim.Figure] = t
		}
		if t == nil {
			continue
		}
		f, err := t.find(claim, func(figure string) (*table, error) { return readTable(dir, figure) })
		if errors.Is(err, errNoBase) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("verdict: %s: %s: %w", claim.Figure, claim.Says, err))
			continue
		}
		all = append(all, f)
	}
	return all, errors.Join(errs...)
}

// errNoBase says that a folder has no run without noise to hold a sweep of sample sizes
// against.
var errNoBase = errors.New("no run without noise")

// table is the data of a figure with the parts of its manifest that verdicts need.
type table struct {
	rows      []map[string]string
	command   string
	scale     float64
	synthetic bool
}

// readTable reads a figure of the folder; nil if there is none.
func readTable(dir, figure string) (*table, error) {
	m := struct {
		Command string   `json:"command"`
		Scale   *float64 `json:"scale"`
		Data    struct {
			Synthetic bool `json:"synthetic"`
		} `json:"data"`
	}{}
	text, err := manifest.Text(filepath.Join(dir, figure, manifest.File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("verdict: %s: %w", figure, err)
	}
	t := &table{command: m.Command, scale: 1, synthetic: m.Data.Synthetic}
	if m.Scale != nil {
		t.scale = *m.Scale
	}
	if t.rows, err = report.ReadCSV(filepath.Join(dir, figure, manifest.TableFile)); err != nil {
		return nil, err
	}
	return t, nil
}

// find holds a statement against the table of its figure.
func (t *table) find(c paper.Claim, other func(figure string) (*table, error)) (Finding, error) {
	f := Finding{Claim: c, Scale: t.scale, Synthetic: t.synthetic, Command: t.command}
	if c.Quantity == paper.Kept {
		return t.kept(f, other)
	}
	all, err := t.ends()
	if err != nil {
		return f, err
	}
	switch c.Quantity {
	case paper.Accuracy:
		own, err := all.stated(c.Epsilon)
		if err != nil {
			return f, err
		}
		f.of(own)
		f.Ours = spread.Text(own.mean, own.sd, len(own.ends))
		off := own.mean - c.Value.Value()
		switch margin := rounding + deviations*own.sd; {
		case math.Abs(off) <= margin:
			f.Verdict = Reproduced
		case off > 0:
			f.Verdict = Exceeded
		default:
			f.Verdict = NotReproduced
		}
	case paper.Loss, paper.LossBySize:
		of, base, err := lossOf(c, all, other)
		if err != nil {
			return f, err
		}
		plain, err := base.stated("")
		if err != nil {
			return f, err
		}
		f.of(of)
		loss, sd := plain.mean-of.mean, math.Hypot(plain.sd, of.sd)
		f.Ours = fmt.Sprintf("%s less than %s", spread.Text(loss, sd, len(of.ends)), report.Fixed(plain.mean, 4))
		f.bound(c.Value.Value()-loss, sd)
	case paper.Fails:
		small, err := all.size(c.Size)
		if err != nil {
			return f, err
		}
		large := all.largest()
		if large.size <= c.Size {
			return f, fmt.Errorf("no series of sizes above %d", c.Size)
		}
		f.of(small)
		f.Ours = fmt.Sprintf("%s, largest s %s", spread.Text(small.mean, small.sd, len(small.ends)),
			spread.Text(large.mean, large.sd, len(large.ends)))
		f.bound(large.mean-small.mean, math.Hypot(small.sd, large.sd))
	case paper.Best:
		low, high, err := all.apart(c.Size)
		if err != nil {
			return f, err
		}
		f.of(low)
		f.Ours = fmt.Sprintf("at least %s, below s = %d at most %s", report.Fixed(low.mean, 4), c.Size,
			report.Fixed(high.mean, 4))
		f.bound(low.mean-high.mean, math.Hypot(low.sd, high.sd))
	}
	f.explain()
	return f, nil
}

// lossOf returns the end that a loss is stated of, and the ends among which the run
// without noise is that it is taken from: of the same figure, or of the base of a sweep of sizes.
func lossOf(c paper.Claim, all seriesList, other func(figure string) (*table, error)) (
	of series, base seriesList, err error) {
	if c.Quantity == paper.Loss {
		of, err = all.stated(c.Epsilon)
		return of, all, err
	}
	if of, err = all.size(c.Size); err != nil {
		return of, nil, err
	}
	sweep, err := other(baseOf(c.Figure))
	if err != nil {
		return of, nil, err
	}
	if sweep == nil {
		return of, nil, errNoBase
	}
	base, err = sweep.ends()
	return of, base, err
}

// of enters the seeds and the ε of the runs that the finding is of.
func (f *Finding) of(s series) {
	f.Seeds = len(s.ends)
	if s.perRecord != "" {
		f.Epsilon = "ε ≤ " + s.perRecord
	}
	if s.perClient != "" {
		f.Client = "ε ≤ " + s.perClient
	}
}

// bound finds whether ours keeps a bound by a margin, which has a spread.
func (f *Finding) bound(margin, sd float64) {
	switch {
	case math.Abs(margin) < sd && f.Seeds > 1:
		f.Verdict = Undecided
		f.Why = fmt.Sprintf("by %s, within the spread", report.Fixed(margin, 4))
		if margin >= 0 {
			f.Verdict = Reproduced
		}
	case margin >= 0:
		f.Verdict = Reproduced
	default:
		f.Verdict = NotReproduced
	}
}

// kept finds whether w* + n keeps a part of the accuracy of w*.
func (t *table) kept(f Finding, other func(figure string) (*table, error)) (Finding, error) {
	at, err := t.fractions(f.Clip.Value())
	if err != nil {
		return f, err
	}
	point, ok := at.at(f.Sigma.Value())
	if !ok {
		return f, fmt.Errorf("no point at C = %s, σ = %s", f.Clip, f.Sigma)
	}
	f.Seeds = point.seeds
	f.Ours = fmt.Sprintf("%.4f ± %.4f at σ = %s", point.mean, point.sd, f.Sigma)
	if most := at.most(f.Value.Value()); most > 0 {
		f.Ours += fmt.Sprintf("; %s up to σ = %s", f.Value, report.Fixed(most, 1))
	}
	f.bound(point.mean-f.Value.Value(), point.sd)
	f.explain()
	if f.Verdict != NotReproduced {
		return f, nil
	}
	figure := strings.TrimSuffix(f.Figure, "utility") + "wstar"
	ways, err := other(figure)
	if err == nil && ways != nil {
		f.Why, err = ways.borne(f.Claim, figure)
	}
	return f, err
}
