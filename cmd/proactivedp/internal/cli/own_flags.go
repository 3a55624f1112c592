package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/data"
	"proactivedp/data/libsvm"
	"proactivedp/data/table"
	"proactivedp/internal/decimal"
	"proactivedp/internal/memory"
	"proactivedp/internal/message"
	"proactivedp/internal/numpy"
)

// OwnFlags say how a file of the user's own is read. Nothing of it is found in the records,
// which would tell of them.
type OwnFlags struct {
	labelColumn, LabelMap, normalise, test, columns string

	Run    *data.Labels // labels of the run that a client joins, used without --label-map; nil without a run
	Mapped *data.Affine // how the columns of what was read last were normalised; nil: not at all
	Kinds  string       // what the columns hold of what was read last, as table.ParseColumns reads it

	unscaled []string // columns of what was read last whose numbers are taken as they stand
}

// OwnFlagNames lists the flags.
var OwnFlagNames = []string{"label-column", "label-map", "normalise", "test", "columns"}

// Add gives cmd the flags.
func (o *OwnFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.labelColumn, "label-column", "", "`name` of the column of a CSV file that has the labels")
	f.StringVar(&o.LabelMap, "label-map", "", "labels of an own file: those of classes 0, 1 and so on, such as "+
		"no,yes or 0..9, or LABEL=CLASS,…; put a label with a comma or = in double quotes (default for a LIBSVM "+
		"file: -1 and 1, 0 and 1, or 1 and 2)")
	f.StringVar(&o.normalise, "normalise", "", "scale the columns of an own file by public constants, not taken "+
		"from the data: bounds:LOW,HIGH maps this range to [0, 1] in all columns; a CSV `file` with the header "+
		"column,low,high or column,mean,deviation has constants for each column, by its name or its number from 1 "+
		"(for images: mean and deviation of p/255 for each channel)")
	f.StringVar(&o.columns, "columns", "", "what columns of a CSV file hold if not numbers, in a CSV `file` with the "+
		"header column,kind,values: one-of with A|B|C (each becomes 0 or 1), ignored, or number with 75|NA (75 where "+
		"the field is empty or NA); public, not taken from the data")
	f.StringVar(&o.test, "test", "", "a second `file` with the test set; then all of --data is for training")
}

// check reports what is wrong with the flags for a data set.
func (o *OwnFlags) check(cmd *cobra.Command, name string) error {
	if cmd.Flags().Lookup("label-map") == nil {
		return nil
	}
	var errs []error
	for _, flag := range OwnFlagNames {
		if cmd.Flags().Changed(flag) && !OwnFile(name) {
			errs = append(errs, fmt.Errorf("--%s is for an own file, not for %s", flag, name))
		}
	}
	if !OwnFile(name) || len(errs) > 0 {
		return errors.Join(errs...)
	}
	kind := KindOf(name)
	switch {
	case kind == CSVFile && o.labelColumn == "":
		errs = append(errs, fmt.Errorf("--label-column is missing, must name the column of the labels of %s", name))
	case kind != CSVFile && o.labelColumn != "":
		errs = append(errs, fmt.Errorf("--label-column = %q is for a CSV file, which %s is not by its name",
			o.labelColumn, name))
	}
	if kind != LIBSVMFile && o.LabelMap == "" && o.Run == nil {
		errs = append(errs, fmt.Errorf("--label-map is missing, must say which labels a %s file has, such as no,yes "+
			"or 0..9: that is public, and not found in the data", kind))
	}
	if kind != CSVFile && o.columns != "" {
		errs = append(errs, fmt.Errorf("--columns = %q is for a CSV file, which %s is not by its name", o.columns,
			name))
	}
	if o.test != "" && KindOf(o.test) != kind {
		errs = append(errs, fmt.Errorf("--test = %s, must be of the kind of %s", o.test, name))
	}
	if o.LabelMap != "" {
		_, err := data.ParseLabels(o.LabelMap)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Text states the flags that were given, each after a blank.
func (o *OwnFlags) Text() string {
	text := ""
	for i, value := range []string{o.labelColumn, o.LabelMap, o.normalise, o.test, o.columns} {
		if value != "" {
			text += " --" + OwnFlagNames[i] + " " + message.Word(value)
		}
	}
	return text
}

// labels returns the label map, or the labels of the run; nil if there are neither.
func (o *OwnFlags) labels() (*data.Labels, error) {
	if o.LabelMap == "" {
		return o.Run, nil
	}
	return data.ParseLabels(o.LabelMap)
}

// read reads a file of so many features, 0 for any, within the memory.
func (o *OwnFlags) read(path string, features int, limit int64) (*data.Dataset, error) {
	labels, err := o.labels()
	if err != nil {
		return nil, Usage(err)
	}
	var d *data.Dataset
	var columns *table.Columns
	switch KindOf(path) {
	case CSVFile:
		if columns, err = o.readColumns(); err != nil {
			return nil, err
		}
		d, err = table.ParseFile(path, table.Options{Label: o.labelColumn, Labels: labels, Columns: columns,
			Features: features, Test: o.test, Memory: limit})
		if errors.Is(err, table.ErrNoNumber) {
			err = fmt.Errorf("%w\n--columns FILE says what columns hold that are no numbers: CSV with the header "+
				"column,kind,values and lines such as sex,one-of,F|M and weight,number,75|NA, where 75 is what an "+
				"empty field and NA stand for, and id,ignored,", err)
		}
	case NumPyFile:
		d, err = numpy.ParseFile(path, numpy.Options{Features: features, Labels: labels, Test: o.test, Memory: limit})
	default:
		d, err = libsvm.ParseFile(path, libsvm.Options{Features: features, Labels: labels, Test: o.test,
			Memory: limit})
	}
	if err != nil {
		return nil, err
	}
	if o.normalise == "" {
		if KindOf(path) == CSVFile {
			o.unscaled = columns.Numbers(d)
		}
		return d, nil
	}
	if d.Images != nil {
		return d, o.normalisePixels(d)
	}
	m, err := o.constants(d, columns)
	if err != nil {
		return nil, err
	}
	if err := fitsMapped(d, m, limit); err != nil {
		return nil, err
	}
	if d, err = d.Mapped(m); err == nil {
		o.Mapped = &m
		d.Note = normalisedNote
	}
	return d, err
}

// sayUnscaled says which columns were read without --normalise, before a budget is spent on
// them: what they hold is not looked at, and one of large values can be all that is learned.
func (o *OwnFlags) sayUnscaled(cmd *cobra.Command, path string) {
	if len(o.unscaled) == 0 {
		return
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "proactivedp: the numbers of %s of %s are taken as they stand, such as %.40q: "+
		"large ones outweigh all else in a gradient that is clipped; --normalise takes columns to [0, 1] by public "+
		"bounds\n",
		decimal.Many(len(o.unscaled), "column"), path, o.unscaled[0])
}

// normalisedNote says of data that --normalise was given.
const normalisedNote = "normalised by constants that were given (--normalise), which must be public"

// readColumns returns what --columns says; nil if it was not given.
func (o *OwnFlags) readColumns() (*table.Columns, error) {
	if o.columns == "" {
		return nil, nil
	}
	c, err := table.ReadColumns(o.columns)
	if err != nil {
		return nil, Usage(fmt.Errorf("--columns: %w", err))
	}
	o.Kinds = c.Text()
	return c, nil
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
func (o *OwnFlags) constants(d *data.Dataset, c *table.Columns) (data.Affine, error) {
	if list, ok := strings.CutPrefix(o.normalise, boundsPrefix); ok {
		m, err := table.Bounds(list, d, c)
		if err != nil {
			return m, Usage(fmt.Errorf("--normalise = %q: %w", o.normalise, err))
		}
		return m, nil
	}
	m, err := table.ReadConstants(o.normalise, d, c)
	if err != nil {
		return m, fmt.Errorf("--normalise: %w", err)
	}
	return m, nil
}
