// Package table reads data sets of numbers in columns: CSV with a header.
//
//	d, err := table.ParseFile("my.csv", table.Options{Label: "class", Labels: labels})
//
// The first line names the columns, each by a name of its own. One of them has the labels,
// the others finite decimal numbers, rounded once to the nearest float32, or what [Columns]
// say; they are the features in the order of the file. Fields are divided by commas, or by semicolons or tabs
// where the first line has these and no comma, and in a file named .tsv by tabs; may be in
// double quotes, and end with their line; blanks around them are left out. Lines end in \n or
// \r\n; empty lines are skipped. The text is UTF-8. A field that is empty, as of a value that
// is missing, is an error unless Columns say what takes its place.
package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"proactivedp/data"
	"proactivedp/internal/memory"
	"proactivedp/internal/nearest"
	"proactivedp/internal/unpack"
)

// Limits of what is read, so that a damaged file cannot take all memory.
const (
	MaxLine    = 16 << 20 // bytes of the longest line
	MaxColumns = 1 << 20
)

// maxFaults is how many columns may have a fault before a file is read no further.
const maxFaults = 50

// Options say how a file is read.
type Options struct {
	Label  string       // name of the column of the labels
	Labels *data.Labels // which labels there are, and of which class
	// Columns say what columns hold that are no numbers; nil: all are numbers.
	Columns *Columns
	// Features is the number of features that there must be; 0: any.
	Features int
	// Named are the names of the features that there must be, in this order; nil: any.
	Named []string
	// Test is the path of a second file with the same header, whose rows are the test set; "":
	// there is none, and the set counts as published as one.
	Test   string
	Memory int64 // bytes that the process may take; 0: as much as it has
	// Unlabelled allows files without the column of the labels: all rows are of class 0 then,
	// which says nothing.
	Unlabelled bool
}

// Is reports whether a path is that of a table, by the end of its name: .csv or .tsv,
// perhaps compressed (.gz, .bz2).
func Is(path string) bool {
	end := kind(path)
	return end == ".csv" || end == ".tsv"
}

func kind(path string) string {
	path = strings.ToLower(path)
	for _, packed := range []string{".gz", ".bz2"} {
		path = strings.TrimSuffix(path, packed)
	}
	return filepath.Ext(path)
}

// ParseFile reads the file at path, plain or compressed by gzip or bzip2. Errors name the
// file and its line; of each column the first field that does not fit is reported.
func ParseFile(path string, o Options) (*data.Dataset, error) {
	p := &parser{Options: o, limit: memory.Given(o.Memory)}
	p.left = p.limit.Left()
	p.set = &data.Dataset{Name: filepath.Base(path), Classes: 2}
	if o.Labels == nil {
		return nil, errors.New("table: labels are missing, must be given: which there are is public, and not found " +
			"in the data")
	}
	p.set.Names = o.Labels.Names()
	p.set.Classes = len(p.set.Names)
	for _, file := range []string{path, o.Test} {
		if file == "" {
			continue
		}
		p.file, p.line = file, 0
		before := p.set.Len()
		p.set.Train = before
		end := p.parseFile()
		if err := errors.Join(append(p.faults, end)...); err != nil {
			return nil, err
		}
		if p.set.Len() == before {
			return nil, p.fault("no rows below the header")
		}
	}
	return p.set.WithDense(p.set.Features, p.value), nil
}

type parser struct {
	Options
	file   string
	line   int
	comma  rune
	header []string // of the first file
	label  int      // the column of the labels; -1: there is none
	holds  []column // what each column holds
	faults []error  // the first of each column
	faulty []bool   // the columns that have one
	set    *data.Dataset
	value  []float32
	fields []string
	spill  []byte
	limit  memory.Limit
	left   int64
}

func (p *parser) fault(format string, args ...any) error {
	where := p.file
	if p.line > 0 {
		where += ":" + strconv.Itoa(p.line)
	}
	return fmt.Errorf("table: %s: "+format, append([]any{where}, args...)...)
}

func (p *parser) parseFile() error {
	f, err := os.Open(p.file)
	if err != nil {
		return fmt.Errorf("table: %w", err)
	}
	defer f.Close()
	in, err := unpack.Reader(f)
	if err != nil {
		return fmt.Errorf("table: read %s: %w", p.file, err)
	}
	seen := false
	for {
		p.line++
		line, end := p.read(in)
		if end != nil && end != io.EOF {
			return end
		}
		if len(bytes.TrimSpace(line)) > 0 {
			take := p.row
			if !seen {
				take, seen = p.names, true
				if line, err = p.begin(line); err != nil {
					return err
				}
			}
			if err := p.split(line); err != nil {
				return err
			}
			if err := take(); err != nil {
				return err
			}
		}
		if end == io.EOF {
			if !seen {
				p.line = 0
				return p.fault("no header: the first line must name the columns")
			}
			p.line = 0
			return nil
		}
	}
}

// read returns the next line, without its end; io.EOF comes with the last.
func (p *parser) read(in *bufio.Reader) ([]byte, error) {
	p.spill = p.spill[:0]
	for {
		part, err := in.ReadSlice('\n')
		if len(p.spill)+len(part) > MaxLine {
			return nil, p.fault("a line of more than %d bytes", MaxLine)
		}
		p.spill = append(p.spill, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("table: read %s: line %d: %w", p.file, p.line, err)
		}
		return bytes.TrimRight(p.spill, "\r\n"), err
	}
}

// byteOrder is the mark with which spreadsheets begin a file.
const byteOrder = "\ufeff"

// begin finds out of the header how the fields of the file are divided, and returns it
// without a mark of its bytes' order.
func (p *parser) begin(header []byte) ([]byte, error) {
	if bytes.HasPrefix(header, []byte("\xff\xfe")) || bytes.HasPrefix(header, []byte("\xfe\xff")) {
		return nil, p.fault("the text is UTF-16, must be UTF-8")
	}
	if !utf8.Valid(header) {
		return nil, p.fault("the header is no UTF-8, must be: %.200q", header)
	}
	header = bytes.TrimPrefix(header, []byte(byteOrder))
	p.comma = separator(header)
	if kind(p.file) == ".tsv" {
		p.comma = '\t'
	}
	return header, nil
}

// separator returns what divides the fields of a header: commas, or, where there is none
// outside of quotes, semicolons or tabs. A name has none of them, unless it is in quotes.
func separator(header []byte) rune {
	var bare []byte // the header without what is in quotes
	for i, part := range bytes.Split(header, []byte{'"'}) {
		if i%2 == 0 {
			bare = append(bare, part...)
		}
	}
	for _, c := range []byte(",;\t") {
		if bytes.IndexByte(bare, c) >= 0 {
			return rune(c)
		}
	}
	return ','
}

// split sets the fields of a line.
func (p *parser) split(line []byte) error {
	p.fields = p.fields[:0]
	if bytes.IndexByte(line, '"') < 0 {
		for field := range strings.SplitSeq(string(line), string(p.comma)) {
			p.fields = append(p.fields, strings.TrimSpace(field))
		}
	} else {
		r := csv.NewReader(bytes.NewReader(line))
		r.Comma, r.TrimLeadingSpace = p.comma, true
		fields, err := r.Read()
		if err != nil {
			if bad, ok := errors.AsType[*csv.ParseError](err); ok {
				err = bad.Err
			}
			return p.fault("%w (a field in quotes ends with its line)", err)
		}
		for _, field := range fields {
			p.fields = append(p.fields, strings.TrimSpace(field))
		}
	}
	if len(p.fields) > MaxColumns {
		return p.fault("%d columns, must be at most %d", len(p.fields), MaxColumns)
	}
	return nil
}

// names takes the header.
func (p *parser) names() error {
	if p.header != nil {
		if !slices.Equal(p.fields, p.header) {
			return p.fault("the header is %.200q, must be that of the first file, %.200q", p.fields, p.header)
		}
		return nil
	}
	p.header = slices.Clone(p.fields)
	seen := map[string]bool{}
	var errs []error
	for i, name := range p.header {
		if name == "" || seen[name] {
			errs = append(errs, p.fault("column %d is named %q, must have a name of its own", i+1, name))
		}
		seen[name] = true
	}
	p.label = slices.Index(p.header, p.Label)
	if err := p.Columns.check(p.header, p.Label); err != nil {
		errs = append(errs, p.fault("%w", err))
	}
	if len(errs) == 0 {
		errs = append(errs, p.nameFeatures())
	}
	if p.label < 0 && !p.Unlabelled {
		hint := ""
		if like := nearest.Name(p.Label, p.header); like != "" {
			hint = fmt.Sprintf(": did you mean %q?", like)
		}
		errs = append(errs, p.fault("no column %q of labels among %.200q%s", p.Label, p.header, hint))
	}
	if p.set.Features = len(p.set.Columns); p.set.Features == 0 {
		errs = append(errs, p.fault("no column but that of the labels"))
	}
	if p.Features != 0 && p.set.Features != p.Features {
		errs = append(errs, p.fault("%d features, must be the %d that were said", p.set.Features, p.Features))
	}
	if errors.Join(errs...) == nil && p.Named != nil {
		return p.checkNamed()
	}
	return errors.Join(errs...)
}

// ErrOtherColumns reports a header with other columns than those that there must be.
var ErrOtherColumns = errors.New("other columns than there must be")

// checkNamed reports features that are not those that there must be.
func (p *parser) checkNamed() error {
	var wrong []string
	if more := without(p.set.Columns, p.Named); len(more) > 0 {
		wrong = append(wrong, fmt.Sprintf("%.200q too many", more))
	}
	if missing := without(p.Named, p.set.Columns); len(missing) > 0 {
		wrong = append(wrong, fmt.Sprintf("%.200q missing", missing))
	}
	if len(wrong) > 0 {
		return p.fault("%w: %s", ErrOtherColumns, strings.Join(wrong, ", "))
	}
	if !slices.Equal(p.set.Columns, p.Named) {
		return p.fault("the columns are %.200q, must be %.200q in this order", p.set.Columns, p.Named)
	}
	return nil
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
	p.holds, p.set.Columns, p.faulty = nil, nil, make([]bool, len(p.header))
	for i, name := range p.header {
		k := p.Columns.of(name)
		p.holds = append(p.holds, k)
		if i == p.label {
			continue
		}
		for _, feature := range k.features(name) {
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

// row takes a row.
func (p *parser) row() error {
	if len(p.fields) != len(p.header) {
		return p.fault("%d fields, must be the %d of the header", len(p.fields), len(p.header))
	}
	class, whole := int32(0), len(p.value)
	for i, field := range p.fields {
		if p.faulty[i] {
			continue
		}
		var err error
		if i == p.label {
			class, err = p.class(field)
		} else if p.value, err = p.holds[i].take(p.value, field); err != nil {
			err = p.fault("column %q: %.40q, %w", p.header[i], field, err)
		}
		if err != nil {
			p.faulty[i] = true
			if p.faults = append(p.faults, err); len(p.faults) == maxFaults {
				return p.fault("faults in %d columns: read no further", maxFaults)
			}
		}
	}
	if len(p.faults) > 0 { // the file is read on for the faults of other columns alone
		p.value = p.value[:whole]
		return nil
	}
	p.set.Label = append(p.set.Label, class)
	// A slice that grows is there twice, the second time longer by a quarter.
	need := int64(4*len(p.value)+4*len(p.set.Label)) * 9 / 4
	if need > p.left {
		return p.fault("%w: about %s are needed for the rows so far, the limit is %s (%s)", memory.ErrTooLittle,
			memory.Text(need), memory.Text(p.limit.Bytes), p.limit.By)
	}
	return nil
}

// class returns the class of a label.
func (p *parser) class(label string) (int32, error) {
	class, ok := p.Labels.Class(label)
	if !ok {
		return 0, p.fault("label %.40q, must be one of those that were given: %v", label, p.Labels)
	}
	return class, nil
}

// wrongPoint says of a field with a comma in the place of the point what is wrong with it.
func wrongPoint(field string) string {
	if _, err := strconv.ParseFloat(strings.Replace(field, ",", ".", 1), 32); err == nil {
		return ", with a point and no comma"
	}
	return ""
}
