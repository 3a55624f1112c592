package libsvm

import (
	"bytes"
	"fmt"
)

const pairs = "labels must be 0 and 1, -1 and 1, or 1 and 2, or be listed by --label-map"

// label stores a row's label as it is in the file. finish turns it into a class.
func (p *parser) label(text []byte, at int) error {
	if p.blind {
		p.set.Label = append(p.set.Label, 0)
		return nil
	}
	if p.given != nil {
		class, err := p.given.Class(string(text))
		if err != nil {
			return p.fault(at, "%w", err)
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

// after returns text that lists the labels before an invalid one.
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

// smallInteger reads [+-]digits[.zeros] exactly, because a label such as 0.99999999999 must not
// count as 1. For numbers outside [-9, 9] ok is false.
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
