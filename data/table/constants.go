package table

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/internal/bounded"
)

// Bounds returns a normalisation that scales every column of d from the same public bounds to [0, 1]. Apply it with
// [data.Dataset.Mapped]. list is the bounds as text LOW,HIGH, such as 0,255. Features of columns of categories (those
// that c describes as one-of or ordered, see [ParseColumns]) are in [0, 1] already and are not scaled. c may be nil.
func Bounds(list string, d *data.Dataset, c *Columns) (data.Affine, error) {
	low, high, err := data.ParseBounds(list)
	if err != nil {
		return data.Affine{}, err
	}
	m := newAffine(d.Features)
	for j := range m.Scale {
		switch {
		case c.Is01(d, j):
			m.bound(j, 0, 1)
		case d.Columns != nil && c.of(d.Columns[j]).kind == logged:
			m.bound(j, symmetricLog(low), symmetricLog(high))
		default:
			m.bound(j, low, high)
		}
	}
	return m.Affine, nil
}

// affine is a map that is built column by column.
type affine struct {
	data.Affine
	known []bool
}

func newAffine(features int) affine {
	return affine{data.Affine{Shift: make([]float64, features), Scale: make([]float64, features),
		Low: make([]float64, features), High: make([]float64, features)}, make([]bool, features)}
}

// bound maps column j from [low, high] to [0, 1].
func (a affine) bound(j int, low, high float64) {
	a.Shift[j], a.Scale[j], a.Low[j], a.High[j], a.known[j] = low, 1/(high-low), low, high, true
}

// standard maps column j to (x − mean)/deviation.
func (a affine) standard(j int, mean, deviation float64) {
	a.Shift[j], a.Scale[j], a.known[j] = mean, 1/deviation, true
	a.Low[j], a.High[j] = -math.MaxFloat64, math.MaxFloat64
}

// missing returns an error for each column without constants.
func (a affine) missing(d *data.Dataset) []error {
	var errs []error
	for j, known := range a.known {
		if !known && len(errs) < maxFaults {
			errs = append(errs, fmt.Errorf("column %s has no constants", d.ColumnName(j)))
		}
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New("a line for the column * gives constants to all columns without a line; "+
			"--columns leaves out columns that are ignored"))
	}
	return errs
}

// unused returns an error if a pattern counts for no column, because an earlier one matches all columns that it matches.
func unused(patterns []string) error {
	for i, later := range patterns {
		for _, first := range patterns[:i] {
			if fits(first, later) {
				return fmt.Errorf("the line for %q is not used, because the line for %q comes first and matches the same columns: "+
					"put it before that line", later, first)
			}
		}
	}
	return nil
}

// maxConstants is the largest size of a file of constants, in bytes.
const maxConstants = 64 << 20

// ReadConstants reads a normalisation of the columns of d from the CSV file at path. Apply it with
// [data.Dataset.Mapped]. The constants must be public, not computed from the records. The file has a line for each
// column, and one of two headers. With the header column,low,high, the bounds low and high of a column are scaled to
// 0 and 1; see [data.Affine] for values outside these bounds. The bounds are in the unit of the file, even if c turns
// the column into a logarithm or a number of days. With the header column,mean,deviation, a feature x becomes (x −
// mean)/deviation. The mean and the deviation are those of the feature, for example of the logarithm. Fields may be
// separated as in [ParseFile].
//
// A line names a column by its name in d.Columns or, if it has no name, by its number from 1. In a name, * stands for
// any text. A line with such a pattern is for all matching columns that no line names exactly; if several patterns
// match, the first one counts. Columns of categories, which c describes as one-of or ordered, need no line. c may be
// nil. The error reports all problems.
func ReadConstants(path string, d *data.Dataset, c *Columns) (data.Affine, error) {
	text, err := bounded.File(path, maxConstants)
	if err != nil {
		return data.Affine{}, fmt.Errorf("constants: %w", err)
	}
	m, err := parseConstants(string(text), d, c)
	if err != nil {
		return data.Affine{}, fmt.Errorf("constants %s: %w", path, err)
	}
	return m, nil
}

func parseConstants(text string, d *data.Dataset, c *Columns) (data.Affine, error) {
	r, header, err := headed(text)
	if err != nil {
		return data.Affine{}, err
	}
	bounds := slices.Equal(header, []string{"column", "low", "high"})
	if !bounds && !slices.Equal(header, []string{"column", "mean", "deviation"}) {
		return data.Affine{}, fmt.Errorf("header %q, must be column,low,high or column,mean,deviation", header)
	}
	m, places := newAffine(d.Features), placesOf(d)
	var errs []error
	var later []func() // for columns that no other line gives
	var patterns []string
	for {
		if len(errs) == maxFaults {
			errs = append(errs, fmt.Errorf("errors in %d lines: the rest was not read", maxFaults))
			break
		}
		row, err := next(r, header)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return data.Affine{}, err
		}
		line, _ := r.FieldPos(0)
		trim(row)
		pattern := ""
		columns := []int{columnOf(row[0], places, d.Features)}
		if columns[0] < 0 && strings.Contains(row[0], anything) {
			pattern, columns = row[0], nil
			for j := range d.Features {
				if name := strconv.Itoa(j + 1); d.Columns != nil && fits(pattern, d.Columns[j]) ||
					d.Columns == nil && fits(pattern, name) {
					columns = append(columns, j)
				}
			}
		}
		set := func(j int) error {
			name := ""
			if d.Columns != nil {
				name = d.Columns[j]
			}
			var of *Columns // the deviations in the file are those of features
			if bounds {
				of = c
			}
			a, errA := of.bound(name, row[1])
			b, errB := of.bound(name, row[2])
			switch {
			case errA != nil, errB != nil, math.IsInf(a-b, 0), a-b != a-b, bounds && !(b > a), !bounds && !(b > 0):
				return fmt.Errorf("line %d: column %q: %.40q and %.40q, must be finite numbers, or dates in a column of dates, "+
					"with low below high, or a deviation above 0", line, name, row[1], row[2])
			case bounds:
				m.bound(j, a, b)
			default:
				m.standard(j, a, b)
			}
			return nil
		}
		switch {
		case len(columns) == 0 || columns[0] < 0:
			named := ""
			if _, err := strconv.Atoi(row[0]); err == nil && places != nil {
				named = ", which have names and no numbers"
			}
			errs = append(errs, fmt.Errorf("line %d: column %q is none of the %d%s%s", line, row[0], d.Features, named,
				meant(row[0], d.Columns)))
		case pattern != "":
			patterns = append(patterns, pattern)
			later = append(later, func() {
				for _, j := range columns {
					if m.known[j] || c.Is01(d, j) {
						continue
					}
					if err := set(j); err != nil {
						errs = append(errs, err)
						return
					}
				}
			})
		case m.known[columns[0]]:
			errs = append(errs, fmt.Errorf("line %d: column %q occurs twice", line, row[0]))
		default:
			if err := set(columns[0]); err != nil {
				errs = append(errs, err)
			}
		}
	}
	errs = append(errs, unused(patterns))
	for _, set := range later {
		set()
	}
	for j := range m.known {
		if !m.known[j] && c.Is01(d, j) {
			m.bound(j, 0, 1)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return m.Affine, err
	}
	return m.Affine, errors.Join(m.missing(d)...)
}

// trim removes the blanks around fields or values, because fields of records have none.
func trim(fields []string) {
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
}

// placesOf returns the positions of columns by name, or nil if they have no names.
func placesOf(d *data.Dataset) map[string]int {
	if d.Columns == nil {
		return nil
	}
	places := map[string]int{}
	for j, name := range d.Columns {
		places[name] = j
	}
	return places
}

// columnOf returns the position of a column by its name or, if columns have no names, by its
// number. It is -1 if the column does not exist.
func columnOf(name string, places map[string]int, features int) int {
	if places != nil {
		if j, ok := places[name]; ok {
			return j
		}
		return -1
	}
	n, err := strconv.Atoi(name)
	if err != nil || n < 1 || n > features {
		return -1
	}
	return n - 1
}
