package table

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/memory"
)

// written returns the path of a file with the text.
func written(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func labels(t testing.TB, text string) *data.Labels {
	t.Helper()
	l, err := data.ParseLabels(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const irises = "length, width,species\n5.1,3.5,setosa\n7,3.2,\"versicolor\"\n\n6.3,-3e-1,virginica\r\n"

func TestParseFile(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(irises)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"i.csv": irises, "i.csv.gz": packed.String(), "bom.csv": "\ufeff" + irises,
		"quoted.csv": "\ufeff" + strings.Replace(irises, "length", `"length"`, 1),
		"i.TSV":      strings.ReplaceAll(irises, ",", "\t"), "semicolons.csv": strings.ReplaceAll(irises, ",", ";"),
		"tabs.csv": "\ufeff" + strings.ReplaceAll(irises, ",", "\t"),
	} {
		if !Is(name) {
			t.Errorf("%s is no table", name)
		}
		o := Options{Label: "species", Labels: labels(t, "setosa,versicolor,virginica"), Features: 2}
		d, err := ParseFile(written(t, name, text), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		if want := []string{"length", "width"}; !reflect.DeepEqual(d.Columns, want) || d.Classes != 3 || d.Train != 0 {
			t.Errorf("%s: %+v", name, d)
		}
		if !reflect.DeepEqual(d.Label, []int32{0, 1, 2}) ||
			!reflect.DeepEqual(d.Value, []float32{5.1, 3.5, 7, 3.2, 6.3, -0.3}) {
			t.Errorf("%s: labels %v, values %v", name, d.Label, d.Value)
		}
	}
}

// A second file is the test set. Its columns may be in another order.
func TestTestFile(t *testing.T) {
	o := Options{Label: "y", Labels: labels(t, "0,1"), Test: written(t, "test.csv", "x,y\n3,1\n")}
	d, err := ParseFile(written(t, "train.csv", "x,y\n1,0\n2,1\n"), o)
	if err != nil || d.Len() != 3 || d.Train != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	want := d.Hash()
	o.Test = written(t, "test.csv", "y;x\n1;3\n")
	if d, err = ParseFile(written(t, "train.csv", "x,y\n1,0\n2,1\n"), o); err != nil || d.Hash() != want {
		t.Errorf("columns in another order: %+v, %v", d, err)
	}
	for text, want := range map[string]string{
		"y,z\n1,3\n": `not the required columns: ["z"] too many, ["x"] missing`, "x,y\n": "no rows below the header",
		"": "no header",
	} {
		o.Test = written(t, "other.csv", text)
		if _, err := ParseFile(written(t, "train.csv", "x,y\n1,0\n2,1\n"), o); err == nil ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "other.csv") {
			t.Errorf("%q: %v, must say %q of other.csv", text, err, want)
		}
	}
}

func TestFaultsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"x,y\n1,2\n":                             `:2: label "2", must be one of the labels that --label-map gives: 0, 1`,
		"x,y\n1,0\n,1\n":                         `:3: column "x": the field is empty, must be a finite decimal number`,
		"x,y\nred,0\n":                           `:2: column "x": the field must be a finite decimal number`,
		"x,y\nNaN,0\n":                           `:2: column "x": the field must be a finite decimal number`,
		"x,y\n1e39,0\n":                          `:2: column "x": the field must be a finite decimal number`,
		"x,y\n0x10,0\n":                          `:2: column "x": the field must be a finite decimal number`,
		"x,y\n1,0,3\n":                           ":2: 3 fields, must be 2 as in the header",
		"x,x,y\n1,2,0\n":                         `:1: columns 1 and 2 have the same name, must have different ones (if the first line is a`,
		"x,,y\n1,2,0\n":                          `:1: column 2 has no name, must have one`,
		",x,y\n0,1,0\n":                          "column 1 has no name, must have one (if it is an index of pandas, a line 1,ignored,",
		"x,y\r35,0\r":                            ":1: lines end in a carriage return alone, must end in a line feed",
		"x,y\r35,0\n":                            ":1: lines end in a carriage return alone, must end in a line feed",
		"# made by R\nx,y\n1,0\n":                `no column "y" of labels, but line 2 has this name: --header-line 2`,
		"x,Y\n1,0\n":                             `no column "y" of labels among ["x" "Y"]`,
		"y\n1\n":                                 "the only column is that of the labels",
		"":                                       "no header",
		"x,y\n":                                  "no rows below the header",
		"x,y\n\"1\n2\",1\n3":                     ":4: 1 fields, must be 2",
		"x,y\n\"1,0\n2,1\n":                      `:2: extraneous or missing " in quoted-field`,
		"3,1\n1,0\n":                             "f.csv:1: the first line has only numbers, must name the columns: if it is a",
		"x;y\n12,345;0\n":                        "it is one if the file writes numbers like 1234,5 or 1,234.5 (--number-format)",
		"x,y\n12.5%,0\n":                         "it is one without its sign, such as % or $, which must be removed",
		"x,y\n\"$12,345\",0\n":                   "it is one without its sign",
		"x;y\n1,5;0\n":                           "it is one if the file writes numbers like 1234,5 (--number-format)",
		"\"x;\";y\n1,0\n":                        ":2: 1 fields, must be 2 as in the header",
		"\"x,\";z\n1;0\n":                        `no column "y" of labels among ["x," "z"]`,
		"\xff\xfex\x00,\x00y\x00\n\x00":          ":1: the text is UTF-16, must be UTF-8",
		"gr\xf6\xdfe,y\n1,0\n":                   ":1: the name of column 1 is not UTF-8, must be",
		"x,y\n1," + strings.Repeat("0", MaxLine): "a line of more than",
	} {
		_, err := ParseFile(written(t, "f.csv", text), Options{Label: "y", Labels: labels(t, "0,1")})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "f.csv") {
			t.Errorf("%.40q: %v, must say %q of f.csv", text, err, want)
		}
		const hint = "no comma"
		if err != nil && strings.Contains(want, hint) != strings.Contains(err.Error(), hint) {
			t.Errorf("%.40q: %v, of a comma where there is one alone", text, err)
		}
	}
	path := written(t, "f.csv", "x,y\n1,0\n")
	if _, err := ParseFile(path, Options{Label: "y"}); err == nil ||
		!strings.Contains(err.Error(), "labels are missing") {
		t.Errorf("without labels: %v", err)
	}
	if _, err := ParseFile(path, Options{Label: "y", Labels: labels(t, "0,1"), Features: 3}); err == nil ||
		!strings.Contains(err.Error(), "1 features, must be 3") {
		t.Errorf("other features: %v", err)
	}
	if _, err := ParseFile(path, Options{Label: "y", Labels: labels(t, "0,1"), Memory: 1}); err == nil {
		t.Error("one byte of memory is enough")
	}
	// A file that has a fault, and no end, is read no further than one without.
	path = written(t, "f.csv", "x,y\nno,0\n"+strings.Repeat("1,0\n", 9))
	_, err := ParseFile(path, Options{Label: "y", Labels: labels(t, "0,1"), Memory: 1})
	if err == nil || !strings.Contains(err.Error(), `column "x": the field`) ||
		!strings.Contains(err.Error(), "f.csv:2: not enough memory") {
		t.Errorf("a fault, and no memory: %v", err)
	}
}

// Columns that there must be are there, all and no others.
func TestNamedColumns(t *testing.T) {
	o := Options{Label: "y", Labels: labels(t, "0,1"), Named: []string{"a", "b"}}
	if _, err := ParseFile(written(t, "f.csv", "a,y,b\n1,0,2\n"), o); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"a,y,c,d\n1,0,2,3\n": `f.csv:1: not the required columns: ["c" "d"] too many, ["b"] missing`,
		"a,a,y\n1,2,0\n":     "must have different ones",
	} {
		if _, err := ParseFile(written(t, "f.csv", text), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, must say %q", text, err, want)
		}
	}
}

// Named features are in their order, whatever that of the columns; an error names the column that
// it is of.
func TestNamedColumnsInAnyOrder(t *testing.T) {
	kinds := func(values string) *Columns {
		c, err := ParseColumns("column,kind,values\nid,ignored,\ncolour,one-of," + values + "\n")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	o := Options{Label: "y", Labels: labels(t, "0,1"), Columns: kinds("red|blue"),
		Named: []string{"a", "colour=red", "colour=blue", "b"}}
	want, err := ParseFile(written(t, "f.csv", "a,colour,y,b\n1,red,0,2\n3,blue,1,4\n"), o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseFile(written(t, "f.csv", "y,b,id,colour,a\n0,2,7,red,1\n1,4,8,blue,3\n"), o)
	if err != nil || got.Hash() != want.Hash() || !slices.Equal(got.Columns, o.Named) {
		t.Errorf("columns in another order: %v, %v", got, err)
	}
	if _, err := ParseFile(written(t, "f.csv", "b,colour,y,a\n1,red,0,no\n"), o); err == nil ||
		!strings.Contains(err.Error(), `f.csv:2: column "a": the field`) {
		t.Errorf("a field that is no number: %v", err)
	}
	o.Columns = kinds("blue|red")
	if _, err := ParseFile(written(t, "f.csv", "b,colour,y,a\n1,red,0,2\n"), o); err == nil ||
		!strings.Contains(err.Error(), `the features are ["a" "colour=blue" "colour=red" "b"], must be`) {
		t.Errorf("values in another order: %v", err)
	}
}

// Where the features are named, a column that is ignored may be missing, as in records that are to
// be labelled; one that is a feature, or of a file that is trained on, may not.
func TestIgnoredColumnsMayBeMissing(t *testing.T) {
	c, err := ParseColumns("column,kind,values\nid,ignored,\nb,number,0|NA\n")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Label: "y", Labels: labels(t, "0,1"), Columns: c, Named: []string{"a", "b"}}
	if _, err := ParseFile(written(t, "f.csv", "a,b,y\n1,NA,0\n"), o); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		text, want string
		named      []string
	}{
		{"id,a,y\n7,1,0\n", `no column "b" among ["id" "a" "y"]`, o.Named},
		{"a,b,y\n1,NA,0\n", `the list of columns has "id"`, nil},
	} {
		o.Named = c.named
		if _, err := ParseFile(written(t, "f.csv", c.text), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, must say %s", c.text, err, c.want)
		}
	}
}

// Of thousands of columns an error has a few.
func TestManyColumnsAreNotAllNamed(t *testing.T) {
	var names []string
	for i := range 3000 {
		names = append(names, fmt.Sprintf("c%d", i))
	}
	rows := func(names []string) string {
		return strings.Join(names, ",") + ",y\n" + strings.Repeat("1,", len(names)) + "0\n"
	}
	path := written(t, "f.csv", rows(names))
	o := Options{Label: "y", Labels: labels(t, "0,1")}
	unknown, fewer := o, o
	unknown.Label, fewer.Named = "z", names[:10]
	for want, o := range map[string]Options{
		`of labels among ["c0" "c1"`:    unknown,
		`"c19"] and 2981 more`:          unknown,
		`["c10" "c11"`:                  fewer,
		`"c29"] and 2970 more too many`: fewer,
	} {
		if _, err := ParseFile(path, o); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
			t.Errorf("%.1000v, must say %q", err, want)
		}
	}
}

// Rows without labels are of class 0, and with a column of them of its classes.
func TestUnlabelled(t *testing.T) {
	o := Options{Label: "y", Labels: labels(t, "a,b"), Unlabelled: true}
	d, err := ParseFile(written(t, "f.csv", "x,z\n1,2\n"), o)
	if err != nil || d.Features != 2 || d.Label[0] != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = ParseFile(written(t, "f.csv", "x,y\n1,b\n"), o); err != nil || d.Features != 1 || d.Label[0] != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}

// Whatever a file holds, what is read of it is a valid data set, or an error.
func FuzzParseFile(f *testing.F) {
	for _, text := range []string{irises, "x,species\n1,setosa\n", "species\n", "\ufeffx,species\n\"1\",setosa", "\"",
		","} {
		f.Add([]byte(text))
	}
	l := labels(f, "setosa,versicolor,virginica")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "f.csv")
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := ParseFile(path, Options{Label: "species", Labels: l})
		if err != nil {
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

// Rows need 4 bytes for each value that there is room for. A label needs 4 bytes in a slice and in the one,
// longer by a quarter, that it grows into. Rows that are read for faults only need as much as if they were kept.
func TestRowsFitTheMemory(t *testing.T) {
	for _, unkept := range []int{0, 3} {
		p := &parser{set: &data.Dataset{Features: 2, Label: make([]int32, 5)}, value: make([]float32, 10),
			unkept: unkept}
		need := int64(4*10 + 9*5 + 4*3*unkept)
		for left, good := range map[int64]bool{need: true, need - 1: false} {
			p.left = left
			if err := p.fits(); (err == nil) != good || err != nil && !errors.Is(err, memory.ErrTooLittle) {
				t.Errorf("%d unkept rows, %d bytes of %d: %v", unkept, left, need, err)
			}
		}
	}
}

// The numbers of a large file are in memory once, with little room to spare: their number is estimated from the
// part of the file that was read. A limit that has no room for them is kept.
func TestNumbersAreInMemoryOnce(t *testing.T) {
	const rows, columns = 40_000, 40
	header := strings.Repeat("c,", columns) + "y\n"
	for i := range columns {
		header = strings.Replace(header, "c,", fmt.Sprintf("x%d,", i), 1)
	}
	path := written(t, "large.csv", header+strings.Repeat(strings.Repeat("-0.125,", columns)+"0\n", rows))
	p := &parser{Options: Options{Label: "y", Labels: labels(t, "0,1")}, set: &data.Dataset{Classes: 2}, file: path}
	p.left = math.MaxInt64
	if err := p.parseFile(); err != nil {
		t.Fatal(err)
	}
	if n := len(p.value); n != rows*columns || float64(cap(p.value)) > 1.1*float64(n) {
		t.Errorf("%d numbers, room for %d", n, cap(p.value))
	}
	q := &parser{Options: p.Options, set: &data.Dataset{Classes: 2}, file: path, left: 3 * rows * columns}
	if err := q.parseFile(); !errors.Is(err, memory.ErrTooLittle) || int64(4*cap(q.value)) > q.left {
		t.Errorf("within 3 bytes a number: %v, room for %d", err, cap(q.value))
	}
}

// A table may be the only file of a zip archive, and tabs divide it if its own name says so.
func TestTableInAZip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("in/my table.tsv")
	if err == nil {
		_, err = w.Write([]byte("x, of it\ty\n1\t0\n2.5\t1\n"))
	}
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	d, err := ParseFile(path, Options{Label: "y", Labels: labels(t, "0,1")})
	if err != nil || d.Len() != 2 || d.Columns[0] != "x, of it" || d.Row(1).Value[0] != 2.5 {
		t.Errorf("%+v, %v", d, err)
	}
}

// Targets are numbers in the form of the file, scaled by their bounds. Errors do not show them.
func TestTargets(t *testing.T) {
	bounds, refuse := &data.TargetBounds{Low: 0, High: 8}, &data.TargetBounds{Low: 0, High: 8, Refuse: true}
	german, err := ParseNumbers("1.234,5")
	if err != nil {
		t.Fatal(err)
	}
	for text, o := range map[string]Options{
		"y,x\n4,1\n-1e300,2\n6.0,3\n": {}, "x;y\n1;4,0\n2;-9.000,5\n3;6\n": {Numbers: german}, "4,1\n-7,2\n6,3\n": {NoHeader: true},
	} {
		if o.Label, o.Target = "y", bounds; o.NoHeader {
			o.Label = "1"
		}
		d, err := ParseFile(written(t, "f.csv", text), o)
		if err != nil || !slices.Equal(d.Targets.Value, []float32{0, -1, 0.5}) || d.Validate() != nil {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
	for _, c := range []struct {
		text, wants string
		o           Options
	}{
		{"y,x\n1,1\nNaN,2\n", "f.csv:3: column \"y\": the target must be a finite", Options{Target: bounds}},
		{"y,x\n1,1\n,2\n", "f.csv:3: column \"y\": the target must be a finite", Options{Target: bounds}},
		{"y,x\n1,1\n123.5,2\n", "f.csv:3: column \"y\": the target must be in the given bounds [0, 8]", Options{Target: refuse}},
		{"y,x\n1,1\n", "must be one of them", Options{Target: bounds, Labels: labels(t, "0,1")}},
		{"y,x\n1,1\n", "LOW < HIGH", Options{Target: &data.TargetBounds{}}},
		{"y,x\n1,1\n", "must be given", Options{}},
	} {
		c.o.Label = "y"
		if _, err := ParseFile(written(t, "f.csv", c.text), c.o); err == nil || !strings.Contains(err.Error(), c.wants) ||
			strings.Contains(err.Error(), "123.5") {
			t.Errorf("%v, want %q", err, c.wants)
		}
	}
	if d, err := ParseFile(written(t, "f.csv", "x\n1\n"), Options{Label: "y", Target: bounds, Unlabelled: true}); err != nil || d.Validate() != nil {
		t.Errorf("without targets: %v", err)
	}
}
