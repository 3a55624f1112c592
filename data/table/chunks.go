package table

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"

	"proactivedp/data"
	"proactivedp/internal/unpack"
)

// The records are read in chunks, several at the same time. Then the rows of the chunks are added in the order of
// the file. If a chunk has an error, its records are read again one after another, and so are those of all later
// chunks. So neither the rows nor the errors depend on the number of processors.

// The largest size of a chunk, in bytes and in numbers. A longer record is a chunk by itself.
const (
	chunkBytes   = 1 << 19
	chunkNumbers = 1 << 20
)

// maxChunks is the largest number of chunks that are in memory, and maxChunks·chunkBytes the number of bytes after
// which no other is read.
const maxChunks = 16

// chunk is a part of a file that ends where a record ends.
type chunk struct {
	text  []byte
	more  io.Reader // what follows if the text does not end where a record ends, or why it cannot be read
	next  int       // number of lines before it
	from  int64     // how much of the file was read before it
	to    int64     // and after it
	rows  *parser   // has the rows of this chunk only
	lines []int     // the line of each row
	in    *bufio.Reader
	bad   bool // it has an error
}

// chunks reads all records after the header.
func (p *parser) chunks(in *bufio.Reader) error {
	all := make([]chunk, min(2*runtime.GOMAXPROCS(0), maxChunks))
	var rest []byte
	next := p.next
	for more := true; more; {
		var reading sync.WaitGroup
		n, held := 0, 0
		for ; n < len(all) && more && held < maxChunks*chunkBytes; n++ {
			c := &all[n]
			c.next, c.from = next, unpack.Done(p.open)
			rest, more = c.fill(in, rest, p.chunkSize())
			next += bytes.Count(c.text, []byte{'\n'})
			held += len(c.text)
			c.to = unpack.Done(p.open)
			if c.bad = len(p.faults) > 0; !c.bad {
				if c.rows == nil {
					c.rows, c.in = p.child(), bufio.NewReaderSize(nil, unpack.BufferSize)
				}
				reading.Go(c.parse)
			}
		}
		reading.Wait()
		for i := range all[:n] {
			p.at = all[i].from
			read := p.merge
			if all[i].bad || len(p.faults) > 0 {
				read = p.again
			}
			if err := read(&all[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunkSize returns the size of a chunk. A record has at least one byte for each column.
func (p *parser) chunkSize() int {
	return max(1, min(chunkBytes, chunkNumbers/p.set.Features*len(p.header)))
}

// fill reads size bytes after those of rest, and as many again until they have the end of a record. It returns the
// bytes after the last one. more is false if nothing follows.
func (c *chunk) fill(in *bufio.Reader, rest []byte, size int) (after []byte, more bool) {
	c.text, c.more = append(c.text[:0], rest...), nil
	whole, line, seen, quotes := 0, 0, 0, 0
	for {
		have := len(c.text)
		c.text = append(c.text, make([]byte, size)...)
		n, err := 0, error(nil)
		for have+n < len(c.text) && err == nil { // io.ReadFull would hide that a compressed file ends too early
			var k int
			k, err = in.Read(c.text[have+n:])
			n += k
		}
		c.text = c.text[:have+n]
		for {
			end := bytes.IndexByte(c.text[seen:], '\n')
			if end < 0 {
				seen = len(c.text)
				break
			}
			seen += end + 1
			quotes += bytes.Count(c.text[line:seen], quote)
			if line = seen; quotes%2 == 0 { // see record
				whole = line
			}
		}
		switch {
		case err == io.EOF:
			return nil, false
		case err != nil:
			c.more = failing{err}
			return nil, false
		case whole > 0:
			after = bytes.Clone(c.text[whole:])
			c.text = c.text[:whole]
			return after, true
		case len(c.text) > 2*MaxLine: // the record is probably refused
			c.more = in
			return nil, false
		}
	}
}

// failing is a reader that cannot be read.
type failing struct{ err error }

// Read returns the error.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// child returns a parser for records of the same form.
func (p *parser) child() *parser {
	c := *p
	c.set = &data.Dataset{Features: p.set.Features}
	if p.Target != nil {
		c.set.Targets = &data.Targets{}
	}
	if p.Kept != nil {
		c.Kept = &Kept{}
	}
	c.faulty = make([]bool, len(p.header))
	c.left = math.MaxInt64 // chunkNumbers bounds it
	c.open, c.value, c.fields, c.spill, c.quoted = nil, nil, nil, nil, nil
	return &c
}

// parse reads the rows of the chunk.
func (c *chunk) parse() {
	r := c.rows
	r.next, r.set.Label, r.set.Person, c.lines = c.next, r.set.Label[:0], r.set.Person[:0], c.lines[:0]
	lines := bytes.Count(c.text, []byte{'\n'}) + 1
	r.value = slices.Grow(r.value[:0], min(lines*r.set.Features, chunkNumbers+r.set.Features)) // grow would make room for more
	if r.Target != nil {
		r.set.Targets.Value = r.set.Targets.Value[:0]
	}
	if r.Kept != nil {
		r.Kept.Rows = r.Kept.Rows[:0]
	}
	c.in.Reset(bytes.NewReader(c.text))
	for c.more == nil {
		err := r.record(c.in)
		if err == io.EOF {
			return
		}
		if err != nil || r.row() != nil || len(r.faults) > 0 {
			break
		}
		c.lines = append(c.lines, r.line)
	}
	c.bad = true
}

// merge adds the rows of a chunk.
func (p *parser) merge(c *chunk) error {
	from, n := c.rows, p.set.Features
	for i, class := range from.set.Label {
		p.line = c.lines[i]
		p.at = c.from + (c.to-c.from)*int64(i)/int64(len(c.lines))
		if err := p.grow(); err != nil {
			return err
		}
		p.value = append(p.value, from.value[i*n:(i+1)*n]...)
		var target float32
		var person data.PersonKey
		var kept []string
		if p.Target != nil {
			target = from.set.Targets.Value[i]
		}
		if p.person >= 0 {
			person = from.set.Person[i]
		}
		if p.Kept != nil {
			kept = from.Kept.Rows[i]
		}
		p.add(class, target, person, kept)
		if err := p.fits(); err != nil {
			return err
		}
	}
	return nil
}

// again reads the rows of a chunk, and adds them or their errors.
func (p *parser) again(c *chunk) error {
	var in io.Reader = bytes.NewReader(c.text)
	if c.more != nil {
		in = io.MultiReader(in, c.more)
	}
	p.next = c.next
	for lines := bufio.NewReaderSize(in, unpack.BufferSize); ; {
		err := p.record(lines)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = p.row()
		}
		if err != nil {
			return err
		}
	}
}
