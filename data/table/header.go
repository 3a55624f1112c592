package table

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"proactivedp/internal/message"
)

// names reads the header.
func (p *parser) names() error {
	if p.header != nil {
		if !slices.Equal(p.fields, p.header) {
			from, is, must := differing(p.fields, p.header)
			return p.fault("the header%s is %s, must be that of the first file, %s", from, is, must)
		}
		return nil
	}
	p.header = slices.Clone(p.fields)
	seen := map[string]bool{}
	var errs []error
	for i, name := range p.header {
		switch {
		case name == "" && i == 0:
			errs = append(errs, p.fault("column 1 has no name, must have one (is it an index of pandas, which "+
				"to_csv(…, index=False) leaves out?)"))
		case name == "":
			errs = append(errs, p.fault("column %d has no name, must have one", i+1))
		case seen[name]:
			errs = append(errs, p.fault("column %d is named %q like an earlier column, must have another name", i+1, name))
		}
		if err := message.CheckText(fmt.Sprintf("the name of column %d", i+1), name, len(name)); err != nil {
			errs = append(errs, p.fault("%w", err))
		}
		seen[name] = true
	}
	p.label = slices.Index(p.header, p.Label)
	if err := p.Columns.check(p.header, p.Label, p.Named != nil); err != nil {
		errs = append(errs, p.fault("%w", err))
	}
	named := len(errs) == 0
	if named {
		errs = append(errs, p.nameFeatures())
	}
	if p.label < 0 && !p.Unlabelled {
		errs = append(errs, p.fault("no column %q of labels among %s%s", p.Label, few(p.header),
			meant(p.Label, p.header)))
	}
	if p.set.Features = len(p.set.Columns); named && p.set.Features == 0 {
		errs = append(errs, p.fault("the only column is that of the labels, must have features"))
	}
	if named && p.Features != 0 && p.set.Features != p.Features {
		errs = append(errs, p.fault("%d features, must be %d as given", p.set.Features, p.Features))
	}
	if err := errors.Join(errs...); err != nil || p.Named == nil {
		return err
	}
	return p.arrange()
}

// ErrOtherColumns is wrapped if a header does not have the required columns.
var ErrOtherColumns = errors.New("not the required columns")

// arrange reorders the columns to the required order of features. It returns an error if the
// features are not the required ones.
func (p *parser) arrange() error {
	var wrong []string
	if more := without(p.set.Columns, p.Named); len(more) > 0 {
		wrong = append(wrong, few(more)+" too many")
	}
	if missing := without(p.Named, p.set.Columns); len(missing) > 0 {
		wrong = append(wrong, few(missing)+" missing")
	}
	if len(wrong) > 0 {
		return p.fault("%w: %s", ErrOtherColumns, strings.Join(wrong, ", "))
	}
	at := make(map[string]int, len(p.Named))
	for i, name := range p.Named {
		at[name] = i
	}
	first := make([]int, len(p.header)) // the first feature of each column; 0 if it has none
	for i := range first {
		if features := p.featuresOf(i); len(features) > 0 {
			first[i] = at[features[0]]
		}
	}
	slices.SortStableFunc(p.order, func(i, j int) int { return cmp.Compare(first[i], first[j]) })
	p.set.Columns = p.set.Columns[:0]
	for _, i := range p.order {
		p.set.Columns = append(p.set.Columns, p.featuresOf(i)...)
	}
	if !slices.Equal(p.set.Columns, p.Named) { // the values of a column are in another order, or not adjacent
		from, is, must := differing(p.set.Columns, p.Named)
		return p.fault("the features%s are %s, must be %s in this order", from, is, must)
	}
	return nil
}

// mostNames is the largest number of column names that an error lists.
const mostNames = 20

// few writes names, or the first of many.
func few(names []string) string {
	if more := len(names) - mostNames; more > 0 {
		return fmt.Sprintf("%.200q and %d more", names[:mostNames], more)
	}
	return fmt.Sprintf("%.200q", names)
}

// differing writes two different lists of names. Long lists begin at the first difference.
func differing(is, must []string) (from, one, other string) {
	i := 0
	for max(len(is), len(must)) > mostNames && i < min(len(is), len(must)) && is[i] == must[i] {
		i++
	}
	if i > 0 {
		from = fmt.Sprintf(" from column %d on", i+1)
	}
	return from, few(is[i:]), few(must[i:])
}

// without returns the names that are not in others.
func without(names, others []string) []string {
	there := map[string]bool{}
	for _, name := range others {
		there[name] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return there[name] })
}

// nameFeatures names the features that the columns of the header become.
func (p *parser) nameFeatures() error {
	seen := map[string]bool{}
	p.holds, p.order, p.set.Columns, p.faulty = nil, nil, nil, make([]bool, len(p.header))
	for i, name := range p.header {
		p.holds, p.order = append(p.holds, p.Columns.of(name)), append(p.order, i)
		for _, feature := range p.featuresOf(i) {
			if seen[feature] {
				return p.fault("two columns have the feature %.80q, must have different features", feature)
			}
			seen[feature] = true
			p.set.Columns = append(p.set.Columns, feature)
		}
	}
	if n := len(p.set.Columns); n > MaxColumns {
		return p.fault("%d features, must be at most %d", n, MaxColumns)
	}
	return nil
}

// featuresOf returns the names of the features that column i becomes.
func (p *parser) featuresOf(i int) []string {
	if i == p.label {
		return nil
	}
	return p.holds[i].features(p.header[i])
}

// meant returns a question that suggests the column whose name is most like name, or "".
func meant(name string, columns []string) string {
	if like := message.Nearest(name, columns); like != "" {
		return fmt.Sprintf(": did you mean %q?", like)
	}
	return ""
}
