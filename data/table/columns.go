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

// Columns say what columns of a table hold that are no numbers as they stand. Like labels and
// constants it is public, and not found in the records.
type Columns struct {
	text  string
	kinds map[string]column
	named map[string]bool // the features that are 1 or 0 as a value is there
}

// column is what one column holds.
type column struct {
	kind    string
	values  []string // of oneOf those that a field may be, each a feature; of a number, see filled
	missing float32  // of a number: what an empty field and values stand for, if filled
	filled  bool
}

// The kinds of columns.
const (
	number  = "number"
	oneOf   = "one-of"
	ignored = "ignored"
)

// maxColumnsText bounds a file of columns, in bytes.
const maxColumnsText = 1 << 20

// ReadColumns reads what [ParseColumns] takes from a file.
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

// ParseColumns reads what columns hold: CSV with the header column,kind,values, whose fields
// may be divided as [ParseFile] says. A column of the kind one-of has one of the values, which
// are divided by |: each becomes a feature COLUMN=VALUE, 1 in the records that have it and 0
// in all others; of no|yes| the third is the empty field. One of the kind ignored is left out.
// A number may have a value that an empty field stands for, and behind it the texts that stand
// for the same: of 75|NA|999 a field that is empty, NA or 999 is 75. Columns that are not listed
// hold numbers. All that is wrong is reported.
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

// add takes a line.
func (c *Columns) add(name, kind, values string) error {
	if _, twice := c.kinds[name]; twice || name == "" {
		return fmt.Errorf("column %.40q, must be the name of one that does not stand there already", name)
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
				return fmt.Errorf("values %.200q of column %.40q: %.40q stands there twice", values, name, value)
			}
			seen[value], c.named[name+"="+value] = true, true
			k.values = append(k.values, value)
		}
		if len(k.values) < 2 {
			return fmt.Errorf("values %.200q of column %.40q, must be two at least, as in no|yes", values, name)
		}
	case number:
		if strings.TrimSpace(values) != "" {
			var ok bool
			if k, ok = filledBy(strings.Split(values, "|")); !ok {
				return fmt.Errorf("values %.200q of column %.40q, must be nothing, or a number that an empty field "+
					"stands for, with other texts that do behind it, each once, as in 75|NA", values, name)
			}
		}
	case ignored:
		if strings.TrimSpace(values) != "" {
			return fmt.Errorf("values %.40q of column %.40q, must be nothing: it is ignored", values, name)
		}
	default:
		return fmt.Errorf("kind %.40q of column %.40q, must be number, one-of or ignored", kind, name)
	}
	c.kinds[name] = k
	return nil
}

// filledBy returns a column of numbers where an empty field stands for the first value, and so do
// the others; false if that is no number, or one of them is empty or stands there twice.
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

// Text returns what the columns were read from.
func (c *Columns) Text() string {
	if c == nil {
		return ""
	}
	return c.text
}

// of returns what a column holds.
func (c *Columns) of(name string) column {
	if c != nil {
		if k, listed := c.kinds[name]; listed {
			return k
		}
	}
	return column{kind: number}
}

// is01 reports whether a feature is 1 or 0 as a value is there.
func (c *Columns) is01(d *data.Dataset, j int) bool {
	return c != nil && d.Columns != nil && c.named[d.Columns[j]]
}

// Numbers returns the names of the columns of d that are numbers as they stand in the file:
// all but those that c, which may be nil, makes features of 1 or 0.
func (c *Columns) Numbers(d *data.Dataset) []string {
	var names []string
	for j, name := range d.Columns {
		if !c.is01(d, j) {
			names = append(names, name)
		}
	}
	return names
}

// check reports the columns that a header does not have. Where the features are known by their
// names, one that is ignored may be missing.
func (c *Columns) check(header []string, label string, known bool) error {
	if c == nil {
		return nil
	}
	var errs []error
	if _, ok := c.kinds[label]; ok && slices.Contains(header, label) {
		errs = append(errs, fmt.Errorf("column %.40q has the labels, must not be said to hold something else", label))
	}
	missing := without(slices.Sorted(maps.Keys(c.kinds)), header)
	if known {
		missing = slices.DeleteFunc(missing, func(name string) bool { return c.kinds[name].kind == ignored })
	}
	for _, name := range missing[:min(len(missing), mostNames)] {
		errs = append(errs, fmt.Errorf("no column %.40q, of which is said what it holds, among %s%s", name, few(header),
			meant(name, header)))
	}
	if more := len(missing) - mostNames; more > 0 {
		errs = append(errs, fmt.Errorf("nor %d more", more))
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

// ErrNoNumber reports a field that is no number.
var ErrNoNumber = errors.New("must be a finite decimal number in the range of float32")

// take appends the features of a field.
func (k column) take(to []float32, field string) ([]float32, error) {
	switch {
	case k.kind == ignored:
		return to, nil
	case k.kind == oneOf:
		at := slices.Index(k.values, field)
		if at < 0 {
			return to, fmt.Errorf("must be one of those that were given: %s", few(k.values))
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
