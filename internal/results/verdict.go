// This file compares what the paper states about its figures with a folder of results. It gives our
// value of each number, with seeds, spread and certified ε, and a verdict.

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

// Verdict says whether a statement of the paper is confirmed.
type Verdict string

// These are the verdicts on a statement.
const (
	Reproduced Verdict = "reproduced"
	// Exceeded means that our value is better than the stated one.
	Exceeded      Verdict = "reproduced, and more"
	NotReproduced Verdict = "not reproduced"
	// Undecided means that our value misses the statement by no more than its spread over seeds, or that
	// the comparison is not fair, because a run used synthetic data or only a part of the paper's
	// gradients.
	Undecided Verdict = "undecided"
)

// Finding is a statement of the paper about one of its figures, compared with the same figure of this program: the
// value here, and a verdict.
type Finding struct {
	paper.Claim
	Ours  string  // our value, with its spread
	Seeds int     // number of seeds, of the setting with the fewest
	Scale float64 // fraction of the paper's K that was run
	// Synthetic says that the data are a synthetic stand-in, about which the paper states nothing.
	Synthetic bool
	Epsilon   string // certified ε per record, the largest of the runs; "" if there is none
	epsilon   string // the number in Epsilon
	Verdict   Verdict
	Why       string // why it is not reproduced or not decided, as far as known
}

// margin is by how much our mean may miss a stated number: the rounding of a number in whole per cent,
// and one percentage point. It does not grow with the spread of our seeds.
const margin = 0.005 + 0.01

// Rule is a text in Markdown for pages of results. It explains when a statement of the paper counts as reproduced.
var Rule = fmt.Sprintf(`A verdict compares a statement of the paper with the result of this program, a mean over seeds. Accuracies are fractions. A
result may miss the paper's number by a margin of %[1]g: 0.005 because the paper rounds to whole percents, and 0.01 (one
percentage point) for other differences. The verdict depends on the kind of the statement:

- *The paper states an accuracy.* It is reproduced if the result here differs by at most %[1]g. If the result here is higher
  by more than that, the verdict is “reproduced, and more”. If it is lower by more than that, it is not reproduced.
- *The paper states a limit for the effect of noise*, such as that the accuracy falls by less than 0.1. This is reproduced if
  the limit is kept here, or missed by at most %[1]g. The trainings with and without noise must have the same step size.
- *The paper states that one accuracy is higher than another.* This is reproduced if it is higher here, even by less than
  the margin.
- *The paper states a range of noise in which the accuracy falls to some fraction of the accuracy without noise.* This is
  reproduced if the accuracy falls to this fraction in the same range here.

A statement is undecided if a result that is higher or lower by one standard error could change the verdict, so that more
seeds are needed. With one seed, the margin replaces the standard error, which is then unknown. A statement is also
undecided if a training used synthetic data or fewer gradients than the paper, or if compared trainings have different
step sizes.`, margin)

// ReadFindings returns a finding for every statement of the paper about a figure that the folder dir has, in the
// order of the paper. It skips the figures in but.
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
		if errors.Is(err, errNoBase) || len(t.Sizes) > 0 && errors.Is(err, errNoSeries) {
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

// errNoBase says that a folder does not have the run without noise that a sweep of sample sizes is
// compared with.
var errNoBase = errors.New("no run without noise")

// errNoSeries says that a figure lacks a series that a statement is about. This means damage, unless
// the manifest says that other sample sizes than the paper's were used.
var errNoSeries = errors.New("no series")

// table is the data of a figure, with the parts of the figure's manifest that verdicts need.
type table struct {
	figure string
	rows   []map[string]string
	steps  []step // step sizes of the series, in their order; nil if the manifest has none
	judged
}

// judged has the keys of a manifest that verdicts need.
type judged struct {
	Figure string  `json:"figure"`
	Table  string  `json:"table_sha256"`
	Scale  float64 `json:"scale"`
	Seeds  int     `json:"seeds"` // of each setting; 0 if the manifest has none
	Sizes  []int   `json:"sizes"` // sample sizes that were used instead of the paper's
	Config json.RawMessage
	Data   Data `json:"data"`
}

// step has the settings of a step size.
type step struct {
	Eta0     float64 `json:"eta0"`
	Beta     float64 `json:"beta"`
	Schedule string  `json:"schedule"`
}

// readTable reads a figure of the folder. It returns nil if the folder does not have it.
func readTable(dir, figure string) (*table, error) {
	text, err := ManifestText(dir, figure)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := &table{figure: figure}
	if err := json.Unmarshal(text, &t.judged); err != nil {
		return nil, fmt.Errorf("%s: %w", figure, err)
	}
	if t.Figure != "" && t.Figure != figure {
		return nil, fmt.Errorf("%s: its manifest is that of %s", figure, t.Figure)
	}
	config := struct {
		Train []step `json:"train"`
	}{}
	if json.Unmarshal(t.Config, &config) == nil { // figures that are no training curves have another configuration
		t.steps = config.Train
	}
	if text, err = ReadTable(dir, figure, t.Table); err != nil {
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

// whole returns an error if rows are missing, because a run would then seem to end too early. Each run must have
// as many rows as the first, and each setting must have the seeds and sizes of the manifest.
func (t *table) whole() error {
	type run struct{ setting, seed string }
	rows, seeds := map[run]int{}, map[string]int{}
	var order []run
	for _, row := range t.rows {
		setting := ""
		for _, column := range []string{"series", "length", "clip"} { // the columns that distinguish settings
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
	for _, size := range t.Sizes {
		of := func(row map[string]string) bool { return row["sample_size"] == strconv.Itoa(size) }
		if !slices.ContainsFunc(t.rows, of) {
			return fmt.Errorf("no rows of s = %d, which the manifest lists: the data are incomplete", size)
		}
	}
	for _, r := range order {
		if rows[r] != rows[order[0]] {
			return fmt.Errorf("%s of %sseed %s, must be %d as of %sseed %s: the data are incomplete",
				decimal.Many(rows[r], "row"), r.setting, r.seed, rows[order[0]], order[0].setting, order[0].seed)
		}
		if n := seeds[r.setting]; t.Seeds > 0 && n != t.Seeds {
			return fmt.Errorf("%s%s, must be %d by the manifest: the data are incomplete", r.setting,
				decimal.Many(n, "seed"), t.Seeds)
		}
	}
	return nil
}

// find compares a statement with the table of its figure.
func (t *table) find(c paper.Claim, other func(figure string) (*table, error)) (Finding, error) {
	f := Finding{Claim: c, Scale: t.Scale, Synthetic: t.Data.Synthetic}
	if c.Quantity == paper.Kept {
		return t.kept(f, other)
	}
	all, err := t.ends()
	if err != nil {
		return f, err
	}
	steps := all
	if c.Eta0 != "" {
		all = all.by(func(s series) bool { return s.step.Eta0 == c.Eta0.Value() })
	}
	unlike, note := "", ""
	switch c.Quantity {
	case paper.Accuracy, paper.Above:
		own, err := all.stated(c.Epsilon)
		if err != nil {
			return f, err
		}
		if err := f.of(own); err != nil {
			return f, err
		}
		f.Ours = report.SpreadText(own.mean, own.sd, len(own.ends))
		off := own.mean - c.Value.Value()
		if c.Quantity == paper.Above {
			f.judge(off, own.error())
		} else if off <= 0 {
			f.judge(off+margin, own.error())
		} else if f.judge(margin-off, own.error()); f.Verdict == NotReproduced {
			f.Verdict = Exceeded
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
		unlike, note = base.unlike, base.note
		if plain.step != of.step && unlike == "" {
			unlike = "the training without noise has another step size"
		}
		loss, sd := plain.mean-of.mean, math.Hypot(plain.sd, of.sd)
		verb := "loses"
		if loss < 0 {
			verb = "gains"
		}
		f.Ours = fmt.Sprintf("%s %s (%s without noise)", verb, report.SpreadText(math.Abs(loss), sd, len(of.ends)),
			report.Fixed(plain.mean, 4))
		f.judge(c.Value.Value()+margin-loss, math.Hypot(plain.error(), of.error()))
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
		f.Ours = fmt.Sprintf("%s at s = %d, %s at s = %d", report.SpreadText(small.mean, small.sd, len(small.ends)), small.size,
			report.SpreadText(large.mean, large.sd, len(large.ends)), large.size)
		f.more(large, small)
		if err := t.atOneEpsilon(&f, other); err != nil {
			return f, err
		}
	case paper.Best:
		low, high, err := all.apart(c.Size)
		if err != nil {
			return f, err
		}
		if err := f.of(low, high); err != nil {
			return f, err
		}
		f.Ours = fmt.Sprintf("at least %s for s ≥ %d, at most %s for smaller s", report.Fixed(low.mean, 4), c.Size,
			report.Fixed(high.mean, 4))
		f.more(low, high)
		if err := t.atOneEpsilon(&f, other); err != nil {
			return f, err
		}
	}
	f.explain()
	if err := t.otherFeatures(&f, other); err != nil {
		return f, err
	}
	if c.Eta0 != "" && f.Verdict == NotReproduced {
		f.Why = steps.better(c)
	}
	if unlike != "" && f.Verdict != Undecided {
		f.Verdict, f.Why = Undecided, unlike
	}
	if note != "" && f.Verdict == Reproduced {
		f.Why = note
	}
	return f, nil
}

// plainOf has the runs of a figure among which is the run without noise, from which a loss of accuracy is computed.
type plainOf struct {
	ends   seriesList
	unlike string // why it cannot be compared, or ""
	note   string // where the run is from, if not from the paper's figures
}

// lossOf returns the result for which the paper states a loss of accuracy, and the run without noise to compare
// with, which is in the same figure or, for a sweep of sample sizes, in the figure of budgets. If that run has another
// step size, the run of the figure of step sizes is taken.
func (t *table) lossOf(c paper.Claim, all seriesList, other func(figure string) (*table, error)) (
	of series, base plainOf, err error) {
	figure := strings.TrimSuffix(c.Figure, "epsilon")
	if c.Quantity == paper.Loss {
		of, err = all.stated(c.Epsilon)
		base.ends = all
	} else if of, err = all.size(c.Size); err == nil {
		figure = strings.TrimSuffix(c.Figure, "sample-size")
		base, err = t.plainIn(figure+"epsilon", other)
	}
	if err != nil {
		return of, base, err
	}
	plain, err := base.ends.stated("")
	if err != nil || plain.step == of.step {
		return of, base, err
	}
	steps, err := t.plainIn(figure+"step-size", other)
	if errors.Is(err, errNoBase) {
		return of, base, nil // of another step size, which find says
	}
	steps.ends = steps.ends.by(func(s series) bool { return s.step == of.step })
	steps.note = fmt.Sprintf("compared with the training without noise that has the same step size (%sstep-size)", figure)
	return of, steps, err
}

// plainIn returns the runs of another figure, which has one without noise.
func (t *table) plainIn(figure string, other func(figure string) (*table, error)) (plainOf, error) {
	sweep, err := other(figure)
	if err != nil {
		return plainOf{}, err
	}
	if sweep == nil {
		return plainOf{}, errNoBase
	}
	ends, err := sweep.ends()
	return plainOf{ends: ends, unlike: t.unlike(sweep)}, err
}

// unlike returns the reason why the figure t cannot be compared with other, or "" if it can.
func (t *table) unlike(other *table) string {
	switch {
	case other.Data.SHA256 != t.Data.SHA256 || other.Data.Synthetic != t.Data.Synthetic:
		return "it is compared with " + other.figure + ", which has other data"
	case other.Scale != t.Scale:
		return fmt.Sprintf("it is compared with %s, which was run with %g of the paper's gradients", other.figure,
			other.Scale)
	}
	return ""
}

// of sets f.Seeds to the least number of seeds of the runs, and f.Epsilon to their largest ε.
func (f *Finding) of(runs ...series) error {
	most, first := "", true
	for i, s := range runs {
		if n := len(s.ends); i == 0 || n < f.Seeds {
			f.Seeds = n
		}
		if s.sigma == 0 {
			continue // a run without noise has no ε
		}
		var err error
		if most, err = larger(most, s.epsilon, first); err != nil {
			return err
		}
		first = false
	}
	if most != "" {
		f.Epsilon, f.epsilon = "ε ≤ "+most, most
	}
	return nil
}

// more sets f's verdict on the statement that the series high is better than low. Equal accuracy is
// not better.
func (f *Finding) more(high, low series) {
	f.judge(high.mean-low.mean, math.Hypot(high.error(), low.error()))
	if high.mean == low.mean {
		f.Verdict, f.Why = NotReproduced, "both end with the same accuracy"
	}
}

// judge sets f's verdict. slack is the distance of our mean from the limit, at least 0 if the statement
// holds, and e the standard error of our mean. With one seed the error is not known.
func (f *Finding) judge(slack, e float64) {
	f.Why = ""
	switch {
	case f.Seeds == 1 && math.Abs(slack) < margin:
		f.Verdict = Undecided
		f.Why = fmt.Sprintf("the result is %s from the limit, and with one seed its standard error is unknown", report.Fixed(math.Abs(slack), 4))
	case math.Abs(slack) < e:
		f.Verdict = Undecided
		f.Why = fmt.Sprintf("the mean is %s from the limit, less than its standard error of %s: more seeds are needed",
			report.Fixed(math.Abs(slack), 4), report.Fixed(e, 4))
	case slack >= 0:
		f.Verdict = Reproduced
	default:
		f.Verdict = NotReproduced
	}
}

// atOneEpsilon adds to a statement about sample sizes what the figure of equal budgets shows. The
// statement compares sizes at one σ, where a larger size costs more.
func (t *table) atOneEpsilon(f *Finding, other func(figure string) (*table, error)) error {
	equal, err := other(f.Figure + "-equal")
	if err != nil || equal == nil || f.Verdict != Reproduced || t.unlike(equal) != "" {
		return err
	}
	least, most, seeds, err := equal.sizesAtOneEpsilon()
	if err == nil {
		f.Why = fmt.Sprintf("but only at the same σ: at the same certified ε, all batch sizes reach between %s and %s (%s)", report.Fixed(least, 4),
			report.Fixed(most, 4), decimal.Many(seeds, "seed"))
	}
	return err
}

// kept returns f with a verdict on the statement that w* + n keeps a fraction of the accuracy of
// w*.
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
	f.Ours = fmt.Sprintf("keeps %.4f ± %.4f at σ = %s", point.mean, point.sd, f.Sigma)
	if most, falls := at.most(f.Value.Value()); most > 0 {
		f.Ours += fmt.Sprintf("; keeps %s up to σ = %s", f.Value, report.Fixed(most, 1))
		if !falls {
			f.Ours += ", the largest that was tried"
		}
	}
	f.judge(point.mean-f.Value.Value()+margin, point.error)
	if f.Most != "" && f.Verdict == Reproduced {
		last, ok := at.at(f.Most.Value())
		if !ok {
			return f, fmt.Errorf("no point at C = %s, σ = %s", f.Clip, f.Most)
		}
		f.Ours += fmt.Sprintf("; keeps %.4f at σ = %s", last.mean, f.Most)
		if f.judge(f.Value.Value()+margin-last.mean, last.error); f.Verdict == NotReproduced {
			f.Verdict = Exceeded
		}
	}
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
