// Package table reads data sets from CSV files: columns of numbers, categories or dates, and a column of labels.
//
//	d, err := table.ParseFile("my.csv", table.Options{Label: "class", Labels: labels})
//
// The first line names the columns; all names differ. If the file has no such line, the columns are
// named 1, 2 and so on, see [Options]. One column has the labels. The other columns have finite
// decimal numbers, rounded once to the nearest float32, or what [Columns] says; they are the
// features, in the order of the file.
//
// Fields are separated by commas or, if the first line has no comma, by semicolons, tabs, bars, or one or more
// blanks. In a file named .tsv they are separated by tabs. A line sep=; before the header sets the separator, as
// Excel writes it. If the records have no header and the first line begins with |, that line is a comment, as in
// files for C4.5. Fields may be in double quotes, and may then contain separators and ends of lines. Blanks around
// fields are removed. Lines end in \n or \r\n, and empty lines are skipped. If the header ends in a separator, other
// lines may also end in one. The text is UTF-8. An empty field, such as a missing value, is an error unless Columns
// says what it stands for.
//
// With Options.Target, the column of labels has targets (numbers to be predicted) instead: finite decimal numbers. A
// target must not be empty.
//
// Errors name the file, the line and the column. They never show a value of a record, with one exception: a label
// that is not in Options.Labels.
package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/internal/memory"
	"proactivedp/internal/report"
	"proactivedp/internal/unpack"
)

// These are limits for files. They keep a damaged file from using up all memory.
const (
	MaxLine    = 16 << 20 // largest length of a line, in bytes
	MaxColumns = 1 << 20
	// MaxHeaderLine is the last line of a file that may have the names of the columns; the first line is 1.
	MaxHeaderLine = 1000
)

// maxFaults is the number of columns with an error after which the rest of a file is not read.
const maxFaults = 50

// Options says how a CSV file is read: which column has the labels, what the other columns hold, and
// how the text is written.
type Options struct {
	Label string // name of the column of the labels or targets
	// Labels is the user's map from labels to classes. Give either Labels or Target, and nil for the other.
	Labels *data.Labels
	// Target, unless it is nil, means that the column Label has numbers to be predicted (targets) and not labels of
	// classes. It has the public bounds of the targets.
	Target *data.TargetBounds
	// Columns describes the columns that do not hold plain numbers, for example those of categories or dates. nil
	// means that all columns hold numbers.
	Columns *Columns
	// Features is the number of features that the file must have, after Columns has been applied. 0 means any number.
	Features int
	// Named are the names of the features that the file must have, for example those of a model. The data set has
	// them in this order, whatever the order of the columns. nil means any features, in the order of the columns.
	Named []string
	// NoHeader means that the first line is a record and not a header. The columns are then named 1, 2 and so on. In
	// a file without the column of labels (Unlabelled), the number of this column is skipped, so that the other
	// columns have the same names as in files with it.
	NoHeader bool
	// HeaderLine is the number of the line that names the columns. The lines before it are not read.
	// 0 means the first line; names that are all numbers are then refused, because the line is
	// probably a record.
	HeaderLine int
	Numbers    Numbers // how numbers are written
	// Saturate reads a number beyond the range of float32 as the largest float32 of its sign, instead of an error.
	// Set it if values will be clamped to bounds afterwards.
	Saturate bool
	// Test is the path of a second file, whose rows are the test set. It has the same columns by name, in any order.
	// "" means no second file. A training then splits the rows of the one file (see data.Split).
	Test   string
	Memory int64 // bytes that the process may use; 0 means all available memory
	// Person is the name of the column that says whose record each row is. It is never a feature, and
	// its fields appear in no message. "" means that no column has persons.
	Person string
	// Kept receives the text of some columns. nil means none.
	Kept *Kept
	// Progress shows how much of a large file was read; nil shows nothing.
	Progress io.Writer
	// Unlabelled allows files without the column of labels. All rows of such a file have a placeholder instead:
	// class 0 or, with Target, the scaled target 0.
	Unlabelled bool
}

// Kept receives the text of some columns, such as customer numbers, while [ParseFile] reads a file (see
// Options.Kept). A program that predicts can then write these columns unchanged next to the predictions.
type Kept struct {
	// Names are the names of the columns to keep; the caller sets them. A kept column is also used as a feature,
	// unless Options.Named is set and does not list it.
	Names []string
	Rows  [][]string // set by ParseFile: the fields of each row of the data set, in the order of Names
}

// Is reports whether path, the name of a file, means a table: whether it ends in .csv or .tsv, possibly followed
// by the ending of a compressed file. For a zip archive, pass the name of the file in it.
func Is(path string) bool {
	end := kind(path)
	return end == ".csv" || end == ".tsv"
}

// IsText guesses from start, the first bytes of a text file, whether the file is a table like those of this package.
// It returns false for a file in LIBSVM's format, in which fields of the form index:value follow the label. Use it if
// the name of a file does not say what it is. It looks at the first line that has more than one field; text after #
// is ignored.
func IsText(start []byte) bool {
	start = bytes.TrimPrefix(start, []byte(unpack.Mark))
	for line := range bytes.Lines(start) {
		line, _, _ = bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte{'#'})
		fields := bytes.FieldsFunc(line, unpack.IsBlank)
		for _, field := range fields[:min(len(fields), 2)] {
			if (unpack.IsEntry(field) || bytes.HasPrefix(field, []byte("qid:"))) && !bytes.ContainsAny(field, ",;") {
				return false
			}
		}
		if len(fields) > 1 || bytes.ContainsAny(line, ",;|") {
			return true
		}
	}
	return false
}

func kind(path string) string {
	path = strings.ToLower(path)
	for _, packed := range unpack.Endings() {
		path = strings.TrimSuffix(path, packed)
	}
	return filepath.Ext(path)
}

// ParseFile reads the CSV file at path as o says. The file is plain, compressed by gzip, bzip2, xz or zstd, or the
// only file of a zip archive. Fields are separated by commas or, if the first line has no comma, by semicolons, tabs,
// bars or blanks; the package comment has the details of the format. The error names the file and the line, and
// reports the first invalid field of each column.
func ParseFile(path string, o Options) (*data.Dataset, error) {
	if o.NoHeader && o.HeaderLine > 0 || o.HeaderLine < 0 || o.HeaderLine > MaxHeaderLine {
		return nil, fmt.Errorf("header line = %d, must be in [1, %d], and not given for a file without a header",
			o.HeaderLine, MaxHeaderLine)
	}
	p := &parser{Options: o, limit: memory.Given(o.Memory)}
	p.left = p.limit.Left()
	p.set = &data.Dataset{Name: filepath.Base(path)}
	if err := p.set.Expect(o.Labels, o.Target); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, file := range []string{path, o.Test} {
		if file == "" {
			continue
		}
		p.file, p.line, p.next = file, 0, 0
		before := p.set.Len()
		p.set.Train = before
		end := p.parseFile()
		if err := errors.Join(append(p.faults, end)...); err != nil {
			return nil, err
		}
		if p.set.Len() == before {
			return nil, p.fault("no rows below the header")
		}
		p.Named = slices.Clone(p.set.Columns)
	}
	return p.set.WithDense(p.set.Features, p.value), nil
}

type parser struct {
	Options
	file   string
	line   int // the line at which the current record begins
	next   int // the number of lines that were read
	comma  rune
	header []string
	ending bool     // the header ends in a separator
	label  int      // the column of labels, or -1 if there is none
	person int      // the column of persons, or -1 if there is none
	holds  []column // the content of each column
	order  []int    // the columns, in the order of the features
	keeps  []int    // the columns of Kept
	text   int64    // bytes of the fields that are kept
	open   *os.File // the file that is read
	at     int64    // how much of it was read
	faults []error  // the first error of each column
	faulty []bool   // the columns with an error
	unkept int      // number of rows that were read only for errors
	set    *data.Dataset
	value  []float32
	fields [][]byte // of the current record, in spill
	spill  []byte
	quoted *bufio.Reader // of a record with fields in quotes
	limit  memory.Limit
	left   int64
}

func (p *parser) fault(format string, args ...any) error {
	where := p.file
	if p.line > 0 {
		where += ":" + strconv.Itoa(p.line)
	}
	return fmt.Errorf("%s: "+format, append([]any{where}, args...)...)
}

func (p *parser) parseFile() error {
	f, err := os.Open(p.file)
	if err != nil {
		return err
	}
	defer f.Close()
	p.open = f
	watched, finish := report.Reading(p.Progress, f)
	defer finish()
	in, err := unpack.TextFile(f, watched)
	if err != nil {
		return fmt.Errorf("%s: %w", p.file, err)
	}
	if err := p.begin(in); err != nil {
		return err
	}
	switch err := p.record(in); {
	case err == io.EOF:
		p.line = 0
		return p.fault("no header: the first line must name the columns")
	case err != nil:
		return err
	}
	record := slices.Clone(p.fields)
	if p.NoHeader {
		p.number()
	}
	p.at = unpack.Done(f)
	if err := p.names(in); err != nil {
		return err
	}
	if p.NoHeader {
		p.fields = record
		if err := p.row(); err != nil {
			return err
		}
	}
	if err := p.chunks(in); err != nil {
		return err
	}
	p.line = 0
	return nil
}
