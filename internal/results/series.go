package results

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/internal/paper"
	"proactivedp/internal/report"
)

// series holds the runs of one setting of a figure.
type series struct {
	stated   string // ε that the paper states for it
	sigma    float64
	size     int
	step     step      // the zero value if the manifest does not have it
	ends     []float64 // final accuracy by seed
	mean, sd float64
	epsilon  string // certified ε per record, the largest of the runs; "" without noise
}

type seriesList []series

func setting(row map[string]string) (series, error) {
	var s series
	for column, value := range row {
		if strings.HasPrefix(column, "epsilon_stated_for_n_") {
			s.stated = value
		}
	}
	var sigmaErr, sizeErr error
	s.sigma, sigmaErr = strconv.ParseFloat(row["sigma"], 64)
	s.size, sizeErr = strconv.Atoi(row["sample_size"])
	return s, errors.Join(sigmaErr, sizeErr)
}

// error returns the standard error of the mean accuracy. It is 0 if there is only one run.
func (s series) error() float64 { return s.sd / math.Sqrt(float64(max(1, len(s.ends)))) }

// enter adds a row to its series. first says whether it is the first row.
func (s *series) enter(row map[string]string, first bool) error {
	of, err := setting(row)
	if err != nil {
		return err
	}
	if !first && (of.sigma != s.sigma || of.size != s.size || of.stated != s.stated) {
		return fmt.Errorf("series %s: a row has σ = %v, s = %d and ε = %q, must be σ = %v, s = %d and ε = %q as "+
			"in the first row", row["series"], of.sigma, of.size, of.stated, s.sigma, s.size, s.stated)
	}
	if first {
		*s = of
	}
	const column = "certified_epsilon_per_record"
	if s.epsilon, err = larger(s.epsilon, row[column], first); err != nil {
		return fmt.Errorf("series %s: %s: %w", row["series"], column, err)
	}
	return nil
}

// larger returns the larger of two certified ε, which are cells of a table. first says that there is no earlier ε
// in most. It is an error if only one of the two runs has an ε.
func larger(most, epsilon string, first bool) (string, error) {
	if !first && (most == "") != (epsilon == "") {
		return "", errors.New("some rows have an ε and some have none, must be all or none")
	}
	if epsilon == "" {
		return "", nil
	}
	e, err := strconv.ParseFloat(epsilon, 64)
	if err != nil || !(e >= 0) {
		return "", fmt.Errorf("%q, must be a number of at least 0", epsilon)
	}
	if before, err := strconv.ParseFloat(most, 64); !first && err == nil && before >= e {
		return most, nil
	}
	return epsilon, nil
}

// ends returns a series for each setting of the figure, with the final accuracies of its runs.
func (t *table) ends() (seriesList, error) {
	var names []string
	of := map[string]*series{}
	last := map[string]map[string]float64{} // accuracy by series and seed
	for _, row := range t.rows {
		name := row["series"]
		first := of[name] == nil
		if first {
			of[name], last[name] = new(series), map[string]float64{}
			names = append(names, name)
		}
		if err := of[name].enter(row, first); err != nil {
			return nil, err
		}
		accuracy, err := strconv.ParseFloat(row["test_accuracy"], 64)
		if err != nil || !(accuracy >= 0 && accuracy <= 1) {
			return nil, fmt.Errorf("series %s: test_accuracy = %q, must be in [0, 1]", name, row["test_accuracy"])
		}
		last[name][row["seed"]] = accuracy
	}
	var all seriesList
	for i, name := range names {
		s := of[name]
		if len(t.steps) == len(names) {
			s.step = t.steps[i]
		}
		for _, seed := range slices.Sorted(maps.Keys(last[name])) {
			s.ends = append(s.ends, last[name][seed])
		}
		s.mean, s.sd = report.Spread(s.ends)
		all = append(all, *s)
	}
	return all, nil
}

// by returns the series for which is returns true.
func (l seriesList) by(is func(series) bool) seriesList {
	return slices.DeleteFunc(slices.Clone(l), func(s series) bool { return !is(s) })
}

// pick returns the only series for which is returns true. what describes it in errors.
func (l seriesList) pick(what string, is func(series) bool) (series, error) {
	i := slices.IndexFunc(l, is)
	if i < 0 {
		return series{}, fmt.Errorf("%w %s", errNoSeries, what)
	}
	return l[i], nil
}

// stated returns the series for an ε that the paper states, or the one without noise if epsilon is
// "".
func (l seriesList) stated(epsilon paper.Number) (series, error) {
	if epsilon == "" {
		return l.pick("without noise", func(s series) bool { return s.sigma == 0 })
	}
	return l.pick("for the stated ε = "+string(epsilon), func(s series) bool {
		e, err := strconv.ParseFloat(s.stated, 64)
		return err == nil && s.sigma > 0 && e == epsilon.Value()
	})
}

// better returns text about the most accurate series with the noise of the claim, whatever its step size.
func (l seriesList) better(c paper.Claim) string {
	best := slices.MaxFunc(l.by(func(s series) bool {
		_, err := seriesList{s}.stated(c.Epsilon)
		return err == nil
	}), func(a, b series) int { return cmp.Compare(a.mean, b.mean) })
	return fmt.Sprintf("another step size is better: with η₀ = %g, the accuracy is %s", best.step.Eta0,
		report.SpreadText(best.mean, best.sd, len(best.ends)))
}

func (l seriesList) size(size int) (series, error) {
	return l.pick(fmt.Sprintf("of s = %d", size), func(s series) bool { return s.size == size })
}

func (l seriesList) largest() series {
	return slices.MaxFunc(l, func(a, b series) int { return a.size - b.size })
}

// apart helps to judge the claim that sample sizes of at least size are best: low is the series with the
// lowest mean accuracy among them, and high the one with the highest among smaller sizes. The claim holds
// if low is better than high.
func (l seriesList) apart(size int) (low, high series, err error) {
	low, high = series{mean: math.Inf(1)}, series{mean: math.Inf(-1)}
	for _, s := range l {
		if s.size >= size && s.mean < low.mean {
			low = s
		}
		if s.size < size && s.mean > high.mean {
			high = s
		}
	}
	switch {
	case len(low.ends) == 0:
		err = fmt.Errorf("%w of sizes from %d on", errNoSeries, size)
	case len(high.ends) == 0:
		err = fmt.Errorf("%w of sizes below %d", errNoSeries, size)
	}
	return low, high, err
}

// sizesAtOneEpsilon returns the lowest and the highest mean accuracy in a figure of equal budgets, of the
// sample sizes, each with the noise for one ε, and the least number of seeds of one.
func (t *table) sizesAtOneEpsilon() (least, most float64, seeds int, err error) {
	ends := map[string][]float64{}
	for _, row := range t.rows {
		if row["series"] != OneEpsilon {
			continue
		}
		accuracy, err := strconv.ParseFloat(row["test_accuracy"], 64)
		if err != nil || !(accuracy >= 0 && accuracy <= 1) {
			return 0, 0, 0, fmt.Errorf("%s: test_accuracy = %q, must be in [0, 1]", t.figure, row["test_accuracy"])
		}
		ends[row["sample_size"]] = append(ends[row["sample_size"]], accuracy)
	}
	if len(ends) == 0 {
		return 0, 0, 0, fmt.Errorf("%s: %w %s", t.figure, errNoSeries, OneEpsilon)
	}
	least, seeds = math.Inf(1), math.MaxInt
	for _, all := range ends {
		least, most, seeds = min(least, mean(all)), max(most, mean(all)), min(seeds, len(all))
	}
	return least, most, seeds, nil
}

// OneEpsilon is the name of a series in the figures that compare sample sizes. In this series, each sample size has
// its own noise, such that all have the same certified ε.
const OneEpsilon = "the same ε for every s"

// fraction is the fraction of the accuracy that is left at one σ.
type fraction struct {
	sigma, mean, sd float64
	error           float64 // standard error of the mean
	seeds           int
}

type fractions []fraction

// fractions returns the utility line of a clipping norm.
func (t *table) fractions(clip float64) (fractions, error) {
	values, within := map[float64][]float64{}, map[float64]float64{}
	for _, row := range t.rows {
		var x [4]float64
		for i, column := range []string{"clip", "sigma", "fraction", "fraction_sd"} {
			var err error
			if x[i], err = strconv.ParseFloat(row[column], 64); err != nil || !(x[i] >= 0 && x[i] <= math.MaxFloat64) {
				return nil, fmt.Errorf("%s = %q, must be a number of at least 0", column, row[column])
			}
		}
		if x[0] == clip {
			values[x[1]] = append(values[x[1]], x[2])
			within[x[1]] += x[3] * x[3]
		}
	}
	var all fractions
	for _, sigma := range slices.Sorted(maps.Keys(values)) {
		mean, sd := report.Spread(values[sigma])
		n := len(values[sigma])
		all = append(all, fraction{sigma, mean, math.Sqrt(sd*sd + within[sigma]/float64(n)), sd / math.Sqrt(float64(n)), n})
	}
	return all, nil
}

// at returns the fraction at σ, interpolated between two points of the line.
func (l fractions) at(sigma float64) (fraction, bool) {
	for i, p := range l {
		if p.sigma == sigma {
			return p, true
		}
		if i > 0 && l[i-1].sigma < sigma && p.sigma > sigma {
			part := (sigma - l[i-1].sigma) / (p.sigma - l[i-1].sigma)
			return fraction{sigma, l[i-1].mean + part*(p.mean-l[i-1].mean), max(l[i-1].sd, p.sd),
				max(l[i-1].error, p.error), p.seeds}, true
		}
	}
	return fraction{}, false
}

// most returns the largest σ up to which the line stays above part. falls says whether it is below part
// later.
func (l fractions) most(part float64) (sigma float64, falls bool) {
	for i, p := range l {
		if p.mean >= part {
			continue
		}
		if i == 0 {
			return 0, true
		}
		before := l[i-1]
		return before.sigma + (before.mean-part)/(before.mean-p.mean)*(p.sigma-before.sigma), true
	}
	return l[len(l)-1].sigma, false
}
