package table

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/internal/bounded"
	"proactivedp/internal/message"
)

// Columns says what the columns of a table hold that are not simply numbers. Like labels and
// constants it is public, and not found in the records.
type Columns struct {
	text  string
	kinds map[string]column
	named map[string]bool // the features that are 1 or 0
}

// column describes the content of one column.
type column struct {
	kind    string
	values  []string // for oneOf the allowed values, each a feature; for a number, see filled
	missing float32  // for a number, if filled: the number that an empty field and values stand for
	filled  bool
}

// The kinds of columns.
const (
	number  = "number"
	oneOf   = "one-of"
	ignored = "ignored"
)

// maxColumnsText is the largest size of a file of columns, in bytes.
const maxColumnsText = 1 << 20

// ReadColumns reads a file that [ParseColumns] parses.
func ReadColumns(path string) (*Columns, error) {
	text, err := bounded.File(path, maxColumnsText)
	if err != nil {
		return nil, fmt.Errorf("columns: %w", err)
	}
	c, err := ParseColumns(string(text))
	if err != nil {
		return nil, fmt.Errorf("columns %s: %w", path, err)
	}
	return c, nil
}

// ParseColumns reads what columns hold. The text is CSV with the header column,kind,values; its
// fields may be separated as in [ParseFile]. Columns that are not listed hold numbers. The kinds
// are
//
//   - one-of: a field has one of the values, which are separated by |. Each value becomes a feature
//     COLUMN=VALUE, which is 1 in the records that have it and 0 in others. In no|yes| the third
//     value is the empty field.
//   - ignored: the column is left out.
//   - number: if values are given, the first is the number that an empty field stands for. Texts
//     with the same meaning may follow: with 75|NA|999, a field that is empty, NA or 999 means 75.
//
// The error reports all problems.
func ParseColumns(text string) (*Columns, error) {
	r, header, err := headed(text)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(header, []string{"column", "kind", "values"}) {
		return nil, fmt.Errorf("header %.200q, must be column,kind,values", header)
	}
	c := &Columns{text: text, kinds: map[string]column{}, named: map[string]bool{}}
	var errs []error
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return c, errors.Join(errs...)
		}
		if err != nil {
			return nil, err
		}
		line, _ := r.FieldPos(0)
		if err := c.add(strings.TrimSpace(row[0]), strings.TrimSpace(row[1]), row[2]); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", line, err))
		}
	}
}

// add adds a line.
func (c *Columns) add(name, kind, values string) error {
	if _, twice := c.kinds[name]; twice || name == "" {
		return fmt.Errorf("column %.40q, must be a name that does not occur before", name)
	}
	if err := message.CheckText("column and values", name+values, len(name)+len(values)); err != nil {
		return err
	}
	k := column{kind: kind}
	switch kind {
	case oneOf:
		seen := map[string]bool{}
		for value := range strings.SplitSeq(values, "|") {
			value = strings.TrimSpace(value)
			if seen[value] {
				return fmt.Errorf("values %.200q of column %.40q: %.40q occurs twice", values, name, value)
			}
			seen[value], c.named[name+"="+value] = true, true
			k.values = append(k.values, value)
		}
		if len(k.values) < 2 {
			return fmt.Errorf("values %.200q of column %.40q, must be at least two, as in no|yes", values, name)
		}
	case number:
		if strings.TrimSpace(values) != "" {
			var ok bool
			if k, ok = filledBy(strings.Split(values, "|")); !ok {
				return fmt.Errorf("values %.200q of column %.40q, must be empty, or a number that an empty field "+
					"stands for, followed by other texts that stand for it, each once, as in 75|NA", values, name)
			}
		}
	case ignored:
		if strings.TrimSpace(values) != "" {
			return fmt.Errorf("values %.40q of column %.40q, must be empty, because the column is ignored", values, name)
		}
	default:
		return fmt.Errorf("kind %.40q of column %.40q, must be number, one-of or ignored", kind, name)
	}
	c.kinds[name] = k
	return nil
}

// filledBy returns a column of numbers in which an empty field and the other values stand for the
// first value. ok is false if the first value is no number, or if another one is empty or occurs
// twice.
func filledBy(values []string) (column, bool) {
	k := column{kind: number, filled: true}
	seen := map[string]bool{"": true}
	for _, text := range values[1:] {
		text = strings.TrimSpace(text)
		if seen[text] {
			return k, false
		}
		seen[text] = true
		k.values = append(k.values, text)
	}
	var ok bool
	k.missing, ok = numberOf(strings.TrimSpace(values[0]))
	return k, ok
}

// Text returns the text from which the columns were read.
func (c *Columns) Text() string {
	if c == nil {
		return ""
	}
	return c.text
}

// of returns the content of a column.
func (c *Columns) of(name string) column {
	if c != nil {
		if k, listed := c.kinds[name]; listed {
			return k
		}
	}
	return column{kind: number}
}

// is01 reports whether a feature is 1 or 0 because it stands for a value.
func (c *Columns) is01(d *data.Dataset, j int) bool {
	return c != nil && d.Columns != nil && c.named[d.Columns[j]]
}

// Numbers returns the names of the columns of d that hold numbers. These are all columns except
// those that c, which may be nil, turns into features of 1 or 0.
func (c *Columns) Numbers(d *data.Dataset) []string {
	var names []string
	for j, name := range d.Columns {
		if !c.is01(d, j) {
			names = append(names, name)
		}
	}
	return names
}

// check returns an error for columns that the header does not have. If the features are known by
// name, an ignored column may be missing.
func (c *Columns) check(header []string, label string, known bool) error {
	if c == nil {
		return nil
	}
	var errs []error
	if _, ok := c.kinds[label]; ok && slices.Contains(header, label) {
		errs = append(errs, fmt.Errorf("column %.40q has the labels, must not be in the list of columns", label))
	}
	missing := without(slices.Sorted(maps.Keys(c.kinds)), header)
	if known {
		missing = slices.DeleteFunc(missing, func(name string) bool { return c.kinds[name].kind == ignored })
	}
	for _, name := range missing[:min(len(missing), mostNames)] {
		errs = append(errs, fmt.Errorf("the list of columns has %.40q, must be one of %s%s", name, few(header),
			meant(name, header)))
	}
	if more := len(missing) - mostNames; more > 0 {
		errs = append(errs, fmt.Errorf("and %d more that do not exist", more))
	}
	return errors.Join(errs...)
}

// features returns the names of the features of a column.
func (k column) features(name string) []string {
	switch k.kind {
	case ignored:
		return nil
	case oneOf:
		var names []string
		for _, value := range k.values {
			names = append(names, name+"="+value)
		}
		return names
	}
	return []string{name}
}

// ErrNoNumber is wrapped for a field that is not a number.
var ErrNoNumber = errors.New("must be a finite decimal number in the range of float32")

// take appends the features of a field.
func (k column) take(to []float32, field string) ([]float32, error) {
	switch {
	case k.kind == ignored:
		return to, nil
	case k.kind == oneOf:
		at := slices.Index(k.values, field)
		if at < 0 {
			return to, fmt.Errorf("must be one of the values that --columns gives: %s", few(k.values))
		}
		for i := range k.values {
			if i == at {
				to = append(to, 1)
			} else {
				to = append(to, 0)
			}
		}
		return to, nil
	case k.filled && (field == "" || slices.Contains(k.values, field)):
		return append(to, k.missing), nil
	}
	v, ok := numberOf(field)
	if !ok {
		return to, fmt.Errorf("%w%s", ErrNoNumber, wrongPoint(field))
	}
	return append(to, v), nil
}

// numberOf reads a finite decimal number.
func numberOf(field string) (float32, bool) {
	v, err := strconv.ParseFloat(field, 32)
	return float32(v), err == nil && v-v == 0 && math.Abs(v) <= math.MaxFloat32 && !strings.ContainsAny(field, "xX_")
}
