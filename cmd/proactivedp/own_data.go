package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/data"
	"proactivedp/data/libsvm"
	"proactivedp/data/table"
	"proactivedp/internal/bounded"
	"proactivedp/internal/memory"
)

// ownFlags say how a file of the user's own is read. Nothing of it is found in the records,
// which would tell of them.
type ownFlags struct {
	labelColumn, labelMap, normalise, test string

	mapped *data.Affine // how the columns of what was read last were normalised; nil: not at all
}

// ownFlagNames lists the flags.
var ownFlagNames = []string{"label-column", "label-map", "normalise", "test"}

// add gives cmd the flags.
func (o *ownFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.labelColumn, "label-column", "", "`name` of the column of a CSV file that has the labels")
	f.StringVar(&o.labelMap, "label-map", "", "which labels a file of yours has, and of which class: LABEL=CLASS,… "+
		"with classes from 0 on, or the labels of classes 0, 1, … alone, where 0..9 is all of them (default for a "+
		"LIBSVM file: -1 and 1, 0 and 1, or 1 and 2)")
	f.StringVar(&o.normalise, "normalise", "", "normalise the columns of a file of yours by constants that are "+
		"public, and not found in the data: bounds:LOW,HIGH takes all values from there to [0, 1], a CSV `file` with "+
		"the header column,low,high or column,mean,deviation each by its own (column: its name, or number from 1)")
	f.StringVar(&o.test, "test", "", "a second `file`, whose rows are the test set; all of --data is trained on then")
}

// check reports what is wrong with the flags for a data set.
func (o *ownFlags) check(cmd *cobra.Command, name string) error {
	if cmd.Flags().Lookup("label-map") == nil {
		return nil
	}
	var errs []error
	for _, flag := range ownFlagNames {
		if f := cmd.Flags().Lookup(flag); f.Changed && !ownFile(name) {
			errs = append(errs, fmt.Errorf("--%s is for a file of yours, not for %s", flag, name))
		} else if f.Changed && f.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s = \"\", must not be empty", flag))
		}
	}
	if !ownFile(name) || len(errs) > 0 {
		return errors.Join(errs...)
	}
	isTable := table.Is(name)
	if isTable != (o.labelColumn != "") {
		errs = append(errs, fmt.Errorf("--label-column = %q for %s, must name a column of a CSV file, and of no other",
			o.labelColumn, name))
	}
	if isTable && o.labelMap == "" {
		errs = append(errs, errors.New("--label-map is missing, must say which labels a CSV file has: that is public, "+
			"and not found in the data"))
	}
	if o.test != "" && table.Is(o.test) != isTable {
		errs = append(errs, fmt.Errorf("--test = %s, must be of the kind of %s", o.test, name))
	}
	if o.labelMap != "" {
		_, err := data.ParseLabels(o.labelMap)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// text states the flags that were given, each after a blank.
func (o *ownFlags) text() string {
	text := ""
	for i, value := range []string{o.labelColumn, o.labelMap, o.normalise, o.test} {
		if value != "" {
			text += " --" + ownFlagNames[i] + " " + quoted(value)
		}
	}
	return text
}

// quoted returns a word as a shell takes it.
func quoted(word string) string {
	if strings.ContainsFunc(word, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%", c)
	}) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// labels returns the label map; nil if none was given.
func (o *ownFlags) labels() (*data.Labels, error) {
	if o.labelMap == "" {
		return nil, nil
	}
	return data.ParseLabels(o.labelMap)
}

// read reads a file of so many features, 0 for any, within the memory.
func (o *ownFlags) read(path string, features int, limit int64) (*data.Dataset, error) {
	labels, err := o.labels()
	if err != nil {
		return nil, usage(err)
	}
	var d *data.Dataset
	if table.Is(path) {
		d, err = table.ParseFile(path, table.Options{Label: o.labelColumn, Labels: labels, Features: features,
			Test: o.test, Memory: limit})
	} else {
		d, err = libsvm.ParseFiles(path, libsvm.Options{Features: features, Labels: labels, Test: o.test,
			Memory: limit})
	}
	if err != nil || o.normalise == "" {
		return d, err
	}
	m, err := o.constants(d)
	if err != nil {
		return nil, err
	}
	if err := fitsMapped(d, m, limit); err != nil {
		return nil, err
	}
	if d, err = d.Mapped(m); err == nil {
		o.mapped = &m
		d.Note = "normalised by constants that were given (--normalise), which must be public"
	}
	return d, err
}

// fitsMapped reports that rows do not fit the memory once they are mapped.
func fitsMapped(d *data.Dataset, m data.Affine, limit int64) error {
	values := int64(len(d.Value))
	if m.Dense() {
		values = int64(d.Len()) * int64(d.Features)
	}
	if err := memory.Given(limit).Check(4 * values); err != nil {
		return fmt.Errorf("--normalise: %w", err)
	}
	return nil
}

const boundsPrefix = "bounds:"

// constants returns the map of the columns that --normalise asks for.
func (o *ownFlags) constants(d *data.Dataset) (data.Affine, error) {
	if list, ok := strings.CutPrefix(o.normalise, boundsPrefix); ok {
		low, high, err := parseBounds(list)
		if err != nil {
			return data.Affine{}, usage(fmt.Errorf("--normalise = %q, %w", o.normalise, err))
		}
		m := newAffine(d.Features)
		for j := range m.Scale {
			m.bound(j, low, high)
		}
		return m.Affine, nil
	}
	text, err := bounded.File(o.normalise, maxConstants)
	if err != nil {
		return data.Affine{}, fmt.Errorf("--normalise: %w", err)
	}
	m, err := readConstants(string(text), d)
	if err != nil {
		return data.Affine{}, fmt.Errorf("--normalise: %s: %w", o.normalise, err)
	}
	return m, nil
}

// maxConstants bounds a file of constants, in bytes.
const maxConstants = 64 << 20

// affine is a map that is made column by column.
type affine struct {
	data.Affine
	known []bool
}

func newAffine(features int) affine {
	return affine{data.Affine{Shift: make([]float64, features), Scale: make([]float64, features),
		Low: make([]float64, features), High: make([]float64, features)}, make([]bool, features)}
}

// bound takes column j from [low, high] to [0, 1].
func (a affine) bound(j int, low, high float64) {
	a.Shift[j], a.Scale[j], a.Low[j], a.High[j], a.known[j] = low, 1/(high-low), low, high, true
}

// standard takes column j to (x − mean)/deviation.
func (a affine) standard(j int, mean, deviation float64) {
	a.Shift[j], a.Scale[j], a.known[j] = mean, 1/deviation, true
	a.Low[j], a.High[j] = -math.MaxFloat64, math.MaxFloat64
}

func parseBounds(list string) (low, high float64, err error) {
	first, second, _ := strings.Cut(list, ",")
	low, err = strconv.ParseFloat(first, 64)
	high, err2 := strconv.ParseFloat(second, 64)
	if err != nil || err2 != nil || !(high > low) || high-low > math.MaxFloat32 {
		return 0, 0, errors.New("must be bounds:LOW,HIGH with finite numbers LOW < HIGH")
	}
	return low, high, nil
}

// readConstants reads the constants of each column of d.
func readConstants(text string, d *data.Dataset) (data.Affine, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace = true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return data.Affine{}, errors.New("it is empty")
	}
	if err != nil {
		return data.Affine{}, err
	}
	bounds := slices.Equal(header, []string{"column", "low", "high"})
	if !bounds && !slices.Equal(header, []string{"column", "mean", "deviation"}) {
		return data.Affine{}, fmt.Errorf("header %q, must be column,low,high or column,mean,deviation", header)
	}
	m := newAffine(d.Features)
	var errs []error
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return data.Affine{}, err
		}
		line, _ := r.FieldPos(0)
		j := columnOf(row[0], d)
		a, errA := strconv.ParseFloat(row[1], 64)
		b, errB := strconv.ParseFloat(row[2], 64)
		switch {
		case j < 0:
			errs = append(errs, fmt.Errorf("line %d: column %q is none of the %d", line, row[0], d.Features))
		case m.known[j]:
			errs = append(errs, fmt.Errorf("line %d: column %q stands there twice", line, row[0]))
		case errA != nil, errB != nil, math.IsInf(a-b, 0), a-b != a-b, bounds && !(b > a), !bounds && !(b > 0):
			errs = append(errs, fmt.Errorf("line %d: %s, %s, must be finite numbers, low below high, a deviation "+
				"above 0", line, row[1], row[2]))
		case bounds:
			m.bound(j, a, b)
		default:
			m.standard(j, a, b)
		}
	}
	if missing := slices.Index(m.known, false); missing >= 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("column %s has no constants", columnName(d, missing)))
	}
	return m.Affine, errors.Join(errs...)
}

// columnOf returns the place of a column by its name or number; -1 if there is none.
func columnOf(name string, d *data.Dataset) int {
	if d.Columns != nil {
		return slices.Index(d.Columns, name)
	}
	n, err := strconv.Atoi(name)
	if err != nil || n < 1 || n > d.Features {
		return -1
	}
	return n - 1
}

// columnName returns a column's name, or its number.
func columnName(d *data.Dataset, j int) string {
	if d.Columns != nil {
		return strconv.Quote(d.Columns[j])
	}
	return strconv.Itoa(j + 1)
}
