package table

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/memory"
)

// mixed is what the columns of a clinic's table hold.
const mixed = "column,kind,values\r\nid,ignored,\r\nsex,one-of,F|M\r\nsmoker,one-of,no|yes|\r\nweight,number,75\r\n" +
	"age,number,\r\n"

// parseMixed writes text to a file, and parses it with the columns.
func parseMixed(t *testing.T, columns, text string) (*data.Dataset, *Columns, error) {
	t.Helper()
	labels, err := data.ParseLabels("no,yes")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseColumns(columns)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := ParseFile(path, Options{Label: "back", Labels: labels, Columns: c})
	return d, c, err
}

// Values become features of their own, what is ignored none, and an empty field what it stands
// for; constants are of the numbers alone.
func TestColumnsThatAreNoNumbers(t *testing.T) {
	d, c, err := parseMixed(t, mixed,
		"id,age,sex,smoker,weight,back\r\nx1,40,F,yes,60,no\r\nx2,50,M,,,yes\r\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"age", "sex=F", "sex=M", "smoker=no", "smoker=yes", "smoker=", "weight"}
	if !slices.Equal(d.Columns, want) || d.Features != len(want) || d.Validate() != nil {
		t.Errorf("features %q, %v", d.Columns, d.Validate())
	}
	dense := func(d *data.Dataset) (rows [][]float32) {
		for i := range d.Len() {
			rows = append(rows, d.Row(i).Value)
		}
		return rows
	}
	rows := dense(d)
	for i, want := range [][]float32{{40, 1, 0, 0, 1, 0, 60}, {50, 0, 1, 0, 0, 1, 75}} {
		if !slices.Equal(rows[i], want) {
			t.Errorf("row %d is %v, must be %v", i+1, rows[i], want)
		}
	}
	m, err := parseConstants("column,low,high\nage,0,100\nweight,0,150\n", d, c)
	if err != nil {
		t.Fatal(err)
	}
	scaled, err := d.Mapped(m)
	if err != nil {
		t.Fatal(err)
	}
	if got := dense(scaled)[1]; !slices.Equal(got, []float32{0.5, 0, 1, 0, 0, 1, 0.5}) {
		t.Errorf("by constants %v", got)
	}
	if m, err = Bounds("0,200", d, c); err != nil || m.Scale[0] != 1./200 || m.Scale[1] != 1 || m.Scale[6] != 1./200 {
		t.Errorf("by bounds %+v, %v", m, err)
	}
	again, err := ParseColumns(c.Text())
	if err != nil || again.Text() != mixed {
		t.Errorf("the text is not what was read: %v", err)
	}
}

// What stands for a missing number may have more spellings than the empty field, numbers among them.
func TestMissingNumbers(t *testing.T) {
	d, _, err := parseMixed(t, "column,kind,values\nage,number,50 | NA|?|-1\n",
		"age,back\nNA,no\n?,no\n,yes\n-1,no\n-1.0,no\n49,yes\n")
	if err != nil || !slices.Equal(d.Value, []float32{50, 50, 50, 50, -1, 49}) {
		t.Errorf("%v, error %v", d, err)
	}
	if _, _, err = parseMixed(t, "column,kind,values\nage,number,50|NA\n", "age,back\nna,no\n"); err == nil {
		t.Error("na is read as NA")
	}
}

// Of each column the first fault is reported, whatever line it stands in, so that all that must be
// said of a file is seen at once; a file in which they have no end is read no further.
func TestFaultsOfAllColumns(t *testing.T) {
	_, _, err := parseMixed(t, "column,kind,values\nd,one-of,x|y\n",
		"a,b,c,d,back\n1,2,3,x,no\nu,2,3,x,no\nv,2,,x,no\n1,w,3,z,maybe\n5,6,7,y,never\n")
	want := []string{`:3: column "a": the field`, `:4: column "c": the field is empty`, `:5: column "b"`, `:5: column "d"`,
		`:5: label "maybe"`}
	if err == nil || strings.Count(err.Error(), "\n")+1 != len(want) {
		t.Fatalf("error %v, must have %d lines", err, len(want))
	}
	for i, line := range strings.Split(err.Error(), "\n") {
		if !strings.Contains(line, want[i]) {
			t.Errorf("line %d: %q, must have %q", i+1, line, want[i])
		}
	}
	_, _, err = parseMixed(t, "column,kind,values\n", "a,b,back\nx,1,no\n1,2\n3,y,no\n")
	if err == nil || !strings.Contains(err.Error(), `column "a"`) || !strings.Contains(err.Error(), ":3: 2 fields") {
		t.Errorf("a short line behind a fault: %v", err)
	}
	wide := strings.Repeat("x,", 3*maxFaults)
	header := ""
	for i := range 3 * maxFaults {
		header += fmt.Sprintf("c%d,", i)
	}
	_, _, err = parseMixed(t, "column,kind,values\n", header+"back\n"+wide+"no\n"+wide+"no\n")
	if err == nil || strings.Count(err.Error(), "\n") != maxFaults || !strings.Contains(err.Error(), "was not read") {
		t.Errorf("faults without an end: %.300v", err)
	}
}

// Files of tens of thousands of columns, each with what it holds, take no time, and not the square
// of it, where all are there; of those that are not an error has a few.
func TestManyColumnsAreSaidToHold(t *testing.T) {
	var kinds, header, row strings.Builder
	kinds.WriteString("column,kind,values\n")
	for i := range 50_000 { // which took minutes
		fmt.Fprintf(&kinds, "column%05d,number,0\n", i)
		fmt.Fprintf(&header, "column%05d,", i)
		row.WriteString(",")
	}
	text := header.String() + "back\n" + row.String() + "no\n"
	d, c, err := parseMixed(t, kinds.String(), text)
	if err != nil || d.Features != 50_000 {
		t.Fatal(err)
	}
	bounds := strings.ReplaceAll(strings.Replace(kinds.String(), "kind,values", "low,high", 1), "number,0", "0,1")
	if _, err = parseConstants(bounds, d, c); err != nil {
		t.Errorf("%.300v", err)
	}
	_, err = parseConstants(strings.ReplaceAll(bounds, ",0,1", ",1,0"), d, c)
	if err == nil || strings.Count(err.Error(), "\n") != maxFaults ||
		!strings.HasSuffix(err.Error(), "was not read") {
		t.Errorf("%.3000v", err)
	}
	_, _, err = parseMixed(t, kinds.String(), "other,back\n1,no\n")
	if err == nil || !strings.Contains(err.Error(), `the list of columns has "column00019"`) ||
		!strings.HasSuffix(err.Error(), "\nand 49980 more that do not exist") || strings.Count(err.Error(), "\n") != mostNames {
		t.Errorf("%.3000v", err)
	}
}

// Whatever does not fit what was said of the columns is an error that names it.
func TestColumnsThatDoNotFit(t *testing.T) {
	const header = "id,age,sex,smoker,weight,back\n"
	for _, c := range []struct{ columns, text, want string }{
		{mixed, header + "1,40,D,no,60,no\n", `t.csv:2: column "sex": the field must be one of the values ` +
			`that --columns gives: ["F" "M"] (an additional value * stands for all others)`},
		{"column,kind,values\na,one-of,\"\"\"b, c\"\"|\"\n", "a,back\n\"b, c\",no\n",
			`column "a": the field must be one of the values that --columns gives: ["\"b, c\"" ""]`},
		{mixed, header + "1,,F,no,60,no\n", `column "age": the field is empty, must be a finite decimal number`},
		{mixed, header + "1,40,F,no,heavy,no\n", `column "weight": the field must be a finite`},
		{"column,kind,values\nagee,ignored,\n", header + "1,40,1,1,60,no\n", `the list of columns has "agee"`},
		{"column,kind,values\nagee,ignored,\n", header + "1,40,1,1,60,no\n", `did you mean "age"?`},
		{"column,kind,values\nback,ignored,\n", header + "1,40,1,1,60,no\n", `column "back" has the labels`},
		{"column,kind,values\na,one-of,b|c\n", "a,a=b,back\nb,1,no\n", `two columns have the feature "a=b"`},
		{"column,kind,values\na,one-of,b=c|d\na=b,one-of,c|d\n", "a,a=b,back\nd,d,no\n",
			`two columns have the feature "a=b=c"`},
		{"column,kind,values\na,ignored,\n", "a,back\nb,no\n", "the only column is that of the labels"},
	} {
		if _, _, err := parseMixed(t, c.columns, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.text, err, c.want)
		}
	}
	if _, _, err := parseMixed(t, mixed, header+"1,40,F,no,heavy,no\n"); !errors.Is(err, ErrNoNumber) {
		t.Errorf("%v is no ErrNoNumber", err)
	}
	for text, want := range map[string]string{
		"":                                "the file is empty",
		"name,kind,values\nid,ignored,\n": "must be column,kind,values",
		"column,kind,values\nid,ignored,\nid,ignored,\n":      `line 3: column "id", must be a name that does not occur before`,
		"column,kind,values\n,ignored,\n":                     `line 2: column "", must be a name`,
		"column,kind,values\nid,text,\n":                      `kind "text" of column "id", must be number`,
		"column,kind,values\nid,ignored,3\n":                  `values "3" of column "id", must be empty`,
		"column,kind,values\nsex,one-of,F\n":                  `must be at least two`,
		"column,kind,values\nsex,one-of,F|M|F\n":              `"F" occurs twice`,
		"column,kind,values\nage,number,|NA\n":                `values "|NA" of column "age"`,
		"column,kind,values\nage,number,7|\n":                 `as in 75|NA`,
		"column,kind,values\nage,number,7|NA| NA\n":           `each once`,
		"column,kind,values\nage,number,NaN\nb,number,1e99\n": `line 3: values "1e99"`,
		"column,kind\nid,ignored\n":                           "must be column,kind,values",
		"column,kind,values\nid,ignored\n":                    "line 2 has 2 fields, must have 3: column,kind,values; a field with a ',' in it needs double quotes",
	} {
		if _, err := ParseColumns(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// Whatever a file of columns has, it is read or refused, and what is read is read again alike.
func FuzzColumns(f *testing.F) {
	f.Add(mixed)
	f.Add("column;kind;values\nsex;one-of;F|M\n")
	f.Add("column,kind,values\n\"a\nb\",one-of,\"x|y\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseColumns(text)
		if err != nil {
			return
		}
		again, err := ParseColumns(c.Text())
		if err != nil || len(again.kinds) != len(c.kinds) {
			t.Errorf("read again: %v, %d columns of %d", err, len(again.kinds), len(c.kinds))
		}
		for name, k := range c.kinds {
			for _, value := range k.values {
				if to, err := k.take(nil, []byte(value)); err != nil || len(to) != len(k.features(name)) {
					t.Errorf("value %q of %q: %v, %v", value, name, to, err)
				}
			}
		}
	})
}

// A column of as many values as a file can hold is read at once, not in time that grows with
// their square.
func TestManyValues(t *testing.T) {
	const values = 150_000
	var text strings.Builder
	text.WriteString("column,kind,values\nx,one-of,0")
	for i := 1; i < values; i++ {
		fmt.Fprintf(&text, "|%d", i)
	}
	c, err := ParseColumns(text.String())
	if err != nil || len(c.of("x").values) != values {
		t.Errorf("%v, must be %d values", err, values)
	}
}

// A column is carried over as text, whether it is a feature or not. A column that is no feature of the model
// need not be a number. The memory for its text is bounded.
func TestKeptColumns(t *testing.T) {
	labels, err := data.LabelsOf([]string{"no", "yes"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	text := "name,b,a,back\n\"Ann, the first\",2,1.50,no\n,4,3,yes\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	kept := Kept{Names: []string{"a", "name", "back"}}
	d, err := ParseFile(path, Options{Label: "back", Labels: labels, Named: []string{"a", "b"}, Kept: &kept})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"1.50", "Ann, the first", "no"}, {"3", "", "yes"}}
	if !slices.EqualFunc(kept.Rows, want, slices.Equal[[]string]) {
		t.Errorf("kept %q, must be %q", kept.Rows, want)
	}
	if row := d.Row(1).Value; !slices.Equal(d.Columns, []string{"a", "b"}) || !slices.Equal(row, []float32{3, 4}) {
		t.Errorf("features %q, the second row %v", d.Columns, row)
	}
	for name, want := range map[string]string{"nam": `no column "nam" to keep: did you mean "name"?`, "": `no column "" to keep`} {
		o := Options{Label: "back", Labels: labels, Named: []string{"a", "b"}, Kept: &Kept{Names: []string{name}}}
		if _, err := ParseFile(path, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("keep %q: %v", name, err)
		}
	}
	long := strings.Repeat("x", 1<<20)
	if err := os.WriteFile(path, []byte("name,b,a,back\n"+strings.Repeat(long+",2,1,no\n", 8)), 0o666); err != nil {
		t.Fatal(err)
	}
	debug.FreeOSMemory() // of the text, which would otherwise make room while the file is read
	o := Options{Label: "back", Labels: labels, Named: []string{"a", "b"}, Kept: &kept, Memory: 1<<40 - memory.Given(1<<40).Left() + 4<<20}
	if _, err := ParseFile(path, o); !errors.Is(err, memory.ErrTooLittle) {
		t.Errorf("8 MiB of text within 4 MiB: %v", err)
	}
}

// The column of persons is never a feature, whatever it holds, and none of its fields is in a message or in
// the data set. Without a name nobody knows how many records a person has.
func TestPersons(t *testing.T) {
	labels, err := data.LabelsOf([]string{"no", "yes"})
	if err != nil {
		t.Fatal(err)
	}
	read := func(columns, text, test string) (*data.Dataset, error) {
		dir := t.TempDir()
		o := Options{Label: "back", Labels: labels, Person: "who"}
		if columns != "" {
			if o.Columns, err = ParseColumns(columns); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, "t.csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if test != "" {
			o.Test = filepath.Join(dir, "test.csv")
			if err := os.WriteFile(o.Test, []byte(test), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return ParseFile(path, o)
	}
	const text = "age,who,back\n40, 7 ,no\n50,8,yes\n60,7,no\n"
	for _, columns := range []string{"", "column,kind,values\nwho,ignored,\n", "column,kind,values\n*,number,0\n"} {
		d, err := read(columns, text, "who,age,back\n9,30,no\n")
		if err != nil {
			t.Fatal(err)
		}
		a, b, c := data.PersonOf("7"), data.PersonOf("8"), data.PersonOf("9")
		if !slices.Equal(d.Columns, []string{"age"}) || !slices.Equal(d.Person, []data.PersonKey{a, b, a, c}) || d.Validate() != nil {
			t.Errorf("columns %q, persons %x, %v", d.Columns, d.Person, d.Validate())
		}
	}
	for _, c := range []struct{ columns, text, test, want string }{
		{"", "age,wo,back\n40,7,no\n", "", `no column "who" of persons besides that of the labels: did you mean "wo"?`},
		{"", text, "age,back\n40,no\n", `no column "who" of persons`},
		{"", "age,who,back\n40,secret,no\n50,,yes\n", "", `:3: column "who": the field is empty, must say whose record it is`},
		{"column,kind,values\nwho,one-of,7|8\n", text, "", `column "who" has the persons, must be ignored`},
	} {
		if _, err := read(c.columns, c.text, c.test); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// Columns that leave one more out are read again alike, whatever separates their fields.
func TestIgnoring(t *testing.T) {
	for _, text := range []string{"", "column,kind,values\n", "column;kind;values\r\nsex;one-of;F|M\r\n", "column\tkind\tvalues\nsex\tone-of\tF|M"} {
		var c *Columns
		if text != "" {
			var err error
			if c, err = ParseColumns(text); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"who", "a, b; c", `"quoted"`} {
			with, err := c.Ignoring(name)
			if err != nil || with.of(name).kind != ignored || with.of("sex").kind != c.of("sex").kind {
				t.Errorf("%q without %q: %v", text, name, err)
				continue
			}
			if again, err := with.Ignoring(name); err != nil || again != with {
				t.Errorf("%q without %q twice: %v", text, name, err)
			}
		}
		if _, err := c.Ignoring("s*"); err == nil {
			t.Error("a name for many columns")
		}
	}
	// A column that says whose a record is must not become a feature because a line lists it as one.
	c, err := ParseColumns("column,kind,values\nwho,number,\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ignoring("who"); err == nil || err.Error() != `column "who" is listed as number, must be ignored` {
		t.Errorf("a column listed as a number: %v", err)
	}
}

// A line that no column can need, because an earlier pattern takes all of its columns, is refused in a file: its author
// expects it to count. Models that hold such a description are still read.
func TestUnusedPatterns(t *testing.T) {
	const text = "column,kind,values\npay_*,number,0\npay_amt*,log,\n"
	if _, err := ParseColumns(text); err != nil {
		t.Errorf("of a model: %v", err)
	}
	_, err := ReadColumns(written(t, "c.csv", text))
	if err == nil || !strings.Contains(err.Error(), `the line for "pay_amt*" is not used, because the line for "pay_*" comes first`) {
		t.Errorf("of a file: %v", err)
	}
	if _, err := ReadColumns(written(t, "c.csv", "column,kind,values\npay_amt*,log,\npay_*,number,0\n*,number,1\n")); err != nil {
		t.Errorf("the narrow one first: %v", err)
	}
}
