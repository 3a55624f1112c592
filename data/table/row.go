package table

import (
	"strings"

	"proactivedp/internal/memory"
)

// row adds a row.
func (p *parser) row() error {
	if n := len(p.header); p.ending && len(p.fields) == n+1 && p.fields[n] == "" {
		p.fields = p.fields[:n]
	}
	if len(p.fields) != len(p.header) {
		return p.fault("%d fields, must be %d as in the header", len(p.fields), len(p.header))
	}
	class, whole := int32(0), len(p.value)
	for _, i := range p.order {
		if p.faulty[i] {
			continue
		}
		field := p.fields[i]
		var err error
		if i == p.label {
			class, err = p.class(field)
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
	if len(p.faults) == 0 {
		p.set.Label = append(p.set.Label, class)
		if p.Kept != nil {
			row := make([]string, len(p.keeps))
			for j, i := range p.keeps {
				row[j] = strings.Clone(p.fields[i]) // not the whole line
				p.text += int64(len(row[j])) + bytesOfField
			}
			p.Kept.Rows = append(p.Kept.Rows, row)
		}
	} else { // the rest of the file is read only for errors in other columns, within the same limits
		p.value = p.value[:whole]
		p.unkept++
	}
	return p.fits()
}

// bytesOfField is what a kept field needs besides its text, with its share of growing slices.
const bytesOfField = 64

// fits returns an error if the rows do not fit the memory, whether they are kept or not.
func (p *parser) fits() error {
	// While a slice grows, it exists twice, the second time longer by a quarter.
	need := int64(4*(len(p.value)+len(p.set.Label))+4*(p.set.Features+1)*p.unkept)*9/4 + p.text
	if need > p.left {
		return p.fault("%w: about %s are needed for the rows so far, the limit is %s (%s)", memory.ErrTooLittle,
			memory.Text(need), memory.Text(p.limit.Bytes), p.limit.By)
	}
	return nil
}

// class returns the class of a label.
func (p *parser) class(label string) (int32, error) {
	class, err := p.Labels.Class(label)
	if err != nil {
		return 0, p.fault("%w", err)
	}
	return class, nil
}
