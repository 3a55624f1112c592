package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// read returns the next line without its end. With the last line it returns io.EOF.
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
			return nil, fmt.Errorf("read %s: line %d: %w", p.file, p.line, err)
		}
		return bytes.TrimRight(p.spill, "\r\n"), err
	}
}

// byteOrder is the byte order mark with which some spreadsheets begin a file.
const byteOrder = "\ufeff"

// begin determines the separator of the file from the header, and returns the header without a byte
// order mark.
func (p *parser) begin(header []byte) ([]byte, error) {
	if bytes.HasPrefix(header, []byte("\xff\xfe")) || bytes.HasPrefix(header, []byte("\xfe\xff")) {
		return nil, p.fault("the text is UTF-16, must be UTF-8")
	}
	if !utf8.Valid(header) {
		return nil, p.fault("the header %.200q is not UTF-8, must be", header)
	}
	header = bytes.TrimPrefix(header, []byte(byteOrder))
	p.comma = separator(header)
	if kind(p.file) == ".tsv" {
		p.comma = '\t'
	}
	return header, nil
}

// separator returns the separator of a header's fields: a comma or, if no comma is outside quotes,
// a semicolon or tab. Only a quoted name can have these characters.
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

// split splits a line into fields.
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
			return p.fault("%w (a field in quotes must end on the same line)", err)
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
