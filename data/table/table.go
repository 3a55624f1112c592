// Package table reads data sets of numbers in columns from CSV files with a header.
//
//	d, err := table.ParseFile("my.csv", table.Options{Label: "class", Labels: labels})
//
// The first line names the columns; all names differ. One column has the labels. The other columns
// have finite decimal numbers, rounded once to the nearest float32, or what [Columns] says; they
// are the features, in the order of the file. Commas separate fields. If the first line has no
// comma but semicolons or tabs, these do, and in a file named .tsv tabs do. Fields may be in double
// quotes, and end on the same line. Blanks around them are removed. Lines end in \n or \r\n, and
// empty lines are skipped. The text is UTF-8. An empty field, as of a missing value, is an error
// unless Columns says what it stands for.
package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/internal/memory"
	"proactivedp/internal/unpack"
)

// Limits for files, so that a damaged file cannot use up all memory.
const (
	MaxLine    = 16 << 20 // largest length of a line, in bytes
	MaxColumns = 1 << 20
)

// maxFaults is the number of columns with an error after which the rest of a file is not read.
const maxFaults = 50

// Options say how a file is read.
type Options struct {
	Label  string       // name of the column of the labels
	Labels *data.Labels // the labels and their classes
	// Columns says what columns hold that are not numbers. nil means that all are numbers.
	Columns *Columns
	// Features is the required number of features; 0 means any number.
	Features int
	// Named are the names of the required features. The data set has them in this order, whatever
	// the order of the columns. nil means any features, in the order of the columns.
	Named []string
	// Test is the path of a second file with the same header, whose rows are the test set. "" means
	// no second file: the set then counts as published as one.
	Test   string
	Memory int64 // bytes that the process may use; 0 means all available memory
	// Unlabelled allows files without the column of labels. All rows then have class 0, which has
	// no meaning.
	Unlabelled bool
}

// Is reports whether a path names a table, by its suffix: .csv or .tsv, possibly followed by .gz or
// .bz2.
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

// ParseFile reads the file at path, plain or compressed by gzip or bzip2. Errors name the file and
// the line. For each column, the first invalid field is reported.
func ParseFile(path string, o Options) (*data.Dataset, error) {
	p := &parser{Options: o, limit: memory.Given(o.Memory)}
	p.left = p.limit.Left()
	p.set = &data.Dataset{Name: filepath.Base(path), Classes: 2}
	if o.Labels == nil {
		return nil, errors.New("labels are missing, must be given: the list of labels is public and not taken " +
			"from the data")
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
	label  int      // the column of labels, or -1 if there is none
	holds  []column // the content of each column
	order  []int    // the columns, in the order of the features
	faults []error  // the first error of each column
	faulty []bool   // the columns with an error
	unkept int      // number of rows that were read only for errors
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
	return fmt.Errorf("%s: "+format, append([]any{where}, args...)...)
}

func (p *parser) parseFile() error {
	f, err := os.Open(p.file)
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := unpack.Reader(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", p.file, err)
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
