package data

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"proactivedp/internal/message"
)

// MaxClasses is the largest number of classes of a data set that is read from files.
const MaxClasses = 10_000

// Labels says which class, from 0, each label in a file stands for. It is public: the user gives it (see
// [ParseLabels]), and it is not computed from the file, because that would reveal something about the records. Labels
// that are numbers are compared as numbers: 1, +1 and 1.0 are the same label.
type Labels struct {
	class  map[string]int32
	names  []string // for each class, its first label
	others int32    // the class of labels that are not listed, or -1
}

// anything is the label that stands for all others.
const anything = "*"

// ParseLabels reads text, the user's map from the labels in a file to classes. It is a list, separated by commas, in
// one of two forms. In the first form each element is LABEL=CLASS, as in no=0,yes=1,maybe=1. Classes are integers
// from 0 without gaps. In the second form each element is a label, as in no,yes: the first label is class 0, the next
// one class 1. In this form FIRST..LAST stands for all integers from FIRST to LAST, or for all letters as in A..Z.
//
// In both forms the label * stands for all labels that are not listed, except for missing ones: empty, ?, NA, NaN or
// null. Write a label in double quotes if it has a comma, an equals sign or "..", or if the label is * itself, and
// write a double quote in it twice. There must be 2 to MaxClasses classes.
func ParseLabels(text string) (*Labels, error) {
	l := &Labels{class: map[string]int32{}, others: -1}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("label map: "+format, args...)) }
	numbered, alone := 0, 0
	add := func(label string, class int32, quoted bool) bool {
		key := canonical(label)
		if key == "" {
			fail("a label is empty")
			return false
		}
		if _, twice := l.class[key]; twice {
			fail("label %q occurs twice", label)
			return false
		}
		for int(class) >= len(l.names) {
			l.names = append(l.names, "")
		}
		l.names[class] = cmp.Or(l.names[class], label)
		if l.class[key] = class; label == anything && !quoted {
			l.others = class
		}
		return true
	}
	next := func() int32 { return int32(len(l.names)) }
	for more := true; more && len(l.names) <= MaxClasses; {
		var part labelPart
		var err error
		if part, text, more, err = nextLabel(text); err != nil {
			fail("%w", err)
			break
		}
		if part.isPair {
			numbered++
			n, err := strconv.Atoi(strings.TrimSpace(part.class))
			if err != nil || n < 0 || n >= MaxClasses {
				fail("class %q of label %q, must be a whole number in [0, %d]; put a label with an equals sign in "+
					"double quotes", part.class, part.label, MaxClasses-1)
				continue
			}
			add(strings.TrimSpace(part.label), int32(n), part.quoted)
			continue
		}
		alone++
		first, last, isRange := strings.Cut(part.label, "..")
		isRange = isRange && !part.quoted
		from, err := strconv.Atoi(strings.TrimSpace(first))
		to, err2 := strconv.Atoi(strings.TrimSpace(last))
		if !isRange {
			add(strings.TrimSpace(part.label), next(), part.quoted)
			continue
		}
		if a, z := strings.TrimSpace(first), strings.TrimSpace(last); isLetter(a) && isLetter(z) && a <= z && a[0]&0x20 == z[0]&0x20 {
			for c := a[0]; c <= z[0] && add(string(rune(c)), next(), false); c++ {
			}
			continue
		}
		if err != nil || err2 != nil || from > to || uint64(to)-uint64(from) >= MaxClasses {
			fail("%q, must be two whole numbers FIRST..LAST, at most %d of them, or two letters of one case", part.label, MaxClasses)
			continue
		}
		for n := range to - from + 1 {
			if !add(strconv.Itoa(from+n), next(), false) {
				break
			}
		}
	}
	if numbered > 0 && alone > 0 {
		fail("some labels have a class and some do not, must be all or none")
	}
	switch classes := len(l.names); {
	case classes > MaxClasses:
		fail("classes = %d or more, must be at most %d", classes, MaxClasses)
	case len(errs) > 0:
	case classes < 2:
		fail("classes = %d, must be at least 2: put commas between labels, as in no,yes", classes)
	default:
		for class, name := range l.names {
			if name == "" {
				fail("class %d has no label", class)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return l, nil
}

// LabelsOf returns Labels in which names[i] is the only label of class i. Use it if the names of the classes are
// known and there is no text for [ParseLabels].
func LabelsOf(names []string) (*Labels, error) {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return ParseLabels(strings.Join(quoted, ","))
}

func isLetter(text string) bool {
	return len(text) == 1 && (text[0] >= 'A' && text[0] <= 'Z' || text[0] >= 'a' && text[0] <= 'z')
}

func quote(label string) string { return `"` + strings.ReplaceAll(label, `"`, `""`) + `"` }

// InList returns a label in the form in which it must be written in a list for [ParseLabels]. It puts double quotes
// around a label that would be misread there: one with a comma, an equals sign or "..", and one that begins with a
// double quote. Other labels are returned unchanged, also *, which in the list stands for all labels that are not
// listed. If a label itself is *, put it into double quotes yourself.
func InList(label string) string {
	if strings.ContainsAny(label, ",=") || strings.Contains(label, "..") || strings.HasPrefix(label, `"`) {
		return quote(label)
	}
	return label
}

// labelPart is one element of a label map.
type labelPart struct {
	label, class   string
	isPair, quoted bool
}

// nextLabel returns the first element of a label map and the text after its comma. more is false if
// there is no comma.
func nextLabel(text string) (part labelPart, rest string, more bool, err error) {
	if quoted, ok := strings.CutPrefix(strings.TrimSpace(text), `"`); ok {
		part.quoted = true
		end := closing(quoted)
		if end < 0 {
			return part, "", false, fmt.Errorf("%.40q has no second double quote", text)
		}
		part.label = strings.ReplaceAll(quoted[:end], `""`, `"`)
		text, rest, more = strings.Cut(quoted[end+1:], ",")
		behind := strings.TrimSpace(text)
		if part.class, part.isPair = strings.CutPrefix(behind, "="); !part.isPair && behind != "" {
			err = fmt.Errorf("%.40q after label %q in quotes, must be =CLASS or a comma", behind, part.label)
		}
		return part, rest, more, err
	}
	text, rest, more = strings.Cut(text, ",")
	part.label = text
	if at := strings.LastIndexByte(text, '='); at >= 0 {
		part.label, part.class, part.isPair = text[:at], text[at+1:], true
	}
	return part, rest, more, nil
}

// closing returns the position of the double quote that ends a quoted text, or -1.
func closing(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		if i+1 == len(text) || text[i+1] != '"' {
			return i
		}
		i++
	}
	return -1
}

// canonical returns a form of the label in which equal numbers are equal texts.
func canonical(label string) string {
	label = strings.TrimSpace(label)
	if v, err := strconv.ParseFloat(label, 64); err == nil && v == v {
		if v == 0 {
			v = 0 // +0 and -0 are equal
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return label
}

// ErrLabel is the error, usually wrapped, for a label in a file that is not in the user's map of labels, see
// [ParseLabels].
var ErrLabel = errors.New("must be one of the labels that --label-map gives")

// Lists reports whether the user's list of labels has this label by name. It returns false for a label that has a
// class only because the list has *, which stands for all other labels.
func (l *Labels) Lists(label string) bool {
	_, listed := l.class[canonical(label)]
	return listed
}

// Class returns the class of a label. If l has no class for the label, the error wraps ErrLabel. The error text shows
// the label only if the label is short and printable.
func (l *Labels) Class(label string) (int32, error) {
	class, ok := l.class[label] // a key is its own canonical form
	if !ok {
		class, ok = l.class[canonical(label)]
	}
	switch {
	case ok:
		return class, nil
	case l.others >= 0 && !isMissing(label):
		return l.others, nil
	case l.others >= 0:
		return 0, fmt.Errorf("label %.40q is missing, %w: * does not stand for it, list it if it is a label", label, ErrLabel)
	}
	if !isShort(label) {
		return 0, fmt.Errorf("the label %w: %v", ErrLabel, l)
	}
	way := message.When(isMissing(label), "; a record without a label must be removed from the file")
	for c, name := range l.Names() {
		if strings.EqualFold(name, label) {
			way = fmt.Sprintf("; a map that has %s=%d and %s=%[2]d reads both", name, c, label)
			break
		}
	}
	return 0, fmt.Errorf("label %q, %w: %v%s", label, ErrLabel, l, way)
}

// isMissing reports whether a text stands for a missing label, as in files of pandas, R and UCI.
func isMissing(label string) bool {
	switch strings.ToLower(strings.TrimSpace(label)) {
	case "", "?", "na", "nan", "null":
		return true
	}
	return false
}

func isShort(text string) bool {
	const most = 40
	return len(text) <= most && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
}

// Names returns a name for each class: the first label that the user's list has for it.
func (l *Labels) Names() []string { return slices.Clone(l.names) }

// String returns the names of the classes as text for messages, such as "no, yes". If there are more than 8, the text
// has the first two names and the number of classes.
func (l *Labels) String() string {
	names := make([]string, 0, 8)
	for i, name := range l.names[:min(len(l.names), 8)] {
		if name == anything && int32(i) != l.others { // a label, not the mark for all others
			names = append(names, quote(name))
		} else {
			names = append(names, InList(name))
		}
	}
	if len(l.names) > 8 {
		return fmt.Sprintf("%s, %s, … (%d classes)", names[0], names[1], len(l.names))
	}
	return strings.Join(names, ", ")
}
