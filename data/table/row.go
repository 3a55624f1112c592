package table

import (
	"proactivedp/data"
	"proactivedp/internal/memory"
	"proactivedp/internal/unpack"
)

// row adds a row.
func (p *parser) row() error {
	if n := len(p.header); p.ending && len(p.fields) == n+1 && len(p.fields[n]) == 0 {
		p.fields = p.fields[:n]
	}
	if len(p.fields) != len(p.header) {
		of, hint := "in the header", ""
		if p.NoHeader {
			of = "in the first record"
		}
		if p.comma == '\t' && len(p.fields)-empties(p.fields) == len(p.header) {
			hint = ` (without empty fields it has as many: tr -s '\t' makes several tabs one)`
		}
		return p.fault("%d fields, must be %d as %s%s", len(p.fields), len(p.header), of, hint)
	}
	room := p.grow()
	if room != nil {
		p.value = nil // the row is read only for its errors
	}
	class, target, whole := int32(0), float32(0), len(p.value)
	for _, i := range p.order {
		if p.faulty[i] {
			continue
		}
		field := p.fields[i]
		var err error
		if i == p.label && p.Target != nil {
			target, err = p.target(string(field))
		} else if i == p.label {
			class, err = p.class(string(field))
		} else if i == p.person {
			if len(field) == 0 {
				err = p.fault("column %q: the field is empty, must say whose record it is: records without a name may all be "+
					"of one person", p.header[i])
			}
		} else if p.value, err = p.holds[i].take(p.value, field); err != nil {
			err = p.fault("column %q: the field %w", p.header[i], err)
		}
		if err != nil {
			p.faulty[i] = true
			if p.faults = append(p.faults, err); len(p.faults) == maxFaults {
				return p.fault("errors in %d columns: the rest was not read", maxFaults)
			}
		}
	}
	if room != nil {
		return room
	}
	if len(p.faults) == 0 {
		var person data.PersonKey
		if p.person >= 0 {
			person = data.PersonOf(string(p.fields[p.person]))
		}
		var kept []string
		if p.Kept != nil {
			kept = make([]string, len(p.keeps))
			for j, i := range p.keeps {
				kept[j] = string(p.fields[i])
			}
		}
		p.add(class, target, person, kept)
	} else { // the rest of the file is read only for errors in other columns, within the same limits
		p.value = p.value[:whole]
		p.unkept++
	}
	return p.fits()
}

// add adds what a row has besides its numbers.
func (p *parser) add(class int32, target float32, person data.PersonKey, kept []string) {
	p.set.Label = append(p.set.Label, class)
	if p.Target != nil {
		p.set.Targets.Value = append(p.set.Targets.Value, target)
	}
	if p.person >= 0 {
		p.set.Person = append(p.set.Person, person)
	}
	if p.Kept != nil {
		p.Kept.Rows = append(p.Kept.Rows, kept)
		for _, field := range kept {
			p.text += int64(len(field)) + bytesOfField
		}
	}
}

// empties returns the number of empty fields.
func empties(fields [][]byte) (empty int) {
	for _, field := range fields {
		if len(field) == 0 {
			empty++
		}
	}
	return empty
}

// bytesOfField is what a kept field needs besides its text, with its share of growing slices.
const bytesOfField = 64

// fits returns an error if the rows do not fit the memory, whether they are kept or not.
func (p *parser) fits() error {
	return p.within(int64(4*(cap(p.value)+(p.set.Features+1)*p.unkept)) + 9*int64(len(p.set.Label)+p.targets()) +
		int64(len(data.PersonKey{})*cap(p.set.Person)) + p.text)
}

// within returns an error if so many bytes do not fit the memory.
func (p *parser) within(need int64) error {
	if need > p.left {
		return p.fault("%w: about %s are needed for the rows so far, the limit is %s (%s)", memory.ErrTooLittle,
			memory.Text(need), memory.Text(p.limit.Bytes), p.limit.By)
	}
	return nil
}

// grow makes room for the numbers of a row. While the numbers move, they are in memory twice, so they should
// move while they are few. The part of the file that was read shows how many there will be; memory that is
// never used takes no space. If the size of the file is not known, there is room for a quarter more,
// as for a zip archive, which is not read at the file's own position.
func (p *parser) grow() error {
	have, row := len(p.value), p.set.Features
	if have+row <= cap(p.value) {
		return nil
	}
	room := have + have/4 + 16*row
	kept := p.set.Train * row // the numbers of an earlier file
	if all := unpack.Expected(p.open, p.at, have-kept); all < float64(p.left)/4 {
		room = max(room, kept+int(all))
	}
	if err := p.within(int64(4 * (cap(p.value) + have + row))); err != nil {
		return err
	}
	room = max(have+row, min(room, int(p.left/4)-cap(p.value)))
	value := make([]float32, have, room)
	copy(value, p.value)
	p.value = value
	return nil
}

// targets returns the number of targets.
func (p *parser) targets() int {
	if p.Target == nil {
		return 0
	}
	return len(p.set.Targets.Value)
}

// target returns the scaled target in a field. The error does not show the field.
func (p *parser) target(field string) (float32, error) {
	plain, ok := field, true
	if p.Numbers != "" {
		plain, ok = p.Numbers.plain(field)
	}
	if !ok {
		plain = "" // no number
	}
	scaled, err := p.Target.Parse(plain)
	if err != nil {
		hint := ""
		if _, number := (data.TargetBounds{Low: p.Target.Low, High: p.Target.High}).Parse(plain); number != nil {
			hint = p.Numbers.hint(field)
		}
		return 0, p.fault("column %q: the %w%s", p.Label, err, hint)
	}
	return scaled, nil
}

// class returns the class of a label.
func (p *parser) class(label string) (int32, error) {
	class, err := p.Labels.Class(label)
	if err != nil {
		return 0, p.fault("%w", err)
	}
	return class, nil
}
