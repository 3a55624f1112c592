// Package libsvm reads data sets in the text format of LIBSVM (C.-C. Chang and C.-J. Lin, "LIBSVM: a library for
// support vector machines", ACM TIST 2(3), 2011). It also finds or downloads some published data sets by name, such
// as phishing.
//
//	d, err := libsvm.ParseFile("my.libsvm", libsvm.Options{}) // as many features as the largest index
//	d, err := libsvm.Load(ctx, "phishing", fetch.Locator{})
//
// A line has the format
//
//	[label {index:value}] [# comment]
//
// Blanks or tabs separate fields and may surround them. Lines end in \n or \r\n; the last line needs no end. Empty
// lines are skipped. A byte order mark may begin the file. Indices are decimal integers from 1, or from 0 with
// Options.ZeroBased, and increase along a line. Values are finite decimal numbers, rounded once to the nearest
// float32. A value that is zero after rounding is not stored, but its index counts for the number of features.
// Without Options.Labels a file has two labels: 0 and 1, −1 and 1, or 1 and 2, in any form of a decimal number, such
// as +1, 1.0 or 1.000000e+00. Options.Labels allows any labels and any number of classes.
//
// Errors name the file, the line and the byte. They never have a value of a record.
package libsvm

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"proactivedp/data"
	"proactivedp/internal/memory"
	"proactivedp/internal/report"
	"proactivedp/internal/unpack"
)

// These are limits for files. They keep a damaged file from using up all memory.
const (
	// MaxIndex is the largest index, so that columns and their number fit an int32.
	MaxIndex = math.MaxInt32 - 1
	// MaxLine is the largest length of a line, in bytes.
	MaxLine = 64 << 20
	// MaxRows is the largest number of rows. The number of entries is bounded by the memory.
	MaxRows = math.MaxInt32
)

// ParseError is an error in the text of a file, with its place.
type ParseError struct {
	File   string
	Line   int // line number from 1; 0 if the error concerns the whole file
	Column int // byte of the line, from 1; 0 if the error concerns the whole line
	Msg    string

	err error // the wrapped error, or nil
}

// Unwrap returns the error that caused e, such as data.ErrLabel, or nil if e has no such cause.
func (e *ParseError) Unwrap() error { return e.err }

// Error returns the message of e after the file, the line and the byte. The records may be private, so the text never
// has the value of a feature. But it may have an invalid label, or an index.
func (e *ParseError) Error() string {
	where := e.File
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
		if e.Column > 0 {
			where += ":" + strconv.Itoa(e.Column)
		}
	}
	return where + ": " + e.Msg
}

// Parse reads a data set with two labels from r, in the format of the package comment, plain or compressed by gzip,
// bzip2, xz or zstd, which it recognises by the first bytes. The smaller label becomes class 0, and the larger one
// class 1. The number of features is the largest index. name is the name of the data set, and of the file in errors.
// For other labels or targets use [ParseFile].
//
// The error is a *ParseError if the text breaks the format or a limit, if there are no rows or no indices, or if only
// one label occurs. If r fails, it is the error of r.
func Parse(name string, r io.Reader) (*data.Dataset, error) {
	p := newParser(name, name, Options{})
	in, err := unpacked(name, nil, r)
	if err != nil {
		return nil, err
	}
	if err := p.rows(in); err != nil {
		return nil, err
	}
	return p.finish()
}

// Options says how a file is read: its features, its labels or targets, and its test set.
type Options struct {
	// Features is the number of columns, in [0, MaxIndex]. A larger index is an error. 0 means the
	// largest index in the file.
	Features int
	// Labels says which labels the file may have, and the class of each. nil means two classes with the labels 0 and
	// 1, −1 and 1, or 1 and 2, of which the smaller one is class 0.
	Labels *data.Labels
	// Target, unless it is nil, means that the first field of a line is a real number to be predicted (a target) and
	// not the label of a class. It has the public bounds of the targets.
	Target *data.TargetBounds
	// Test is the path of a second file, whose rows become the test set. "" means no second file. A training then
	// splits the rows of the one file (see data.Split).
	Test string
	// Unlabelled means that labels are not read, as in a file whose labels are to be predicted. All rows then have a
	// placeholder instead: class 0 or, with Target, the scaled target 0.
	Unlabelled bool
	// ZeroBased means that indices count from 0, not from 1.
	ZeroBased bool
	// Saturate reads a number beyond the range of float32 as the largest float32 of its sign, instead of an error.
	// Set it if values will be clamped to bounds afterwards, so that one extreme value cannot reveal itself by an
	// error.
	Saturate bool
	Memory   int64 // limit for the memory of the process in bytes; 0 means all available memory
	// Progress shows how much of a large file was read; nil shows nothing.
	Progress io.Writer
}

// ParseFile reads the file at path in the format of the package comment, as o says. It may be compressed, as for
// [Parse]. The name of the data set is the last element of path.
func ParseFile(path string, o Options) (*data.Dataset, error) {
	if o.Features < 0 || o.Features > MaxIndex {
		return nil, fmt.Errorf("%s: features = %d, must be in [0, %d]", path, o.Features, MaxIndex)
	}
	p := newParser(filepath.Base(path), path, o)
	if o.Target != nil || o.Labels != nil {
		if err := p.set.Expect(o.Labels, o.Target); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, file := range []string{path, o.Test} {
		if file == "" {
			continue
		}
		p.file, p.line = file, 0
		before := p.set.Len()
		p.set.Train, p.kept = before, len(p.set.Index)
		if err := p.parseFile(); err != nil {
			return nil, err
		}
		if p.set.Len() == before {
			return nil, &ParseError{File: file, Msg: "no rows"}
		}
	}
	p.file = path
	return p.finish()
}

// parseFile reads the parser's current file.
func (p *parser) parseFile() error {
	f, err := os.Open(p.file)
	if err != nil {
		return err
	}
	defer f.Close()
	p.open = f
	watched, finish := report.Reading(p.Progress, f)
	defer finish()
	in, err := unpacked(p.file, f, watched)
	if err != nil {
		return err
	}
	return p.rows(in)
}

func unpacked(file string, f *os.File, r io.Reader) (*bufio.Reader, error) {
	var in *bufio.Reader
	var err error
	if f == nil {
		in, err = unpack.Text(r)
	} else {
		in, err = unpack.TextFile(f, r)
	}
	if err != nil {
		if named, ok := errors.AsType[*fs.PathError](err); ok {
			err = named.Err // the file is named below
		}
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return in, nil
}

type parser struct {
	Options
	file     string
	line     int
	maxIndex int
	maxLine  int
	maxRows  int
	width    int // largest index seen
	set      *data.Dataset
	labels   []int32 // labels found so far, in order of appearance, at most two; not used if labels are given

	open  *os.File // the file that is read, or nil
	kept  int      // number of entries of an earlier file
	spill []byte   // holds a line that is longer than the reader's buffer
	limit memory.Limit
	left  int64 // remaining bytes that the rows may use
}

// newParser returns a parser for the file's rows, into a data set of the given name.
func newParser(name, file string, o Options) *parser {
	limit := memory.Given(o.Memory)
	return &parser{
		Options: o, file: file, limit: limit, left: limit.Left(),
		maxIndex: cmp.Or(o.Features, MaxIndex), maxLine: MaxLine, maxRows: MaxRows,
		set: &data.Dataset{Name: name, Features: o.Features, Classes: 2, Start: []int{0}},
	}
}

// fault makes an error at byte i of the current line.
func (p *parser) fault(i int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &ParseError{p.file, p.line, i + 1, err.Error(), errors.Unwrap(err)}
}

func (p *parser) rows(in *bufio.Reader) error {
	if err := unpack.SkipMark(in); err != nil {
		return &ParseError{File: p.file, Line: 1, Msg: err.Error()}
	}
	for {
		p.line++
		line, end := p.read(in)
		if end != nil && end != io.EOF {
			return end
		}
		if err := p.row(line); err != nil {
			return err
		}
		if end == io.EOF {
			return nil
		}
	}
}

// read returns the next line without its end. With the last line it returns io.EOF.
func (p *parser) read(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		p.spill = p.spill[:0]
		for errors.Is(err, bufio.ErrBufferFull) && len(p.spill) <= p.maxLine {
			p.spill = append(p.spill, line...)
			line, err = in.ReadSlice('\n')
			if bad := p.fits(cap(p.set.Index)); bad != nil {
				return nil, bad
			}
		}
		p.spill = append(p.spill, line...)
		line = p.spill
	}
	if len(line) > p.maxLine {
		return nil, &ParseError{File: p.file, Line: p.line, Msg: fmt.Sprintf("line of more than %d bytes", p.maxLine)}
	}
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: line %d: %w", p.file, p.line, err)
	}
	line = bytes.TrimSuffix(line, []byte{'\n'})
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if bytes.IndexByte(line, '\r') >= 0 {
		return nil, &ParseError{File: p.file, Line: p.line, Msg: unpack.Returns}
	}
	return line, err
}

// finish turns labels into classes and returns the parsed data set.
func (p *parser) finish() (*data.Dataset, error) {
	d := p.set
	whole := func(format string, args ...any) error {
		return &ParseError{File: p.file, Msg: fmt.Sprintf(format, args...)}
	}
	switch n := len(p.labels); {
	case d.Len() == 0:
		return nil, whole("no rows")
	case n == 1: // labels are only collected if they are not given
		return nil, whole("all %d rows have label %d: %s"+number, d.Len(), p.labels[0], pairs)
	}
	if d.Features == 0 {
		if d.Features = p.width; p.width == 0 {
			return nil, whole("no entries, so the number of features is not known: give --features")
		}
	}
	if p.Labels != nil || p.Unlabelled || d.Targets != nil {
		return d, nil
	}
	smaller, larger := min(p.labels[0], p.labels[1]), max(p.labels[0], p.labels[1])
	d.Names = []string{strconv.Itoa(int(smaller)), strconv.Itoa(int(larger))}
	for i, l := range d.Label {
		d.Label[i] = 0
		if l == larger {
			d.Label[i] = 1
		}
	}
	return d, nil
}
