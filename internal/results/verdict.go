// This file holds what the paper's text states of its figures against a folder of
// results: ours beside each number, with seeds, spread and certified ε, and a verdict.

package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/internal/decimal"
	"proactivedp/internal/paper"
	"proactivedp/internal/report"
)

// Verdict says whether a statement holds in a folder of results.
type Verdict string

// The verdicts.
const (
	Reproduced Verdict = "reproduced"
	// Exceeded: ours is better than what was stated.
	Exceeded      Verdict = "reproduced, and more"
	NotReproduced Verdict = "not reproduced"
	// Undecided: it is missed only within the spread, or ours is of a part of the paper's K, of a
	// stand-in, or held against a run that is.
	Undecided Verdict = "undecided"
)

// Finding is a statement with what a folder of results has for it.
type Finding struct {
	paper.Claim
	Ours  string  // with its spread
	Seeds int     // of the setting that has the fewest
	Scale float64 // which part of the paper's K was run
	// Synthetic says that the data are a stand-in, of which the paper states nothing.
	Synthetic bool
	Epsilon   string // certified, per record, the largest of the runs; "" where there is none
	Verdict   Verdict
	Why       string // why it does not hold, or is not decided, as far as it is known
}

// rounding is how far a number of whole per cent may be from what it stands for.
const rounding = 0.005

// deviations is how many standard deviations over seeds ours may be off for a number to be
// called reproduced.
const deviations = 2

// Rule says how verdicts are found.
var Rule = fmt.Sprintf("A stated accuracy is reproduced if ours differs from it by at most its rounding (%g) and %d "+
	"standard deviations over seeds. It is \"reproduced, and more\" if ours is better than that. A bound is reproduced "+
	"if our mean keeps it. A statement is undecided if it is missed by less than one standard deviation, if only a part "+
	"of the paper's gradients was run, or if the data are a synthetic stand-in. In utility graphs the deviation is over "+
	"seeds and draws of the noise.", rounding, deviations)

// ReadFindings returns a finding for every statement about a figure that the folder has, in the
// order of the paper, but for the figures named.
func ReadFindings(dir string, but ...string) ([]Finding, error) {
	var all []Finding
	tables := map[string]*table{}
	var errs []error
	read := func(figure string) (*table, error) {
		if slices.Contains(but, figure) {
			return nil, nil
		}
		return readTable(dir, figure)
	}
	for _, claim := range paper.Claims() {
		t, known := tables[claim.Figure]
		if !known {
			var err error
			t, err = read(claim.Figure)
			if err != nil {
				errs = append(errs, err)
			}
			tables[claim.Figure] = t
		}
		if t == nil {
			continue
		}
		f, err := t.find(claim, read)
		if errors.Is(err, errNoBase) || len(t.sizes) > 0 && errors.Is(err, errNoSeries) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", claim.Figure, claim.Says, err))
			continue
		}
		all = append(all, f)
	}
	return all, errors.Join(errs...)
}

// errNoBase says that a folder has no run without noise to hold a sweep of sample sizes
// against.
var errNoBase = errors.New("no run without noise")

// errNoSeries says that a figure lacks a series that a statement is about: damage, but for a
// sweep of other sample sizes than the paper's, of which its manifest tells.
var errNoSeries = errors.New("no series")

// table is the data of a figure with the parts of its manifest that verdicts need.
type table struct {
	figure    string
	rows      []map[string]string
	scale     float64
	seeds     int    // of each setting; 0: the manifest does not say
	sizes     []int  // sample sizes that were asked for in the place of the paper's
	data      string // digest of the data set
	synthetic bool
}

// readTable reads a figure of the folder; nil if there is none.
func readTable(dir, figure string) (*table, error) {
	m := struct {
		Figure string  `json:"figure"`
		Table  string  `json:"table_sha256"`
		Scale  float64 `json:"scale"`
		Seeds  int     `json:"seeds"`
		Sizes  []int   `json:"sizes"`
		Data   struct {
			SHA256    string `json:"sha256"`
			Synthetic bool   `json:"synthetic"`
		} `json:"data"`
	}{}
	text, err := ManifestText(dir, figure)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", figure, err)
	}
	if m.Figure != "" && m.Figure != figure {
		return nil, fmt.Errorf("%s: its manifest is that of %s", figure, m.Figure)
	}
	t := &table{figure: figure, scale: m.Scale, seeds: m.Seeds, sizes: m.Sizes, data: m.Data.SHA256,
		synthetic: m.Data.Synthetic}
	if text, err = ReadTable(dir, figure, m.Table); err != nil {
		return nil, err
	}
	if t.rows, err = report.ParseRows(text); err != nil {
		return nil, fmt.Errorf("%s: %w", figure, err)
	}
	if err := t.whole(); err != nil {
		return nil, fmt.Errorf("%s: %w", figure, err)
	}
	return t, nil
}

// whole reports a table that lacks rows, by which a run would end before its end: each run has
// as many as the first, and each setting the seeds of the manifest, which has all its sizes.
func (t *table) whole() error {
	type run struct{ setting, seed string }
	rows, seeds := map[run]int{}, map[string]int{}
	var order []run
	for _, row := range t.rows {
		setting := ""
		for _, column := range []string{"series", "length", "clip"} { // by which settings are told apart
			if value, has := row[column]; has {
				setting += column + " " + value + ", "
			}
		}
		r := run{setting, row["seed"]}
		if rows[r]++; rows[r] == 1 {
			order = append(order, r)
			seeds[setting]++
		}
	}
	for _, size := range t.sizes {
		of := func(row map[string]string) bool { return row["sample_size"] == strconv.Itoa(size) }
		if !slices.ContainsFunc(t.rows, of) {
			return fmt.Errorf("no rows of s = %d, which its manifest has: its data are not whole", size)
		}
	}
	for _, r := range order {
		if rows[r] != rows[order[0]] {
			return fmt.Errorf("%s of %sseed %s, must be %d as of %sseed %s: its data are not whole",
				decimal.Many(rows[r], "row"), r.setting, r.seed, rows[order[0]], order[0].setting, order[0].seed)
		}
		if n := seeds[r.setting]; t.seeds > 0 && n != t.seeds {
			return fmt.Errorf("%s%s, must be the %d of its manifest: its data are not whole", r.setting,
				decimal.Many(n, "seed"), t.seeds)
		}
	}
	return nil
}

// find holds a statement against the table of its figure.
func (t *table) find(c paper.Claim, other func(figure string) (*table, error)) (Finding, error) {
	f := Finding{Claim: c, Scale: t.scale, Synthetic: t.synthetic}
	if c.Quantity == paper.Kept {
		return t.kept(f, other)
	}
	all, err := t.ends()
	if err != nil {
		return f, err
	}
	unlike := ""
	switch c.Quantity {
	case paper.Accuracy:
		own, err := all.stated(c.Epsilon)
		if err != nil {
			return f, err
		}
		if err := f.of(own); err != nil {
			return f, err
		}
		f.Ours = report.SpreadText(own.mean, own.sd, len(own.ends))
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
		of, base, err := t.lossOf(c, all, other)
		if err != nil {
			return f, err
		}
		plain, err := base.ends.stated("")
		if err != nil {
			return f, err
		}
		if err := f.of(of, plain); err != nil {
			return f, err
		}
		unlike = base.unlike
		loss, sd := plain.mean-of.mean, math.Hypot(plain.sd, of.sd)
		side := "less"
		if loss < 0 {
			side = "more"
		}
		f.Ours = fmt.Sprintf("%s %s than %s", report.SpreadText(math.Abs(loss), sd, len(of.ends)), side,
			report.Fixed(plain.mean, 4))
		f.bound(c.Value.Value()-loss, sd)
	case paper.Fails:
		small, err := all.size(c.Size)
		if err != nil {
			return f, err
		}
		large := all.largest()
		if large.size <= c.Size {
			return f, fmt.Errorf("%w of sizes above %d", errNoSeries, c.Size)
		}
		if err := f.of(small, large); err != nil {
			return f, err
		}
		f.Ours = fmt.Sprintf("%s, largest s %s", report.SpreadText(small.mean, small.sd, len(small.ends)),
			report.SpreadText(large.mean, large.sd, len(large.ends)))
		f.more(large, small)
	case paper.Best:
		low, high, err := all.apart(c.Size)
		if err != nil {
			return f, err
		}
		if err := f.of(low, high); err != nil {
			return f, err
		}
		f.Ours = fmt.Sprintf("at least %s, below s = %d at most %s", report.Fixed(low.mean, 4), c.Size,
			report.Fixed(high.mean, 4))
		f.more(low, high)
	}
	f.explain()
	if unlike != "" && f.Verdict != Undecided {
		f.Verdict, f.Why = Undecided, unlike
	}
	return f, nil
}

// plainOf is the ends among which the run without noise is that a loss is taken from, and why
// nothing can be, "" if it can.
type plainOf struct {
	ends   seriesList
	unlike string
}

// lossOf returns the end that a loss is stated of, and those that have the run without noise:
// of the same figure, or of the base of a sweep of sizes.
func (t *table) lossOf(c paper.Claim, all seriesList, other func(figure string) (*table, error)) (
	of series, base plainOf, err error) {
	if c.Quantity == paper.Loss {
		of, err = all.stated(c.Epsilon)
		return of, plainOf{ends: all}, err
	}
	if of, err = all.size(c.Size); err != nil {
		return of, base, err
	}
	sweep, err := other(baseOf(c.Figure))
	if err != nil {
		return of, base, err
	}
	if sweep == nil {
		return of, base, errNoBase
	}
	base.unlike = t.unlike(sweep)
	base.ends, err = sweep.ends()
	return of, base, err
}

// unlike says why a figure cannot be held against another one; "" if it can.
func (t *table) unlike(other *table) string {
	switch {
	case other.data != t.data || other.synthetic != t.synthetic:
		return other.figure + ", which this is held against, is of other data"
	case other.scale != t.scale:
		return fmt.Sprintf("%s, which this is held against, was run with %g of the paper's K", other.figure,
			other.scale)
	}
	return ""
}

// of enters the seeds and the ε of the runs that the finding is of: of several the fewest, and
// the largest.
func (f *Finding) of(runs ...series) error {
	most, first := "", true
	for i, s := range runs {
		if n := len(s.ends); i == 0 || n < f.Seeds {
			f.Seeds = n
		}
		if s.sigma == 0 {
			continue // without noise there is nothing to claim
		}
		var err error
		if most, err = larger(most, s.epsilon, first); err != nil {
			return err
		}
		first = false
	}
	if most != "" {
		f.Epsilon = "ε ≤ " + most
	}
	return nil
}

// more finds whether runs end with more accuracy than others: as much is not more.
func (f *Finding) more(high, low series) {
	f.bound(high.mean-low.mean, math.Hypot(high.sd, low.sd))
	if high.mean == low.mean {
		f.Verdict, f.Why = NotReproduced, "both end with the same accuracy"
	}
}

// bound finds whether ours keeps a bound by a margin, which has a spread.
func (f *Finding) bound(margin, sd float64) {
	switch {
	case math.Abs(margin) < sd && f.Seeds > 1:
		how := "missed"
		f.Verdict = Undecided
		if margin >= 0 {
			how, f.Verdict = "kept", Reproduced
		}
		f.Why = fmt.Sprintf("%s by %s, within the spread", how, report.Fixed(math.Abs(margin), 4))
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
	if most, falls := at.most(f.Value.Value()); most > 0 {
		f.Ours += fmt.Sprintf("; %s up to σ = %s", f.Value, report.Fixed(most, 1))
		if !falls {
			f.Ours += ", the largest tried"
		}
	}
	f.bound(point.mean-f.Value.Value(), point.sd)
	f.explain()
	if f.Verdict != NotReproduced {
		return f, nil
	}
	figure := strings.TrimSuffix(f.Figure, "utility") + "wstar"
	ways, err := other(figure)
	if err != nil || ways == nil {
		return f, err
	}
	if unlike := t.unlike(ways); unlike != "" {
		f.Why = unknown + unlike
		return f, nil
	}
	norm, err := t.norm(f.Clip.Value())
	if err != nil {
		return f, err
	}
	f.Why, err = ways.borne(f.Claim, norm)
	return f, err
}
