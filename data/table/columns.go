package table

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"proactivedp/data"
	"proactivedp/internal/bounded"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
	"proactivedp/internal/unpack"
)

// Columns is the user's description of the columns of a table that are not plain numbers, such as categories and
// dates. Make one with [ParseColumns]. It must be public: write it from what you know about the table without looking
// at the records, because ε does not cover what the description reveals. The program never computes it from the
// records.
type Columns struct {
	text     string
	kinds    map[string]column
	patterns []string // the names in kinds with a *, in the order of the text
}

// column describes the content of one column.
type column struct {
	kind string
	// values are for oneOf and ordered the allowed values. For others they are the texts that stand
	// for missing, next to the empty field.
	values  []string
	others  int // the position in values of *, which stands for all other texts; -1 if there is none
	missing float32
	filled  bool // missing and values are given
	since   time.Time
	layout  string // of dates, for package time

	numbers  Numbers // how numbers are written
	saturate bool    // numbers beyond the range of float32 become the largest ones
}

// The kinds of columns.
const (
	number  = "number"
	logged  = "log"
	date    = "date"
	oneOf   = "one-of"
	ordered = "ordered"
	ignored = "ignored"
)

// anything is the value that stands for all texts that are not listed.
const anything = "*"

// maxColumnsText is the largest size of a file of columns, in bytes.
const maxColumnsText = 1 << 20

// ReadColumns reads a description of columns, which says which columns hold categories, dates and so on, from the
// file at path. [ParseColumns] describes the format.
func ReadColumns(path string) (*Columns, error) {
	text, err := bounded.File(path, maxColumnsText)
	if err != nil {
		return nil, fmt.Errorf("columns: %w", err)
	}
	c, err := ParseColumns(string(text))
	if err == nil {
		err = unused(c.patterns) // descriptions that models hold were made before this was checked
	}
	if err != nil {
		return nil, fmt.Errorf("columns %s: %w", path, err)
	}
	return c, nil
}

// ParseColumns reads the user's description of columns. The text is CSV with the header column,kind,values, such as
//
//	column,kind,values
//	colour,one-of,red|green|blue
//	age,number,40|NA
//
// Fields may be separated as in [ParseFile]. Columns of the table that are not listed hold numbers. In the name of a
// column, * stands for any text, so that s* lists s1, s2 and so on. For a column, the line with exactly its name
// counts or, if there is none, the first pattern that matches. The kinds are
//
//   - number: if values are given, the first is the number that an empty field stands for. Texts with the same
//     meaning may follow: with 75|NA|999, a field that is empty, NA or 999 means 75. With 75|*, everything that is
//     not a finite number means 75.
//   - log: a number x that becomes sign(x)·ln(1 + |x|), for columns that range over powers of ten. Values are as for
//     number.
//   - date: becomes a number of days. The first of the values is the date from which days are counted, as in
//     2000-01-31. If the file writes dates differently, a value such as DD.MM.YYYY follows. Then follow the date that
//     an empty field stands for and the texts with the same meaning, as for number. A time of day after a date is not
//     read.
//   - one-of: a field has one of the values, which are separated by |. Each value becomes a feature COLUMN=VALUE,
//     which is 1 in the records that have it and 0 in others. In no|yes| the third value is the empty field. In
//     no|yes|* the third value stands for all other texts.
//   - ordered: values as for one-of, from the lowest to the highest. They become one feature: 0 for the lowest value,
//     1 for the highest, and equal steps between.
//   - ignored: the column is left out.
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
	c := &Columns{text: text, kinds: map[string]column{}}
	var errs []error
	for {
		row, err := next(r, header)
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
	parts := strings.Split(values, "|")
	trim(parts)
	k, must := column{kind: kind, others: -1}, ""
	switch kind {
	case oneOf, ordered:
		if k.values, must = parts, k.list(parts); must == "" && len(parts) < 2 {
			must = "at least two, as in no|yes"
		}
	case number, logged:
		if len(parts) > 1 || parts[0] != "" {
			if must = k.fill(parts, k.number); must != "" {
				must = "empty, or a number that an empty field stands for, followed by other texts that stand for it, " +
					"each once, as in 75|NA"
				if strings.Contains(values, "..") {
					must += "; the range of a column goes into the file of --normalise, as column,low,high"
				}
			}
		}
	case date:
		must = k.dates(parts)
	case ignored:
		if len(parts) > 1 || parts[0] != "" {
			must = "empty, because the column is ignored"
		}
	default:
		return fmt.Errorf("kind %.40q of column %.40q, must be number, log, date, one-of, ordered or ignored", kind, name)
	}
	if must != "" {
		return fmt.Errorf("values %.200q of column %.40q, must be %s", values, name, must)
	}
	c.kinds[name] = k
	if strings.Contains(name, anything) {
		c.patterns = append(c.patterns, name)
	}
	return nil
}

// list finds the value that stands for all others, and returns what values must be if one occurs
// twice.
func (k *column) list(values []string) string {
	seen := map[string]bool{}
	for i, value := range values {
		if seen[value] {
			return fmt.Sprintf("different from each other: %.40q occurs twice", value)
		}
		seen[value] = true
		if value == anything {
			k.others = i
		}
	}
	return ""
}

// fill sets the number for an empty field and for other texts: the first of the values, parsed by
// read. If the first value has another form, fill returns what the values must be.
func (k *column) fill(values []string, read func(string) (float32, bool)) string {
	missing, ok := read(values[0])
	if !ok || slices.Contains(values[1:], "") || k.list(values[1:]) != "" {
		return "a value that an empty field stands for, followed by other texts that stand for it, each once"
	}
	k.filled, k.missing, k.values = true, missing, values[1:]
	return ""
}

// dates sets since when days are counted, how dates are written, and what stands for a missing date.
func (k *column) dates(values []string) string {
	const must = "a date from which days are counted, as in 2000-01-31, then how the file writes dates if not as " +
		"YYYY-MM-DD, then a date that an empty field stands for and other texts that stand for it, each once, as in " +
		"2000-01-31|DD.MM.YYYY|2010-06-30|NA"
	var err error
	if k.since, err = time.Parse(time.DateOnly, values[0]); err != nil {
		return must
	}
	k.layout = time.DateOnly
	values = values[1:]
	if len(values) > 0 {
		if layout := strings.NewReplacer("YYYY", "2006", "MM", "01", "DD", "02").Replace(values[0]); layout != values[0] {
			if day, err := time.Parse(layout, k.since.Format(layout)); err != nil || !day.Equal(k.since) {
				return must
			}
			k.layout, values = layout, values[1:]
		}
	}
	if len(values) == 0 {
		return ""
	}
	if k.fill(values, func(text string) (float32, bool) { return k.days(text, time.DateOnly) }) != "" {
		return must
	}
	return ""
}

// days returns the number of days from k.since to a date.
func (k column) days(field, layout string) (float32, bool) {
	if end := len(layout); len(field) > end && (field[end] == ' ' || field[end] == 'T') {
		field = field[:end] // a time of day follows
	}
	day, err := time.Parse(layout, field)
	return float32(day.Sub(k.since) / (24 * time.Hour)), err == nil
}

// Text returns the text from which [ParseColumns] made c, so that it can be stored with a model. For a nil c it
// returns "".
func (c *Columns) Text() string {
	if c == nil {
		return ""
	}
	return c.text
}

// listed returns the content of a column that has a separate line in the description.
func (c *Columns) listed(name string) (column, bool) {
	if c == nil {
		return column{}, false
	}
	k, listed := c.kinds[name]
	return k, listed
}

// Ignoring returns a description like c in which the column name is left out of the features (it adds the line
// NAME,ignored). Use it for a column that must not be a feature, before you save a model: the model then accepts
// files with and without this column. If c already has this line, Ignoring returns c. If c has a line for exactly
// that name with another kind, this is an error. The name must not contain *. c may be nil.
func (c *Columns) Ignoring(name string) (*Columns, error) {
	switch k, listed := c.listed(name); {
	case listed && k.kind == ignored:
		return c, nil
	case listed:
		return nil, fmt.Errorf("column %.40q is listed as %s, must be %s", name, k.kind, ignored)
	}
	if strings.Contains(name, anything) {
		return nil, fmt.Errorf("column %.40q, must have no %s in its name to be ignored", name, anything)
	}
	text := cmp.Or(c.Text(), "column,kind,values")
	var line strings.Builder
	w := csv.NewWriter(&line)
	_, w.Comma = separator([]byte(strings.TrimPrefix(text, unpack.Mark)))
	if err := w.Write([]string{name, ignored, ""}); err != nil {
		return nil, err
	}
	w.Flush()
	return ParseColumns(strings.TrimRight(text, "\r\n") + "\n" + line.String())
}

// of returns the content of a column.
func (c *Columns) of(name string) column {
	if k, listed := c.listed(name); listed {
		return k
	}
	if c != nil {
		for _, pattern := range c.patterns {
			if fits(pattern, name) {
				return c.kinds[pattern]
			}
		}
	}
	return column{kind: number, others: -1}
}

// fits reports whether a name fits a pattern, in which * stands for any text.
func fits(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, anything)
	name, ok := strings.CutPrefix(name, first)
	if !wild || !ok {
		return ok && name == ""
	}
	for {
		part, after, more := strings.Cut(rest, anything)
		if !more {
			return strings.HasSuffix(name, part)
		}
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(part):], after
	}
}

// Is01 reports whether feature j of d comes from a column of categories: one that c describes as one-of (a feature
// for each value) or ordered (see [ParseColumns]). Such a feature is in [0, 1] and needs no normalisation. c may be
// nil.
func (c *Columns) Is01(d *data.Dataset, j int) bool {
	if c == nil || d.Columns == nil {
		return false
	}
	feature := d.Columns[j]
	for i := range len(feature) {
		if feature[i] != '=' {
			continue
		}
		if k := c.of(feature[:i]); k.kind == oneOf && slices.Contains(k.values, feature[i+1:]) {
			return true
		}
	}
	return c.of(feature).kind == ordered
}

// bound returns the feature that a bound of a column becomes: bounds are given as the file has the
// column.
func (c *Columns) bound(feature, text string) (float64, error) {
	k := c.of(feature)
	if k.kind == date {
		if days, ok := k.days(text, time.DateOnly); ok {
			return float64(days), nil
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if k.kind == logged {
		v = symmetricLog(v)
	}
	return v, err
}

// symmetricLog returns sign(v)·ln(1 + |v|), which is defined for all numbers.
func symmetricLog(v float64) float64 { return math.Copysign(math.Log1p(math.Abs(v)), v) }

// check returns an error for columns that the header does not have. If the features are known by
// name, an ignored column may be missing. shown are the names that an error may show.
func (c *Columns) check(header, shown []string, label string, known bool) error {
	if c == nil {
		return nil
	}
	var errs []error
	if _, ok := c.kinds[label]; ok && slices.Contains(header, label) {
		errs = append(errs, fmt.Errorf("column %.40q has the labels, must not be in the list of columns", label))
	}
	missing := slices.DeleteFunc(without(slices.Sorted(maps.Keys(c.kinds)), header), func(name string) bool {
		return known && c.kinds[name].kind == ignored || strings.Contains(name, anything) &&
			slices.ContainsFunc(header, func(column string) bool { return column != label && fits(name, column) })
	})
	for _, name := range missing[:min(len(missing), mostNames)] {
		among := fmt.Sprintf("one of the %d columns", len(header))
		if shown != nil {
			among = "one of " + few(shown) + meant(name, shown)
		}
		if known { // the features of a model: the list of columns is its own
			errs = append(errs, fmt.Errorf("no column %.40q among %s", name, strings.TrimPrefix(among, "one of ")))
			continue
		}
		errs = append(errs, fmt.Errorf("the list of columns has %.40q, must be %s", name, among))
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

// ErrNoNumber is the error, usually wrapped, for a field of a CSV file that is not a number although its column holds
// numbers.
var ErrNoNumber = errors.New("must be a finite decimal number in the range of float32")

// take appends the features of a field. Its errors do not show the field, because it belongs to a
// record.
func (k *column) take(to []float32, field []byte) ([]float32, error) {
	isField := func(text string) bool { return text == string(field) } // without a copy
	switch k.kind {
	case ignored:
		return to, nil
	case oneOf, ordered:
		at := slices.IndexFunc(k.values, isField)
		if at < 0 {
			at = k.others
		}
		if at < 0 {
			return to, fmt.Errorf("must be one of the values that --columns gives: %s (an additional value * stands for "+
				"all others)", few(k.values))
		}
		if k.kind == ordered {
			return append(to, float32(at)/float32(len(k.values)-1)), nil
		}
		whole := len(to)
		to = append(to, make([]float32, len(k.values))...)
		to[whole+at] = 1
		return to, nil
	}
	if k.filled && (len(field) == 0 || slices.ContainsFunc(k.values, isField)) {
		return append(to, k.missing), nil
	}
	if k.kind != date && k.numbers == "" {
		if v, ok := decimal.Float32(field); ok {
			return append(to, k.scaled(v)), nil
		}
	}
	text := string(field)
	var v float32
	var ok bool
	if k.kind == date {
		v, ok = k.days(text, k.layout)
	} else {
		v, ok = k.number(text)
	}
	switch {
	case ok:
		return append(to, v), nil
	case k.others >= 0:
		return append(to, k.missing), nil
	case text == "":
		return to, fmt.Errorf("is empty, %w", ErrNoNumber)
	case k.kind == date:
		return to, fmt.Errorf("must be a date written like %s", k.since.Format(k.layout))
	}
	return to, fmt.Errorf("%w%s", ErrNoNumber, k.numbers.hint(text))
}

// number reads a number as a feature.
func (k column) number(field string) (float32, bool) {
	if k.numbers != "" {
		var ok bool
		if field, ok = k.numbers.plain(field); !ok {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(field, 32)
	if err != nil && k.saturate && errors.Is(err, strconv.ErrRange) {
		v, err = math.Copysign(math.MaxFloat32, v), nil
	}
	if err != nil || v-v != 0 || strings.ContainsAny(field, "xX_") {
		return 0, false
	}
	return k.scaled(float32(v)), true
}

// scaled returns the feature that a number becomes.
func (k *column) scaled(v float32) float32 {
	if k.kind == logged {
		return float32(symmetricLog(float64(v)))
	}
	return v
}
