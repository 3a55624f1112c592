package libsvm

import (
	"bytes"
	"fmt"
	"strconv"

	"proactivedp/internal/decimal"
	"proactivedp/internal/memory"
	"proactivedp/internal/unpack"
)

// row parses a line and appends its row, if there is one, to the data set.
func (p *parser) row(line []byte) error {
	if i := bytes.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	start, end := field(line, 0)
	if start == end {
		return nil // the line has only blanks and a comment
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
			return p.fault(start, "index %d after %d: indices must increase", p.shown(index), p.shown(prev))
		}
		if prev = index; value != 0 {
			if len(d.Index) == cap(d.Index) {
				if err := p.grow(); err != nil {
					return err
				}
			}
			d.Index = append(d.Index, int32(index-1))
			d.Value = append(d.Value, value)
		}
	}
	p.width = max(p.width, prev)
	d.Start = append(d.Start, len(d.Index))
	if d.Len() > p.maxRows {
		return p.fault(0, "more than %d rows", p.maxRows)
	}
	return p.fits(cap(d.Index))
}

// grow makes room for further entries. While entries move to a larger slice, they are in memory twice, so they
// should move while they are few. The part of the file that was read shows how many there will be; if its size
// is not known, there is room for a quarter more.
func (p *parser) grow() error {
	d := p.set
	have := len(d.Index)
	if err := p.fits(have + have + 1); err != nil {
		return err
	}
	room := have + have/4 + 256
	if all := unpack.Expected(p.open, unpack.Done(p.open), have-p.kept); all < float64(p.left)/entryBytes {
		room = max(room, p.kept+int(all))
	}
	room = max(have+1, min(room, int((p.left-p.others())/entryBytes)-have))
	d.Index, d.Value = grown(d.Index, room), grown(d.Value, room)
	return nil
}

// grown returns a copy of s with room for so many elements.
func grown[E any](s []E, room int) []E { return append(make([]E, 0, room), s...) }

// The bytes of a row (label and offset), of a target and of an entry.
const rowBytes, targetBytes, entryBytes = 12, 4, 8

// others returns how many bytes of memory all but the entries take. While a slice grows, it exists twice:
// the new copy is longer by a quarter.
func (p *parser) others() int64 {
	each := rowBytes
	if p.set.Targets != nil {
		each += targetBytes
	}
	return int64(each*p.set.Len()+cap(p.spill)) * 9 / 4
}

// fits returns an error if so many entries, and the rows so far, do not fit the memory.
func (p *parser) fits(entries int) error {
	need := entryBytes*int64(entries) + p.others()
	if need <= p.left {
		return nil
	}
	return fmt.Errorf("%s: line %d: %d rows with %d entries: %w: about %s are needed for them, the limit is %s "+
		"(%s)", p.file, p.line, p.set.Len(), len(p.set.Index), memory.ErrTooLittle, memory.Text(need),
		memory.Text(p.limit.Bytes), p.limit.By)
}

// field returns the bounds of the next field of line, from i on. They are equal if no field is
// left.
func field(line []byte, i int) (start, end int) {
	for i < len(line) && unpack.IsBlank(rune(line[i])) {
		i++
	}
	start = i
	for i < len(line) && !unpack.IsBlank(rune(line[i])) {
		i++
	}
	return start, i
}

// entry parses an entry index:value that begins at byte at of its line. The returned index counts
// from 1.
func (p *parser) entry(text []byte, at int) (index int, value float32, err error) {
	i := 0
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		// Once it is too large, an index stays too large without overflow.
		index = min(10*index+int(text[i]-'0'), MaxIndex+1)
	}
	if p.ZeroBased {
		index++
	}
	if i == 0 || i == len(text) || text[i] != ':' || index < 1 || index > p.maxIndex {
		return 0, 0, p.badIndex(text, at)
	}
	value, ok := decimal.Float32(text[i+1:])
	if !ok {
		if value, err = parseFloat(text[i+1:]); err != nil && !(p.Saturate && err == errRange) {
			return 0, 0, p.fault(at+i+1, "the value %w", err)
		}
	}
	return index, value, nil
}

// shown returns an index as the file has it.
func (p *parser) shown(index int) int {
	if p.ZeroBased {
		return index - 1
	}
	return index
}

// badIndex returns the error for an entry whose index is invalid. It shows only what is an index.
func (p *parser) badIndex(text []byte, at int) error {
	index, _, _ := bytes.Cut(text, []byte{':'})
	must := fmt.Sprintf("must be a whole number from %d to %d", p.shown(1), p.shown(p.maxIndex))
	if p.maxIndex < MaxIndex {
		must += ", because there are " + strconv.Itoa(p.maxIndex) + " features (--features)"
	}
	switch {
	case string(index) == "qid":
		return p.fault(at, "qid, the group of a row for ranking, is not supported: remove it if each row is a record of its own "+
			"(sed 's/ qid:[0-9]*//' writes the file so)")
	case !unpack.IsEntry(text):
		return p.fault(at, "an entry must be index:value, and its index %s", must)
	case len(bytes.Trim(index, "0")) == 0:
		return p.fault(at, "index 0: %s; --zero-based reads a file that counts from 0, as scikit-learn and LightGBM may "+
			"write it", must)
	}
	return p.fault(at, "index %.40s: %s", index, must)
}
