package table

import (
	"errors"
	"slices"
	"strings"
)

// Numbers says how a file writes numbers, such as "1.234,5" in many countries of Europe: it is one of NumberForms, or
// "", which means 1234.5. Make one with [ParseNumbers].
type Numbers string

// NumberForms lists the ways in which a file may write numbers. Each element is the number 1234.5, written in one of
// these ways.
var NumberForms = []string{"1234.5", "1234,5", "1,234.5", "1.234,5", "1 234,5", "1 234.5", "1'234.5", "1'234,5"}

// ParseNumbers returns the way in which a file writes numbers. example shows it: it is the number 1234.5 as the file
// writes it, such as "1.234,5", and must be one of NumberForms.
func ParseNumbers(example string) (Numbers, error) {
	for _, form := range NumberForms {
		if example == form {
			if example == NumberForms[0] {
				return "", nil
			}
			return Numbers(example), nil
		}
	}
	return "", errors.New("must be the number 1234.5 as the file writes it: " + strings.Join(NumberForms, " or "))
}

// marks returns the separator of thousands, or "", and the decimal separator.
func (n Numbers) marks() (thousands, point string) {
	text := strings.TrimPrefix(string(n), "1")
	at := strings.Index(text, "234")
	return text[:at], text[at+3 : at+4]
}

// sameMarks replaces characters that some programs write as separators of thousands.
var sameMarks = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "’", "'")

// plain returns a number with a decimal point and without separators of thousands. ok is false if
// the separators are not where this form has them, because 1,5 must not be read as 15.
func (n Numbers) plain(field string) (plain string, ok bool) {
	thousands, point := n.marks()
	whole, fraction, hasFraction := strings.Cut(field, point)
	if thousands != "" {
		groups := strings.Split(sameMarks.Replace(whole), thousands)
		digits := len(strings.TrimLeft(groups[0], "+-"))
		for i, group := range groups[1:] {
			if i == 0 && (digits < 1 || digits > 3) || len(group) != 3 || strings.Trim(group, "0123456789") != "" {
				return "", false
			}
		}
		whole = strings.Join(groups, "")
	}
	if strings.ContainsAny(whole+fraction, ".,") {
		return "", false
	}
	if hasFraction {
		whole += "." + fraction
	}
	return whole, true
}

// hint returns a hint if a field is a number in another form, or a number with a sign such as % or $. If different
// forms read it as different numbers, the hint names one form for each: 12,345 may be 12345 or 12.345.
func (n Numbers) hint(field string) string {
	var forms []string
	var read []float32
	for _, form := range NumberForms {
		other, _ := ParseNumbers(form)
		k := column{kind: number, numbers: other}
		if x, ok := k.number(field); ok && other != n && !slices.Contains(read, x) {
			forms, read = append(forms, form), append(read, x)
		}
	}
	if len(forms) > 0 {
		return "; it is one if the file writes numbers like " + strings.Join(forms, " or ") + " (--number-format)"
	}
	bare := strings.TrimSpace(strings.TrimSuffix(strings.TrimLeft(field, "$€£¥"), "%"))
	if _, ok := (column{kind: number, numbers: n}).number(bare); bare != field && (ok || n.hint(bare) != "") {
		return "; it is one without its sign, such as % or $, which must be removed from the file"
	}
	return ""
}
