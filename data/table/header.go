package table

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"proactivedp/internal/message"
	"proactivedp/internal/unpack"
)

// names reads the header. in has the lines after it, for a hint.
func (p *parser) names(in *bufio.Reader) error {
	if err := p.validHeader(); err != nil {
		return err
	}
	if last := len(p.fields) - 1; last > 0 && len(p.fields[last]) == 0 {
		p.fields, p.ending = p.fields[:last], true
	} else {
		p.ending = false
	}
	p.header = make([]string, len(p.fields))
	for i, name := range p.fields {
		p.header[i] = string(name)
	}
	if !p.NoHeader && p.HeaderLine == 0 && !slices.ContainsFunc(p.header, func(name string) bool { return !p.isNumber(name) }) {
		return p.fault("the first line has only numbers, must name the columns: if it is a record, --no-header names the " +
			"columns 1, 2, …; if these are names, --header-line 1 says so")
	}
	p.label = slices.Index(p.header, p.Label)
	if p.label < 0 && !p.Unlabelled && !p.NoHeader && p.HeaderLine == 0 {
		if line := p.labelLine(in); line > 0 {
			return p.fault("no column %q of labels, but line %d has this name: --header-line %d reads the names there", p.Label,
				line, line)
		}
	}
	errs := p.checkNames()
	shown := p.header
	if p.maybeRecord() {
		shown = nil // errors must not show the content of a record
	}
	if p.person = -1; p.Person != "" {
		if p.person = slices.Index(p.header, p.Person); p.person < 0 || p.person == p.label {
			return p.fault("no column %.80q of persons besides that of the labels%s", p.Person, meant(p.Person, shown))
		}
	}
	if err := p.Columns.check(p.header, shown, p.Label, p.Named != nil); err != nil {
		errs = append(errs, p.fault("%w", err))
	}
	named := len(errs) == 0
	if named {
		errs = append(errs, p.nameFeatures())
	}
	p.keeps = nil
	if p.Kept != nil {
		for _, name := range p.Kept.Names {
			i := slices.Index(p.header, name)
			if i < 0 {
				errs = append(errs, p.fault("no column %.80q to keep%s", name, meant(name, shown)))
			}
			p.keeps = append(p.keeps, i)
		}
	}
	if p.label < 0 && !p.Unlabelled {
		among := fmt.Sprintf("the %d columns%s", len(p.header), isRecord)
		if shown != nil {
			among = few(shown) + meant(p.Label, shown)
		}
		errs = append(errs, p.fault("no column %q of labels among %s", p.Label, among))
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

// isRecord is a hint of errors in the first line.
const isRecord = " (if the first line is a record, --no-header names the columns 1, 2, …)"

// number names the columns of a file without a header. It overwrites the fields of the first record.
func (p *parser) number() {
	n, skipped := 0, p.Named == nil || !p.Unlabelled || p.Label != ""
	for i := range p.fields {
		n++
		if name := strconv.Itoa(n); !skipped && p.isLabelOf(name) {
			skipped = true
			n++
		}
		p.fields[i] = strconv.AppendInt(nil, int64(n), 10)
	}
}

// isLabelOf reports whether a column that the file lacks is the column of the labels: it is no feature and
// is not ignored.
func (p *parser) isLabelOf(name string) bool {
	k := p.Columns.of(name)
	return k.kind != ignored && !slices.ContainsFunc(k.features(name), func(feature string) bool {
		return slices.Contains(p.Named, feature)
	})
}

// checkNames returns the errors of the names themselves. It does not show equal names: the line may
// be a record.
//
// A column without a name is called by its number if the list of columns has this number.
func (p *parser) checkNames() (errs []error) {
	first := map[string]int{}
	for i, name := range p.header {
		number := strconv.Itoa(i + 1)
		if _, listed := p.Columns.listed(number); name == "" && listed {
			name, p.header[i] = number, number
		}
		before, twice := first[name]
		switch {
		case name == "" && i == 0:
			errs = append(errs, p.fault("column 1 has no name, must have one (if it is an index of pandas, a line 1,ignored, in "+
				"--columns leaves it out, as to_csv(…, index=False) does)"))
		case name == "":
			errs = append(errs, p.fault("column %s has no name, must have one (a line %s,ignored, in --columns leaves it out)",
				number, number))
		case twice:
			errs = append(errs, p.fault("columns %d and %d have the same name, must have different ones%s", before+1, i+1,
				isRecord))
		default:
			first[name] = i
		}
		if err := message.CheckText(fmt.Sprintf("the name of column %d", i+1), name, len(name)); err != nil {
			errs = append(errs, p.fault("%w", err))
		}
		if len(errs) == maxFaults {
			return append(errs, p.fault("errors of %d names: the rest was not read", maxFaults))
		}
	}
	return errs
}

func (p *parser) isNumber(text string) bool {
	_, plain := column{kind: number, saturate: true}.number(text)
	_, given := column{kind: number, saturate: true, numbers: p.Numbers}.number(text)
	return plain || given
}

// maybeRecord reports whether the header may be a record: a name is a number or occurs twice, or the file is a
// table by its content alone. Published files with names such as adult.data mostly have no header.
func (p *parser) maybeRecord() bool {
	if !p.NoHeader && p.HeaderLine == 0 && !Is(unpack.Name(p.file)) {
		return true
	}
	seen := map[string]bool{}
	for _, name := range p.header {
		if seen[name] || !p.NoHeader && p.HeaderLine == 0 && p.isNumber(name) {
			return true
		}
		seen[name] = true
	}
	return false
}

// labelLine returns the number of one of the next lines that has the name of the labels, or 0.
func (p *parser) labelLine(in *bufio.Reader) int {
	at := p.line
	defer func() { p.line = at }()
	const lines = 10
	for range lines {
		if p.record(in) != nil {
			return 0
		}
		for _, field := range p.fields {
			// The lines above the header may have another separator, or none.
			for name := range strings.FieldsFuncSeq(string(field), func(c rune) bool { return strings.ContainsRune(",;\t|", c) }) {
				if p.Label != "" && (strings.Trim(name, `" `) == p.Label || string(field) == p.Label) {
					return p.line
				}
			}
		}
	}
	return 0
}

// ErrOtherColumns is the error, usually wrapped, for a file whose columns are not those that Options requires, for
// example those of a model: its header lacks some of them or has other columns.
var ErrOtherColumns = errors.New("not the required columns")

// arrange reorders the columns to the required order of features. It returns an error if the
// features are not the required ones.
func (p *parser) arrange() error {
	var wrong []string
	if more := without(p.set.Columns, p.Named); len(more) > 0 && p.maybeRecord() {
		wrong = append(wrong, fmt.Sprintf("%d too many", len(more)))
	} else if len(more) > 0 {
		wrong = append(wrong, few(more)+" too many")
	}
	if missing := without(p.Named, p.set.Columns); len(missing) > 0 {
		wrong = append(wrong, few(missing)+" missing")
	}
	if len(wrong) > 0 {
		return p.fault("%w: %s%s", ErrOtherColumns, strings.Join(wrong, ", "), message.When(p.maybeRecord(), isRecord))
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
		k := p.Columns.of(name)
		if p.Kept != nil && slices.Contains(p.Kept.Names, name) && p.Named != nil &&
			!slices.ContainsFunc(k.features(name), func(f string) bool { return slices.Contains(p.Named, f) }) {
			k = column{kind: ignored}
		}
		if i == p.person {
			if given, listed := p.Columns.listed(name); listed && given.kind != ignored {
				return p.fault("column %q has the persons, must be %s in the list of columns, or not be listed", name, ignored)
			}
			k = column{kind: ignored}
		}
		k.numbers, k.saturate = p.Numbers, p.Saturate
		p.holds, p.order = append(p.holds, k), append(p.order, i)
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
