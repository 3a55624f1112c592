package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"proactivedp/internal/unpack"
)

// read appends the next line, without its end, to p.spill. With the last line it returns io.EOF.
func (p *parser) read(in *bufio.Reader) error {
	p.next++
	from := len(p.spill)
	for {
		part, err := in.ReadSlice('\n')
		if len(p.spill)+len(part) > MaxLine {
			return p.fault("a line of more than %d bytes", MaxLine)
		}
		p.spill = append(p.spill, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("read %s: line %d: %w", p.file, p.next, err)
		}
		p.spill = append(p.spill[:from], bytes.TrimRight(p.spill[from:], "\r\n")...)
		return err
	}
}

// record reads the fields of the next record, which may have several lines. It skips empty lines.
// At the end of the file it returns io.EOF.
func (p *parser) record(in *bufio.Reader) error {
	for {
		p.spill, p.line = p.spill[:0], p.next+1
		end := p.read(in)
		if end != nil && end != io.EOF {
			return end
		}
		if len(bytes.TrimSpace(p.spill)) == 0 {
			if end == io.EOF {
				return io.EOF
			}
			continue
		}
		quotes := bytes.Count(p.spill, quote)
		for quotes%2 == 1 && end == nil { // a field in quotes continues on the next line
			p.spill = append(p.spill, '\n')
			whole := len(p.spill)
			if end = p.read(in); end != nil && end != io.EOF {
				return end
			}
			quotes += bytes.Count(p.spill[whole:], quote)
		}
		return p.split(p.spill, quotes)
	}
}

var quote = []byte{'"'}

// begin determines the separator of the file, and leaves the header to be read next.
func (p *parser) begin(in *bufio.Reader) error {
	p.line = 1
	if err := unpack.SkipMark(in); err != nil {
		return p.fault("%w", err)
	}
	start, err := in.Peek(unpack.BufferSize)
	if err != nil && err != io.EOF {
		return fmt.Errorf("read %s: %w", p.file, err)
	}
	first, _, _ := bytes.Cut(start, []byte{'\n'})
	if at := bytes.IndexByte(first, '\r'); at >= 0 && at < len(first)-1 && bytes.Count(first[:at], quote)%2 == 0 {
		return p.fault(unpack.Returns)
	}
	given := separatorLine(string(first))
	above := given != 0 || p.NoHeader && bytes.HasPrefix(first, []byte("|"))
	for skipped := 1; skipped < p.HeaderLine || above && skipped == 1; skipped++ {
		p.spill = p.spill[:0]
		if err := p.read(in); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
	p.spill = p.spill[:0]
	if start, err = in.Peek(unpack.BufferSize); err != nil && err != io.EOF {
		return fmt.Errorf("read %s: %w", p.file, err)
	}
	whole, comma := separator(start)
	switch {
	case given != 0:
		comma = given
	case kind(unpack.Name(p.file)) == ".tsv":
		comma = '\t'
	case comma == ' ' && (whole == p.Label || slices.Contains(p.Named, whole)):
		comma = ',' // the only name has blanks
	}
	p.comma = comma
	return nil
}

// separatorLine returns the separator that a line sep=; gives, or 0 if it is another line.
func separatorLine(line string) rune {
	line = strings.Trim(strings.TrimRight(line, "\r"), `"`)
	if len(line) == 5 && strings.EqualFold(line[:4], "sep=") && strings.ContainsAny(line[4:], ",;\t|") {
		return rune(line[4])
	}
	return 0
}

// separator returns the first line of text that is not empty, and the separator of its fields: a
// comma or, if no comma is outside quotes, a semicolon, a tab, a vertical bar or a blank. Only a quoted
// name can have these characters.
func separator(text []byte) (line string, comma rune) {
	text = bytes.TrimLeft(text, "\r\n")
	var bare []byte // the line without what is in quotes
	quoted, end := false, len(text)
	for i, c := range text {
		if c == '"' {
			quoted = !quoted
		} else if c == '\n' && !quoted {
			end = i
			break
		} else if !quoted {
			bare = append(bare, c)
		}
	}
	line = strings.TrimSpace(string(text[:end]))
	bare = bytes.TrimSpace(bytes.TrimRight(bare, "\r"))
	for _, c := range []byte(",;\t| ") {
		switch {
		case bytes.IndexByte(bare, c) < 0:
		case c == '\t' && bytes.Count(bare, []byte("  ")) > bytes.Count(bare, []byte{c}):
			// Columns of blanks, and a tab before the last one.
			return line, ' '
		default:
			return line, rune(c)
		}
	}
	return line, ','
}

// split splits a record, which is in p.spill, into fields.
func (p *parser) split(text []byte, quotes int) error {
	p.fields = p.fields[:0]
	switch {
	case quotes == 0 && p.comma == ' ':
		for field := range bytes.FieldsFuncSeq(text, unpack.IsBlank) {
			p.fields = append(p.fields, field)
		}
	case quotes == 0:
		comma := []byte(string(p.comma))
		for more := true; more; {
			var field []byte
			field, text, more = bytes.Cut(text, comma)
			p.fields = append(p.fields, bytes.TrimSpace(field))
		}
	case p.comma == ' ' && p.splitBlanks(text), p.comma != ' ' && p.splitQuoted(text):
	default:
		p.fields = p.fields[:0]
		if p.quoted == nil {
			p.quoted = bufio.NewReader(nil)
		}
		p.quoted.Reset(bytes.NewReader(text))
		r := csv.NewReader(p.quoted)                           // which would make a buffer for each record
		r.Comma, r.TrimLeadingSpace = p.comma, p.comma != '\t' // which is a space, too
		fields, err := r.Read()
		if err != nil {
			if bad, ok := errors.AsType[*csv.ParseError](err); ok {
				err = bad.Err
			}
			return p.fault("%w (a double quote in a field must be written twice, and the field must be in double quotes)",
				err)
		}
		p.spill = p.spill[:0] // the fields are not longer than the record
		for i, field := range fields {
			if p.comma != ' ' || field != "" || i < len(fields)-1 { // blanks may end a line
				whole := len(p.spill)
				p.spill = append(p.spill, strings.TrimSpace(field)...)
				p.fields = append(p.fields, p.spill[whole:])
			}
		}
	}
	if len(p.fields) > MaxColumns {
		return p.fault("%d columns, must be at most %d", len(p.fields), MaxColumns)
	}
	return nil
}

// splitQuoted splits a record in which each quoted field is a whole field without a double quote in it. It returns
// false for others, which package csv reads or refuses.
func (p *parser) splitQuoted(text []byte) bool {
	comma := []byte(string(p.comma))
	for more := true; more; {
		if p.comma != '\t' { // which is a space, too
			text = bytes.TrimLeftFunc(text, unicode.IsSpace)
		}
		var field []byte
		if bytes.HasPrefix(text, quote) {
			if field, text, more = bytes.Cut(text[1:], quote); !more {
				return false
			}
			if text, more = bytes.CutPrefix(text, comma); !more && len(text) > 0 {
				return false
			}
		} else if field, text, more = bytes.Cut(text, comma); bytes.IndexByte(field, quote[0]) >= 0 {
			return false
		}
		p.fields = append(p.fields, bytes.TrimSpace(field))
	}
	return true
}

// splitBlanks splits a record with blanks or tabs between fields. A field may be in quotes if it has no double
// quote inside. For other records splitBlanks returns false.
func (p *parser) splitBlanks(text []byte) bool {
	for text = bytes.TrimFunc(text, unpack.IsBlank); len(text) > 0; text = bytes.TrimLeftFunc(text, unpack.IsBlank) {
		end := bytes.IndexFunc(text, unpack.IsBlank)
		if bytes.HasPrefix(text, quote) {
			if end = bytes.IndexByte(text[1:], quote[0]) + 2; end < 2 || end < len(text) && !unpack.IsBlank(rune(text[end])) {
				return false
			}
			p.fields = append(p.fields, bytes.TrimSpace(text[1:end-1]))
			text = text[end:]
			continue
		}
		if end < 0 {
			end = len(text)
		}
		if bytes.IndexByte(text[:end], quote[0]) >= 0 {
			return false
		}
		p.fields = append(p.fields, text[:end])
		text = text[end:]
	}
	return true
}

// headed returns the header of a CSV text, whose fields may be separated as in [ParseFile], and a
// reader of the lines after it.
func headed(text string) (*csv.Reader, []string, error) {
	text = strings.TrimPrefix(text, unpack.Mark)
	r := csv.NewReader(strings.NewReader(text))
	_, r.Comma = separator([]byte(text))
	r.TrimLeadingSpace = r.Comma != '\t' // which is a space, too
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil, errors.New("the file is empty")
	}
	trim(header)
	return r, header, err
}

// next returns the next row of a file that [headed] began to read.
func next(r *csv.Reader, header []string) ([]string, error) {
	row, err := r.Read()
	if errors.Is(err, csv.ErrFieldCount) {
		line, _ := r.FieldPos(0)
		return nil, fmt.Errorf("line %d has %d fields, must have %d: %s; a field with a %q in it needs "+
			"double quotes", line, len(row), len(header), strings.Join(header, string(r.Comma)), r.Comma)
	}
	return row, err
}

// validHeader returns an error if a name is not UTF-8.
func (p *parser) validHeader() error {
	for i, name := range p.fields {
		if !utf8.Valid(name) {
			return p.fault("the name of column %d is not UTF-8, must be (iconv -f LATIN1 -t UTF-8 writes it so if it is in Latin-1)", i+1)
		}
	}
	return nil
}
