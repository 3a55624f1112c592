// Package libsvm reads and writes data sets in the text format of
// LIBSVM (C.-C. Chang and C.-J. Lin, "LIBSVM: a library for support vector
// machines", ACM TIST 2(3), 2011), and knows where to find the ones used here.
//
//	d, err := libsvm.ParseFile("my.libsvm", 0) // as many features as the largest index
//	d, err := libsvm.Load(ctx, "phishing", fetch.Locator{})
//
// The format, line by line:
//
//	[label {index:value}] [# comment]
//
// Fields are separated by blanks or tabs, also before the first and after the
// last. Lines end in \n or \r\n, the last perhaps in neither; empty lines are
// skipped. Indices are decimal, from 1, and increase along a line. Values are
// finite decimal numbers, rounded once to the nearest float32; a value that is
// zero then is checked and counts for the width, but is not stored. Labels are
// two of a kind: 0 and 1, -1 and 1, or 1 and 2, perhaps written as +1 or 1.0; or
// those of Options, of any number of classes.
package libsvm

import (
	"bufio"
	"bytes"
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
	"proactivedp/internal/unpack"
)

// Limits of what is read, so that a damaged file cannot take all memory.
const (
	// MaxIndex is the largest index: columns and their number fit an int32.
	MaxIndex = math.MaxInt32 - 1
	// MaxLine is the length of the longest line, in bytes.
	MaxLine = 64 << 20
	// MaxSize bounds rows plus stored entries.
	MaxSize = 1 << 28
)

// ParseError is a fault in the text of a file.
type ParseError struct {
	File   string
	Line   int // line number from 1; 0 if the fault is of the file as a whole
	Column int // byte of the line, from 1; 0 if the fault is of the line as a whole
	Msg    string
}

func (e *ParseError) Error() string {
	where := e.File
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
		if e.Column > 0 {
			where += ":" + strconv.Itoa(e.Column)
		}
	}
	return "libsvm: " + where + ": " + e.Msg
}

// Parse reads a data set, plain or compressed by gzip or bzip2, as its first
// bytes say. The smaller label becomes class 0, the larger class 1; Features is
// the largest index. The name is the data set's, and the file's in errors.
//
// It fails with a *ParseError if the text breaks the format of the package
// comment or its limits, if there are no rows or no indices, or if only one
// label occurs; and with the reader's error if that fails.
func Parse(name string, r io.Reader) (*data.Dataset, error) {
	return parse(name, name, r, 0, 0)
}

// ParseFile parses the file at path, as Parse does; the data set's name is the
// last element of path. Where features is not 0 it is the number of columns,
// and larger indices are errors; it must be in [0, MaxIndex].
func ParseFile(path string, features int) (*data.Dataset, error) {
	return ParseFileWithin(path, features, 0)
}

// ParseFileWithin is ParseFile of a file that is refused when its rows take more memory,
// beside what the process has, than limit bytes; 0 stands for as much as the process may
// have, as for ParseFile.
func ParseFileWithin(path string, features int, limit int64) (*data.Dataset, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("libsvm: %w", err)
	}
	defer f.Close()
	return parse(filepath.Base(path), path, f, features, limit)
}

// Options say how files are read.
type Options struct {
	Features int // as of ParseFile
	// Labels says which classes there are, of any number; nil: two, as the package comment
	// has it.
	Labels *data.Labels
	// Test is the path of a second file, whose rows are the test set; "": there is none, and
	// the set counts as published as one.
	Test string
	// Unlabelled says that what stands in the place of labels is not looked at: all rows are
	// of class 0 then, which says nothing.
	Unlabelled bool
	Memory     int64 // as the limit of ParseFileWithin
}

// ParseFiles is ParseFile with options.
func ParseFiles(path string, o Options) (*data.Dataset, error) {
	if err := checkFeatures(path, o.Features); err != nil {
		return nil, err
	}
	p := newParser(filepath.Base(path), path, o.Features, memory.Given(o.Memory))
	p.blind = o.Unlabelled
	if p.given = o.Labels; p.given != nil {
		p.set.Names = p.given.Names()
		p.set.Classes = len(p.set.Names)
	}
	for _, file := range []string{path, o.Test} {
		if file == "" {
			continue
		}
		p.file, p.line = file, 0
		before := p.set.Len()
		p.set.Train = before
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

// parseFile reads the file that the parser is at.
func (p *parser) parseFile() error {
	f, err := os.Open(p.file)
	if err != nil {
		return fmt.Errorf("libsvm: %w", err)
	}
	defer f.Close()
	in, err := unpacked(p.file, f)
	if err != nil {
		return err
	}
	return p.rows(in)
}

func checkFeatures(file string, features int) error {
	if features < 0 || features > MaxIndex {
		return fmt.Errorf("libsvm: %s: features = %d, must be in [0, %d]", file, features, MaxIndex)
	}
	return nil
}

// unpacked returns the text of a file.
func unpacked(file string, r io.Reader) (*bufio.Reader, error) {
	in, err := unpack.Reader(r)
	if err != nil {
		if named, ok := errors.AsType[*fs.PathError](err); ok {
			err = named.Err // the file is named below
		}
		return nil, fmt.Errorf("libsvm: read %s: %w", file, err)
	}
	return in, nil
}

func parse(name, file string, r io.Reader, features int, limit int64) (*data.Dataset, error) {
	if err := checkFeatures(file, features); err != nil {
		return nil, err
	}
	in, err := unpacked(file, r)
	if err != nil {
		return nil, err
	}
	return newParser(name, file, features, memory.Given(limit)).parse(in)
}

type parser struct {
	file     string
	line     int
	maxIndex int
	maxLine  int
	maxSize  int
	width    int // largest index seen
	set      *data.Dataset
	labels   []int32 // labels found so far, in order of appearance, at most two; not used where they are given
	given    *data.Labels
	blind    bool   // labels are not looked at
	spill    []byte // holds a line that is longer than the reader's buffer
	limit    memory.Limit
	left     int64 // bytes of the limit that the rows may take
}

// newParser returns a parser of width features, or of any width if that is 0.
func newParser(name, file string, features int, limit memory.Limit) *parser {
	p := &parser{
		limit:    limit,
		left:     limit.Left(),
		file:     file,
		maxIndex: MaxIndex,
		maxLine:  MaxLine,
		maxSize:  MaxSize,
		set:      &data.Dataset{Name: name, Features: features, Classes: 2, Start: []int{0}},
	}
	if features > 0 {
		p.maxIndex = features
	}
	return p
}

// fault makes an error at byte i of the line.
func (p *parser) fault(i int, format string, args ...any) error {
	return &ParseError{p.file, p.line, i + 1, fmt.Sprintf(format, args...)}
}

// parse reads a file that is a data set by itself.
func (p *parser) parse(in *bufio.Reader) (*data.Dataset, error) {
	if err := p.rows(in); err != nil {
		return nil, err
	}
	return p.finish()
}

// rows reads the rows of a file.
func (p *parser) rows(in *bufio.Reader) error {
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

// read returns the next line, without its end; io.EOF comes with the last.
func (p *parser) read(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		p.spill = p.spill[:0]
		for errors.Is(err, bufio.ErrBufferFull) && len(p.spill) <= p.maxLine {
			p.spill = append(p.spill, line...)
			line, err = in.ReadSlice('\n')
			if bad := p.fits(); bad != nil {
				return nil, bad
			}
		}
		p.spill = append(p.spill, line...)
		line = p.spill
	}
	if len(line) > p.maxLine {
		return nil, &ParseError{p.file, p.line, 0, fmt.Sprintf("line of more than %d bytes", p.maxLine)}
	}
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("libsvm: read %s: line %d: %w", p.file, p.line, err)
	}
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'}), err
}

// row parses a line and appends its row, if it has one, to the data set.
func (p *parser) row(line []byte) error {
	if i := bytes.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	start, end := field(line, 0)
	if start == end {
		return nil // the line has nothing but blanks and a comment
	}
	if err := p.label(line[start:end], start); err != nil {
		return err
	}
	d := p.set
	prev := 0
	for {
		if start, end = field(line, end); start == end {
			break
		}
		index, value, err := p.entry(line[start:end], start)
		if err != nil {
			return err
		}
		if index <= prev {
			return p.fault(start, "index %d after %d: indices must increase", index, prev)
		}
		if prev = index; value != 0 {
			d.Index = append(d.Index, int32(index-1))
			d.Value = append(d.Value, value)
		}
	}
	p.width = max(p.width, prev)
	d.Start = append(d.Start, len(d.Index))
	if n := d.Len() + len(d.Index); n > p.maxSize {
		return p.fault(0, "more than %d rows and entries", p.maxSize)
	}
	return p.fits()
}

// The bytes of a row, which has a label and an offset, and of an entry.
const rowBytes, entryBytes = 12, 8

// fits reports that what was read does not fit the memory. A slice that grows is there
// twice, the second time longer by a quarter.
func (p *parser) fits() error {
	rows, entries := p.set.Len(), len(p.set.Index)
	need := int64(rowBytes*rows+entryBytes*entries+cap(p.spill)) * 9 / 4
	if need <= p.left {
		return nil
	}
	return fmt.Errorf("libsvm: %s: line %d: %d rows and entries: %w: about %s are needed for them, the limit is %s "+
		"(%s)", p.file, p.line, rows+entries, memory.ErrTooLittle, memory.Text(need), memory.Text(p.limit.Bytes),
		p.limit.By)
}

// field returns the bounds of the next field of line from i on; they are equal
// if there is none.
func field(line []byte, i int) (start, end int) {
	for i < len(line) && blank(line[i]) {
		i++
	}
	start = i
	for i < len(line) && !blank(line[i]) {
		i++
	}
	return start, i
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

const pairs = "labels must be 0 and 1, -1 and 1, or 1 and 2, unless it is said which there are"

// label stores a row's label as it is written; finish turns it into a class.
func (p *parser) label(text []byte, at int) error {
	if p.blind {
		p.set.Label = append(p.set.Label, 0)
		return nil
	}
	if p.given != nil {
		class, ok := p.given.Class(string(text))
		if !ok {
			return p.fault(at, "label %.40q: must be one of those that were given: %v", text, p.given)
		}
		p.set.Label = append(p.set.Label, class)
		return nil
	}
	v, ok := smallInteger(text)
	if !ok || v < -1 || v > 2 {
		if bytes.IndexByte(text, ':') >= 0 {
			return p.fault(at, "label missing: the line starts with %.40q", text)
		}
		if _, err := parseFloat(text); err != nil {
			return p.fault(at, "label %v", err)
		}
		return p.fault(at, "label %.40s%s: %s", text, p.after(), pairs)
	}
	known := len(p.labels)
	switch {
	case known > 0 && v == p.labels[0], known > 1 && v == p.labels[1]:
	case known == 2, known == 1 && !isPair(v, p.labels[0]):
		return p.fault(at, "label %d%s: %s", v, p.after(), pairs)
	default:
		p.labels = append(p.labels, v)
	}
	p.set.Label = append(p.set.Label, v)
	return nil
}

// after returns words that name the labels found before an offending one.
func (p *parser) after() string {
	switch len(p.labels) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" after %d", p.labels[0])
	}
	return fmt.Sprintf(" after %d and %d", p.labels[0], p.labels[1])
}

func isPair(a, b int32) bool {
	a, b = min(a, b), max(a, b)
	return b == 1 && a == 0 || b == 1 && a == -1 || b == 2 && a == 1
}

// smallInteger reads [+-]digits[.zeros], exactly: a label such as 0.99999999999
// must not pass for 1. Numbers outside [-9, 9] are not ok.
func smallInteger(text []byte) (v int32, ok bool) {
	negative := false
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		negative = text[0] == '-'
		text = text[1:]
	}
	whole, fraction, _ := bytes.Cut(text, []byte{'.'})
	if len(whole) == 0 || len(bytes.Trim(fraction, "0")) != 0 {
		return 0, false
	}
	for _, c := range whole {
		if c < '0' || c > '9' || v != 0 {
			return 0, false
		}
		v = int32(c - '0')
	}
	if negative {
		v = -v
	}
	return v, true
}

// entry parses an entry index:value that starts at byte at of its line.
func (p *parser) entry(text []byte, at int) (index int, value float32, err error) {
	i := 0
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		// Once too large, an index stays too large without overflow.
		index = min(10*index+int(text[i]-'0'), MaxIndex+1)
	}
	if i == 0 || i == len(text) || text[i] != ':' || index < 1 || index > p.maxIndex {
		return 0, 0, p.badIndex(text, at)
	}
	value, ok := parseShort(text[i+1:])
	if !ok {
		if value, err = parseFloat(text[i+1:]); err != nil {
			return 0, 0, p.fault(at+i+1, "value %v", err)
		}
	}
	return index, value, nil
}

// badIndex says what is wrong with an entry up to its colon.
func (p *parser) badIndex(text []byte, at int) error {
	index, _, colon := bytes.Cut(text, []byte{':'})
	switch {
	case !colon:
		return p.fault(at, "%.40q has no colon: entries are index:value", text)
	case len(index) == 0:
		return p.fault(at, "index missing in %.40q: entries are index:value", text)
	case p.maxIndex < MaxIndex:
		return p.fault(at, "index %.40q: must be a whole number from 1 to %d, the number of features", index,
			p.maxIndex)
	}
	return p.fault(at, "index %.40q: must be a whole number from 1 to %d", index, p.maxIndex)
}

// finish turns labels into classes and returns the data set that was parsed.
func (p *parser) finish() (*data.Dataset, error) {
	d := p.set
	whole := func(format string, args ...any) error {
		return &ParseError{File: p.file, Msg: fmt.Sprintf(format, args...)}
	}
	switch n := len(p.labels); {
	case d.Len() == 0:
		return nil, whole("no rows")
	case p.given == nil && !p.blind && n == 1:
		return nil, whole("all %d rows have label %d: %s", d.Len(), p.labels[0], pairs)
	}
	if d.Features == 0 {
		if d.Features = p.width; p.width == 0 {
			return nil, whole("no entries, so the number of features is not known")
		}
	}
	if p.given != nil || p.blind {
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

// Write writes d as Parse reads it, classes 0 and 1 as labels, so that parsing
// gives the same Hash, provided that both classes occur and no stored entry is
// zero. If no entry is in the last column, the first row gets an explicit zero
// there, to keep the width. It fails if d is not valid, has not two classes or
// is of images.
func Write(w io.Writer, d *data.Dataset) error {
	if err := d.Validate(); err != nil {
		return fmt.Errorf("libsvm: write %s: %w", d.Name, err)
	}
	if d.Images != nil {
		return fmt.Errorf("libsvm: write %s: it is a set of images, must be of sparse rows", d.Name)
	}
	if d.Classes != 2 {
		return fmt.Errorf("libsvm: write %s: classes = %d, must be 2", d.Name, d.Classes)
	}
	width := 0
	for _, c := range d.Index {
		width = max(width, int(c)+1)
	}
	out := bufio.NewWriterSize(w, unpack.BufferSize)
	var line []byte
	for i := range d.Len() {
		row := d.Row(i)
		line = strconv.AppendInt(line[:0], int64(d.Label[i]), 10)
		for j, c := range row.Index {
			line = appendEntry(line, int(c)+1, row.Value[j])
		}
		if i == 0 && width < d.Features {
			line = appendEntry(line, d.Features, 0)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("libsvm: write %s: %w", d.Name, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("libsvm: write %s: %w", d.Name, err)
	}
	return nil
}

func appendEntry(line []byte, index int, value float32) []byte {
	line = append(line, ' ')
	line = strconv.AppendInt(line, int64(index), 10)
	line = append(line, ':')
	return strconv.AppendFloat(line, float64(value), 'g', -1, 32)
}
