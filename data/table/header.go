package table

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"proactivedp/internal/message"
)

// names takes the header.
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
			errs = append(errs, p.fault("column 1 has no name, must have one of its own (an index of pandas, which "+
				"to_csv(…, index=False) leaves out?)"))
		case name == "":
			errs = append(errs, p.fault("column %d has no name, must have one of its own", i+1))
		case seen[name]:
			errs = append(errs, p.fault("column %d is named %q, must have a name of its own", i+1, name))
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
		errs = append(errs, p.fault("no column but that of the labels"))
	}
	if named && p.Features != 0 && p.set.Features != p.Features {
		errs = append(errs, p.fault("%d features, must be the %d that were said", p.set.Features, p.Features))
	}
	if err := errors.Join(errs...); err != nil || p.Named == nil {
		return err
	}
	return p.arrange()
}

// ErrOtherColumns reports a header with other columns than those that there must be.
var ErrOtherColumns = errors.New("other columns than there must be")

// arrange takes the columns in the order in which the features must be, and reports features
// that are not those that there must be.
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
	first := make([]int, len(p.header)) // where the features of each column begin; 0 where it has none
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
	if !slices.Equal(p.set.Columns, p.Named) { // values of a column stand in another order, or apart
		from, is, must := differing(p.set.Columns, p.Named)
		return p.fault("the features%s are %s, must be %s in this order", from, is, must)
	}
	return nil
}

// mostNames is how many names of columns an error has, of those that there may be.
const mostNames = 20

// few writes names, or the first of many.
func few(names []string) string {
	if more := len(names) - mostNames; more > 0 {
		return fmt.Sprintf("%.200q and %d more", names[:mostNames], more)
	}
	return fmt.Sprintf("%.200q", names)
}

// differing writes two lists of names that are not the same, long ones from the first
// difference on.
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

// without returns the names that are not among others.
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
				return p.fault("two columns give the feature %.80q", feature)
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

// meant returns the question whether the column that is written most like name was meant, or "".
func meant(name string, columns []string) string {
	if like := message.Nearest(name, columns); like != "" {
		return fmt.Sprintf(": did you mean %q?", like)
	}
	return ""
}
