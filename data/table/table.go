// Package table reads data sets of numbers in columns: CSV with a header.
//
//	d, err := table.ParseFile("my.csv", table.Options{Label: "class", Labels: labels})
//
// The first line names the columns, each by a name of its own. One of them has the labels,
// the others finite decimal numbers, rounded once to the nearest float32, or what [Columns]
// say; they are the features, in the order of the file. Fields are divided by commas, or by semicolons or tabs
// where the first line has these and no comma, and in a file named .tsv by tabs; may be in
// double quotes, and end with their line; blanks around them are left out. Lines end in \n or
// \r\n; empty lines are skipped. The text is UTF-8. A field that is empty, as of a value that
// is missing, is an error unless Columns say what takes its place.
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
	// Named are the names of the features that there must be. They are in this order in the data
	// set, whatever the order of the columns; nil: any, in the order of the columns.
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
		return nil, errors.New("labels are missing, must be given: which there are is public, and not found " +
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
	order  []int    // the columns, in the order in which they are taken
	faults []error  // the first of each column
	faulty []bool   // the columns that have one
	unkept int      // rows that were read for faults alone
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
