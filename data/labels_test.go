package data

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// The label * stands for all labels that are not listed. A missing label is not among them, unless the map
// lists its text.
func TestOtherLabelsAreNotMissing(t *testing.T) {
	l, err := ParseLabels("yes=1,NA=0,*=0")
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]int32{"yes": 1, "no": 0, "nano": 0, "none": 0, "NA": 0} {
		if class, err := l.Class(label); err != nil || class != want {
			t.Errorf("%q: class %d, %v", label, class, err)
		}
	}
	for _, label := range []string{"", " ", "?", "nan", "NaN", "na", "null"} {
		if _, err := l.Class(label); !errors.Is(err, ErrLabel) || !strings.Contains(err.Error(), "is missing") {
			t.Errorf("%q: %v, must be missing", label, err)
		}
	}
}

// The labels that a message lists can be given as a map again: the names and the mark for all others are the same.
func TestListedLabelsAreAMap(t *testing.T) {
	for _, text := range []string{
		`no,yes`, `"a..c",1..3`, `"a,b",c`, `"x=1",y`, `"""quoted""",plain`, `a"b,c`, `"*",yes`, `yes,*`, `"""",*`,
	} {
		l, err := ParseLabels(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := ParseLabels(l.String())
		if err != nil || !reflect.DeepEqual(again, l) {
			t.Errorf("%q is listed as %q, which is read as %v (%v)", text, l, again, err)
		}
	}
}

func TestParseLabels(t *testing.T) {
	for text, want := range map[string]struct {
		names []string
		of    map[string]int32
	}{
		"ham,spam":              {[]string{"ham", "spam"}, map[string]int32{"ham": 0, " spam ": 1}},
		"no=0, yes=1":           {[]string{"no", "yes"}, map[string]int32{"no": 0, "yes": 1}},
		"-1,1":                  {[]string{"-1", "1"}, map[string]int32{"-1.0": 0, "+1": 1}},
		"1..3":                  {[]string{"1", "2", "3"}, map[string]int32{"1": 0, "2": 1, "3.0": 2}},
		"1=1,2=0,3=1":           {[]string{"2", "1"}, map[string]int32{"1": 1, "2": 0, "3": 1}},
		"0,1..2":                {[]string{"0", "1", "2"}, map[string]int32{"-0": 0, "2": 2}},
		`"<=50K",">50K"`:        {[]string{"<=50K", ">50K"}, map[string]int32{"<=50K": 0, ">50K": 1}},
		`<=50K=1, >50K=0`:       {[]string{">50K", "<=50K"}, map[string]int32{"<=50K": 1, ">50K": 0}},
		`red, "blue, ""dark"""`: {[]string{"red", `blue, "dark"`}, map[string]int32{`blue, "dark"`: 1}},
		`"1..3" = 1,"a,b"=0`:    {[]string{"a,b", "1..3"}, map[string]int32{"1..3": 1, "a,b": 0}},
		"A..C":                  {[]string{"A", "B", "C"}, map[string]int32{"B": 1}},
		"w..z, 1":               {[]string{"w", "x", "y", "z", "1"}, map[string]int32{"z": 3, "1": 4}},
		"benign=0,malignant=1":  {[]string{"benign", "malignant"}, map[string]int32{"malignant": 1}},
	} {
		l, err := ParseLabels(text)
		if err != nil || !reflect.DeepEqual(l.Names(), want.names) {
			t.Errorf("%q: %v, %v", text, l, err)
			continue
		}
		for label, class := range want.of {
			if got, err := l.Class(label); err != nil || got != class {
				t.Errorf("%q: label %q is of class %d (%v), must be of %d", text, label, got, err, class)
			}
		}
		if _, err := l.Class("other"); !errors.Is(err, ErrLabel) || !strings.Contains(err.Error(), `label "other"`) {
			t.Errorf("%q: a label that was not given: %v", text, err)
		}
	}
	if l, err := ParseLabels("0..9999"); err != nil || len(l.Names()) != MaxClasses {
		t.Errorf("as many classes as there may be: %v", err)
	}
	for text, want := range map[string]string{
		`"a,b`: "has no second double quote", `"a"b,c`: `"b" after label "a" in quotes`, `"",a`: "a label is empty",
		"<=50K,>50K": "put a label with an equals sign in double quotes", `"a""`: "has no second double quote",
		"": "a label is empty", "a": "classes = 1, must be at least 2", "a,a": "occurs twice",
		"1,1.0": "occurs twice", "no,*,*": "occurs twice", `no,"*",*`: "occurs twice", "*": "classes = 1, must be at least 2",
		"A..c": "or two letters of one case", "Z..A": "or two letters of one case", "A..10": "FIRST..LAST",
		"A..C,B": "occurs twice",
		"a=0,b":  "must be all or none", "a=0,b=2": "class 1 has no label", "a=1,b=2": "class 0 has no label", "0..9999,x": "classes = 10001 or more", "a=0,b=x": `class "x"`,
		"a=0,b=-1": `class "-1"`, "3..1": "FIRST..LAST", "1..": "FIRST..LAST", "0..99999999999": "FIRST..LAST",
		"-9000000000000000000..9000000000000000000": "FIRST..LAST", "0..9999,10000..19999": "classes = 20000 or more",
		"9223372036854775806..9223372036854775807": "occurs twice", // as numbers of 53 bits they are one
	} {
		if _, err := ParseLabels(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, must say %q", text, err, want)
		}
	}
}

// The error for a label that is not listed says what helps, if that is known.
func TestWaysOutForLabels(t *testing.T) {
	l, err := ParseLabels("no,yes")
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{
		"":      "; a record without a label must be removed from the file",
		"NA":    "; a record without a label must be removed from the file",
		"Yes":   "; a map that has yes=1 and Yes=1 reads both",
		"maybe": "--label-map gives: no, yes",
	} {
		if _, err := l.Class(label); !errors.Is(err, ErrLabel) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v, want %q at the end", label, err, want)
		}
	}
	both, err := ParseLabels("no=0,yes=1,Yes=1")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := both.Class("Yes"); c != 1 || err != nil {
		t.Errorf("the stated map: class %d, %v", c, err)
	}
}

// The label * stands for all labels that are not listed, but not for an empty one. In quotes it is an
// ordinary label.
func TestOtherLabels(t *testing.T) {
	for text, want := range map[string]map[string]int32{
		"normal.,*":              {"normal.": 0, "smurf.": 1, " * ": 1},
		"normal.=0,attack=1,*=1": {"normal.": 0, "attack": 1, "teardrop.": 1},
		"*=0, 7=1":               {"7.0": 1, "8": 0},
		`normal=0,"a=b"=1,*=1`:   {"*": 1, "c": 1, "a=b": 1},
	} {
		l, err := ParseLabels(text)
		if err != nil {
			t.Fatal(err)
		}
		for label, class := range want {
			if got, err := l.Class(label); err != nil || got != class {
				t.Errorf("%s: label %q is of class %d (%v), must be of %d", text, label, got, err, class)
			}
		}
		if strings.HasPrefix(text, "normal") && (!l.Lists("normal.") && !l.Lists("normal") || l.Lists("smurf.")) {
			t.Errorf("%s: Lists must be true of what is listed alone", text)
		}
		for _, label := range []string{"", " "} {
			if _, err := l.Class(label); !errors.Is(err, ErrLabel) {
				t.Errorf("%s: an empty label: %v", text, err)
			}
		}
	}
	l, err := LabelsOf([]string{"normal.", "*"}) // names are labels, as they are
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Class("smurf."); !errors.Is(err, ErrLabel) {
		t.Errorf("a name of a class stands for other labels: %v", err)
	}
}

// Any text of a label map is refused, or gives as many names as classes, and each name stands for its
// class.
func FuzzParseLabels(f *testing.F) {
	for _, text := range []string{"ham,spam", "no=0,yes=1", "1..3", "0,1..2", "=,=", "1=1,2=0,3=1", `"a,""b"=1,c=0`,
		"-9000000000000000000..9000000000000000000", "9223372036854775806..9223372036854775807"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLabels(text)
		if err != nil {
			return
		}
		for class, name := range l.Names() {
			if got, err := l.Class(name); err != nil || int(got) != class {
				t.Fatalf("%q: %q is of class %d, must be of %d", text, name, got, class)
			}
		}
	})
}
