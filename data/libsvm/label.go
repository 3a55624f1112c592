package libsvm

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"proactivedp/internal/unpack"
)

const (
	pairs  = "labels must be 0 and 1, -1 and 1, or 1 and 2, or be listed by --label-map"
	number = "; a number to learn needs --model linear"
	words  = "; --label-map lists other labels, such as no,yes"
	begins = "the line must begin with one label and a blank (several labels, such as 1,3, are not supported; if this is a " +
		"table, give it a name that ends in .csv or .tsv)"
)

// label stores a row's label as it is in the file. finish turns it into a class.
func (p *parser) label(text []byte, at int) error {
	t, scaled := p.set.Targets, float32(0)
	if t != nil && !p.Unlabelled {
		var err error
		if scaled, err = t.Bounds.Parse(string(text)); err != nil {
			return p.fault(at, "the %w", err)
		}
	}
	if t != nil {
		t.Value = append(t.Value, scaled)
	}
	if t != nil || p.Unlabelled {
		p.set.Label = append(p.set.Label, 0)
		return nil
	}
	if p.Labels != nil {
		class, err := p.Labels.Class(string(text))
		if err == nil && unpack.IsEntry(text) && !p.Labels.Lists(string(text)) {
			return p.fault(at, "label missing: the line starts with an entry index:value") // though * stands for all labels
		}
		if err != nil && bytes.ContainsAny(text, ",;:") {
			return p.fault(at, begins)
		}
		if err != nil {
			return p.fault(at, "%w", err)
		}
		p.set.Label = append(p.set.Label, class)
		return nil
	}
	v, ok := binaryLabel(text)
	if !ok {
		if bytes.IndexByte(text, ':') >= 0 {
			return p.fault(at, "label missing: the line starts with an entry index:value")
		}
		if bytes.ContainsAny(text, ",;") {
			return p.fault(at, begins)
		}
		if _, err := parseFloat(text); err != nil {
			return p.fault(at, "the label %w"+words, err)
		}
		return p.fault(at, "label %.40s%s: %s%s"+number, text, p.after(), pairs, p.suchAs(string(text)))
	}
	known := len(p.labels)
	switch {
	case known > 0 && v == p.labels[0], known > 1 && v == p.labels[1]:
	case known == 2, known == 1 && !isPair(v, p.labels[0]):
		return p.fault(at, "label %d%s: %s%s"+number, v, p.after(), pairs, p.suchAs(strconv.Itoa(int(v))))
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

// suchAs returns an example of --label-map with the labels so far and another one.
func (p *parser) suchAs(label string) string {
	if len(p.labels) != 1 {
		return ""
	}
	return fmt.Sprintf(", such as --label-map=%d,%.40s", p.labels[0], label)
}

// binaryLabel reads -1, 0, 1 or 2 in any form of a decimal number, such as +1, 1.0 or
// 1.000000000000000000e+00. It is exact: a label such as 0.99999999999999999999 must not count as 1.
// For other numbers ok is false.
func binaryLabel(text []byte) (v int32, ok bool) {
	switch string(text) {
	case "1", "+1":
		return 1, true
	case "0":
		return 0, true
	case "-1":
		return -1, true
	case "2":
		return 2, true
	}
	number, err := parseFloat(text)
	if err != nil || number != -1 && number != 0 && number != 1 && number != 2 {
		return 0, false
	}
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(string(text)), "e")
	places := 0
	if scientific {
		if places, err = strconv.Atoi(exponent); err != nil {
			return 0, false
		}
	}
	whole, fraction, _ := strings.Cut(strings.TrimLeft(mantissa, "+-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	places += len(digits) - len(significant) - len(fraction)
	return int32(number), significant == "" || len(significant) == 1 && places == 0
}
