package table

import (
	"encoding/csv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
)

// The same table as different programs write it gives the same data set. The forms are those of
// RFC 4180, of Excel, and of files of the UCI repository.
func TestFormsOfTheSameTable(t *testing.T) {
	plain := "a,b,y\n1.5,-2,no\n1234.25,3,yes\n"
	o := Options{Label: "y", Labels: labels(t, "no,yes")}
	want, err := ParseFile(written(t, "f.csv", plain), o)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		set  func(*Options)
	}{
		"sep=;":                    {"sep=;\na;b;y\n1.5;-2;no\n1234.25;3;yes\n", nil},
		"sep=|, quoted, BOM, CRLF": {"\ufeff\"SEP=|\"\r\na|b|y\r\n1.5|-2|no\r\n1234.25|3|yes\r\n", nil},
		"sep=, with commas":        {"sep=,\n" + plain, nil},
		"bars":                     {"a|b|y\n1.5|-2|no\n1234.25|3|yes\n", nil},
		"an index of pandas": {",a,b,y\n0,1.5,-2,no\n1,1234.25,3,yes\n", func(o *Options) {
			o.Columns, _ = ParseColumns("column,kind,values\n1,ignored,\n")
		}},
		"blanks":            {"a b y\n1.5 -2 no\n1234.25 3 yes\n", nil},
		"columns by blanks": {"  a        b   y\n  1.5     -2   no  \n  1234.25  3   yes\n\n", nil},
		"blanks and quotes": {"a \"b\"  y \n1.5 -2 \"no\" \n\"1234.25\" 3 yes\n", nil},
		"tabs, with an empty name quoted in another field": {"a\t\"b\"\ty\n1.5\t-2\tno\n1234.25\t3\t\"yes\"\n", nil},
		"a header that ends in a comma":                    {"a,b,y,\n1.5,-2,no,\n1234.25,3,yes,\n", nil},
		"only the header ends in a comma":                  {"a,b,y,\n1.5,-2,no\n1234.25,3,yes\n", nil},
		"a header that ends in a semicolon":                {"a;b;y;\n1.5;-2;no;\n1234.25;3;yes\n", nil},
		"a title above the header":                         {"Table 1, all\n" + plain, func(o *Options) { o.HeaderLine = 2 }},
		"two headers":                                      {",X1,Y\n" + plain, func(o *Options) { o.HeaderLine = 2 }},
		"a header below three lines":                       {"x\n\nz,1\n" + plain, func(o *Options) { o.HeaderLine = 4 }},
		"decimal commas": {"a;b;y\n1,5;-2;no\n1234,25;3;yes\n",
			func(o *Options) { o.Numbers = "1234,5" }},
		"decimal commas in quotes": {"a,b,y\n\"1,5\",-2,no\n\"1234,25\",3,yes\n",
			func(o *Options) { o.Numbers = "1234,5" }},
		"thousands with points": {"a;b;y\n1,5;-2;no\n1.234,25;3;yes\n",
			func(o *Options) { o.Numbers = "1.234,5" }},
		"thousands with commas": {"a;b;y\n1.5;-2;no\n1,234.25;3;yes\n",
			func(o *Options) { o.Numbers = "1,234.5" }},
		"thousands with narrow blanks": {"a;b;y\n1,5;-2;no\n1\u202f234,25;3;yes\n",
			func(o *Options) { o.Numbers = "1 234,5" }},
		"thousands with apostrophes": {"a;b;y\n1.5;-2;no\n1’234.25;3;yes\n",
			func(o *Options) { o.Numbers = "1'234.5" }},
	} {
		o := o
		if c.set != nil {
			c.set(&o)
		}
		got, err := ParseFile(written(t, "f.csv", c.text), o)
		if err != nil || got.Hash() != want.Hash() || !slices.Equal(got.Columns, want.Columns) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A name or a field in quotes may have several lines (RFC 4180, section 2, rule 6), and errors still
// name the line at which a record begins.
func TestQuotedLines(t *testing.T) {
	o := Options{Label: "y", Labels: labels(t, "no,yes")}
	var err error
	if o.Columns, err = ParseColumns("column,kind,values\nnote,ignored,\n"); err != nil {
		t.Fatal(err)
	}
	text := "note,\"the\nage\",y\n\"one\ntwo, \"\"three\"\"\n\",1,no\n\"\n\n\n\",2,yes\n"
	if _, err = ParseFile(written(t, "f.csv", text), o); err == nil {
		t.Error("a name with the end of a line was read, which an error could not show on one line")
	}
	text = strings.Replace(text, "the\nage", "age", 1)
	d, err := ParseFile(written(t, "f.csv", text), o)
	if err != nil || !slices.Equal(d.Value, []float32{1, 2}) {
		t.Fatalf("%+v, %v", d, err)
	}
	for more, want := range map[string]string{
		"x,y,no\n":        `f.csv:9: column "age": the field must`,
		"x,3,no\n\"x,":    `f.csv:10: extraneous or missing " in quoted-field`,
		"5\" pipe,3,no":   `f.csv:9: bare " in non-quoted`,
		"\"a\nb\",1\n":    "f.csv:9: 2 fields, must be 3",
		"\"a\"b,1,no\n":   "f.csv:9: extraneous",
		"\n\nx,3,perhaps": `f.csv:11: label "perhaps"`,
	} {
		if _, err := ParseFile(written(t, "f.csv", text+more), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, must say %s", more, err, want)
		}
	}
}

// Records that splitQuoted splits have the fields that package csv reads.
func TestSplitQuoted(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	tokens := []string{`"`, `""`, ",", ",", ",", " ", "\t", "\u00a0", "1", `"x"`, `"a,b"`, "\"a\nb\"", "\xff"}
	split := 0
	for range 20_000 {
		text := ""
		for range 1 + random.IntN(9) {
			text += tokens[random.IntN(len(tokens))]
		}
		p := &parser{comma: []rune{',', '\t'}[random.IntN(2)]}
		if !strings.Contains(text, `"`) || !p.splitQuoted([]byte(text)) {
			continue
		}
		split++
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.TrimLeadingSpace = p.comma, p.comma == ','
		want, err := r.Read()
		trim(want)
		if err != nil || !slices.EqualFunc(p.fields, want, func(a []byte, b string) bool { return string(a) == b }) {
			t.Errorf("%q is %q, want %q, %v", text, p.fields, want, err)
		}
	}
	if split < 1000 {
		t.Errorf("%d records were split", split)
	}
}

// A file without a header has columns 1, 2 and so on. A first line that may be a record is refused,
// and no error shows what it has.
func TestNoHeader(t *testing.T) {
	o := Options{Label: "3", Labels: labels(t, "0,1"), NoHeader: true}
	d, err := ParseFile(written(t, "f.csv", "31,1e2,0\n41,7,1\n"), o)
	if err != nil || d.Len() != 2 || !slices.Equal(d.Columns, []string{"1", "2"}) ||
		!slices.Equal(d.Value, []float32{31, 100, 41, 7}) {
		t.Fatalf("%+v, %v", d, err)
	}
	o.Test = written(t, "g.csv", "5,6,1\n")
	if d, err = ParseFile(written(t, "f.csv", "31,1e2,0\n41,7,1\n"), o); err != nil || d.Train != 2 || d.Len() != 3 {
		t.Errorf("%+v, %v", d, err)
	}
	// The labels were in the first column, which a file to be labelled need not have.
	o = Options{Labels: labels(t, "0,1"), NoHeader: true, Unlabelled: true, Named: []string{"2", "4=x", "4=y"}}
	if o.Columns, err = ParseColumns("column,kind,values\n4,one-of,x|y\n3,ignored,\n"); err != nil {
		t.Fatal(err)
	}
	if d, err = ParseFile(written(t, "f.csv", "17,skip,y\n"), o); err != nil || !slices.Equal(d.Value, []float32{17, 0, 1}) {
		t.Errorf("%+v, %v", d, err)
	}
	secret := "4711"
	for _, text := range []string{
		secret + ",2,0\n3,4,1\n", secret + ",Private,<=50K\n", "Private," + secret + ",x\n", "a," + secret + "," + secret + "\n",
		secret + ";2;0\n", secret + " 2 0\n", secret + "," + secret + ",y\n", "1,y," + secret + "\nx,0,2\n",
		secret + ",\n", secret + "\n",
	} {
		_, err := ParseFile(written(t, "f.csv", text), Options{Label: "y", Labels: labels(t, "0,1")})
		if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "--no-header") &&
			!strings.Contains(text, "\nx") {
			t.Errorf("%q: %v", text, err)
		}
		_, err = ParseFile(written(t, "f.csv", text), Options{Labels: labels(t, "0,1"), Unlabelled: true,
			Named: []string{"a", "b"}})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("to be labelled: %q: %v", text, err)
		}
	}
	// Names that are numbers are names where the user says so.
	d, err = ParseFile(written(t, "f.csv", "0,1,2\n5,6,1\n"), Options{Label: "2", Labels: labels(t, "0,1"), HeaderLine: 1})
	if err != nil || d.Len() != 1 || !slices.Equal(d.Columns, []string{"0", "1"}) {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := ParseFile("f.csv", Options{Labels: labels(t, "0,1"), HeaderLine: 1, NoHeader: true}); err == nil {
		t.Error("a header line and no header are no error")
	}
}

// If another line has the name of the labels, an error says which.
func TestHeaderFurtherDown(t *testing.T) {
	for text, want := range map[string]string{
		",X1,Y\nID,a,y\n1,2,0\n":        "line 2 has this name: --header-line 2",
		"Table\n\n\na,b,y\n1,2,0\n":     "line 4 has this name: --header-line 4",
		"x;\nz;1\n\"a\";\"y\";b\n1;2;0": "line 3 has this name: --header-line 3",
	} {
		_, err := ParseFile(written(t, "f.csv", text), Options{Label: "y", Labels: labels(t, "0,1")})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pandas") {
			t.Errorf("%q: %v, must say %s", text, err, want)
		}
	}
}

// A number is in one form. A separator of thousands that is not where it must be is not skipped:
// 1,5 is not 15.
func TestNumberForms(t *testing.T) {
	for form, texts := range map[string]map[string]float32{
		"1234.5":  {"1234.5": 1234.5, "-1e3": -1000, "1,5": 0, "1.234,5": 0},
		"1234,5":  {"1234,5": 1234.5, "-0,5e1": -5, "1.5": 0, "1.234,5": 0, "7": 7},
		"1,234.5": {"1,234.5": 1234.5, "12,345,678": 12345678, "1,5": 0, "1234,567": 0, ",123": 0, "1,2345": 0, "7.25": 7.25},
		"1.234,5": {"1.234,5": 1234.5, "-1.234": -1234, "1.5": 0, "1.234.5": 0, "1,5.000": 0, "12.345,0": 12345},
		"1 234,5": {"1 234,5": 1234.5, "1\u00a0234": 1234, "1  234": 0, "12 34": 0},
		"1'234.5": {"1'234.5": 1234.5, "1’234": 1234, "1''234": 0},
	} {
		n, err := ParseNumbers(form)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range texts {
			if v, ok := (column{kind: number, numbers: n}).number(text); v != want || ok != (want != 0) {
				t.Errorf("%s as %s: %v, %v, want %v", text, form, v, ok, want)
			}
		}
	}
	for _, form := range []string{"", "1.000", "1234", "1,234,5", "de"} {
		if _, err := ParseNumbers(form); err == nil {
			t.Errorf("%q is no error", form)
		}
	}
}

// Kinds of columns that are no plain numbers, with what stands for all other texts.
func TestKinds(t *testing.T) {
	const header = "income,born,admitted,grade,ward,s1,s2,back\n"
	const kinds = "column,kind,values\nincome,log,1000|NA\nborn,date,2000-01-01\n" +
		"admitted,date,2000-01-01|DD.MM.YYYY|2000-01-11|?|*\ngrade,ordered,low|mid|high|*\nward,one-of,A|B|*\n" +
		"s*,number,0.5|*\n"
	d, c, err := parseMixed(t, kinds, header+
		"0,2000-01-02,31.12.1999,low,A,1,2,no\n"+
		"NA,2001-01-01T12:30:00,?,high,Z,NaN,none,yes\n"+
		"-1e3,1999-12-31 00:00,soon,strange,*,Inf,,yes\n")
	if err != nil {
		t.Fatal(err)
	}
	ln := float32(6.908754779315221) // ln(1 + 1000)
	want := []float32{
		0, 1, -1, 0, 1, 0, 0, 1, 2,
		ln, 366, 10, float32(2.) / 3, 0, 0, 1, .5, .5,
		-ln, -1, 10, 1, 0, 0, 1, .5, .5,
	}
	if !reflect.DeepEqual(d.Value, want) {
		t.Errorf("%v\nwant %v", d.Value, want)
	}
	// Bounds are given as the file has the column.
	m, err := parseConstants("column,low,high\nincome,0,1000\nborn,2000-01-01,2000-04-10\nadmitted,0,365\ns*,0,1\ns2,0,4\n",
		d, c)
	if err != nil || m.High[0] != symmetricLog(1000) || m.High[1] != 100 || m.High[2] != 365 || m.High[7] != 1 ||
		m.High[8] != 4 || m.High[4] != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err = Bounds("0,1000", d, c); err != nil || m.High[0] != symmetricLog(1000) || m.High[1] != 1000 || m.High[3] != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	for row, want := range map[string]string{
		"x,2000-01-01,?,low,A,1,1,no":   `column "income": the field must be a finite decimal number`,
		"0,01.01.2000,?,low,A,1,1,no":   `column "born": the field must be a date written like 2000-01-01`,
		"0,2000-02-30,?,low,A,1,1,no":   `column "born": the field must be a date`,
		"0,,?,low,A,1,1,no":             `column "born": the field is empty`,
		"0,2000-01-01,?,low,A,1,1,none": `label "none"`,
	} {
		if _, _, err := parseMixed(t, kinds, header+row+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, must say %s", row, err, want)
		}
	}
}

// A name with * lists all columns that fit and have no line of their own.
func TestPatternsOfColumns(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		fits          bool
	}{
		{"s*", "s1", true}, {"s*", "s", true}, {"s*", "as", false}, {"*", "", true}, {"*_id", "user_id", true},
		{"*_id", "id", false}, {"a*b*c", "abc", true}, {"a*b*c", "a-bb-c", true}, {"a*b*c", "acb", false},
		{"a*a", "a", false}, {"ab", "ab", true}, {"ab", "abc", false}, {"**", "x", true}, {"*é*", "café", true},
	} {
		if got := fits(c.pattern, c.name); got != c.fits {
			t.Errorf("%q fits %q: %v", c.pattern, c.name, got)
		}
	}
	d, _, err := parseMixed(t, "column,kind,values\ns2,one-of,a|b\ns*,number,7|NA\n*_id,ignored,\n*,number,0\n",
		"s1,s2,s3,a_id,x,back\nNA,b,,q,,no\n")
	if err != nil || !slices.Equal(d.Columns, []string{"s1", "s2=a", "s2=b", "s3", "x"}) ||
		!slices.Equal(d.Value, []float32{7, 0, 1, 7, 0}) {
		t.Errorf("%+v, %v", d, err)
	}
	for columns, want := range map[string]string{
		"column,kind,values\nt*,number,0\n":  `the list of columns has "t*"`,
		"column,kind,values\nba*,ignored,\n": `the list of columns has "ba*"`, // only the labels fit
	} {
		if _, _, err := parseMixed(t, columns, "s1,back\n1,no\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, must say %s", err, want)
		}
	}
	if _, err := parseConstants("column,low,high\nq*,0,1\n*,0,2\n", d, nil); err == nil || !strings.Contains(err.Error(), `"q*"`) {
		t.Errorf("%v", err)
	}
}

// A number beyond float32 is the largest one if it will be clamped.
func TestSaturatedNumbers(t *testing.T) {
	o := Options{Label: "y", Labels: labels(t, "0,1"), Saturate: true}
	d, err := ParseFile(written(t, "f.csv", "x,y\n1e39,0\n-1e400,1\n"), o)
	if err != nil || d.Value[0] < 3e38 || d.Value[1] > -3e38 || d.Validate() != nil {
		t.Errorf("%v, %v", d, err)
	}
	for _, text := range []string{"NaN", "inf", "-Infinity", "1e400x", ""} {
		if _, err := ParseFile(written(t, "f.csv", "x,y\n"+text+",0\n"), o); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// A record without an end in quotes takes no more memory than the longest line.
func TestEndlessQuotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.csv")
	if err := os.WriteFile(path, []byte("x,y\n\""+strings.Repeat(strings.Repeat("1", 1023)+"\n", MaxLine>>10+1)), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := ParseFile(path, Options{Label: "y", Labels: labels(t, "0,1")})
	if err == nil || !strings.Contains(err.Error(), "f.csv:2: a line of more than") {
		t.Errorf("%.200v", err)
	}
}

func BenchmarkParseFile(b *testing.B) {
	var text strings.Builder
	text.WriteString("c0,c1,c2,c3,c4,c5,c6,c7,c8,y\n")
	for range 20_000 {
		text.WriteString("0.1234,-1.5,17,3.25,-0.001,1024.5,7.75,2,0.333333,1\n")
	}
	path := written(b, "f.csv", text.String())
	o := Options{Label: "y", Labels: labels(b, "0,1")}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := ParseFile(path, o); err != nil {
			b.Fatal(err)
		}
	}
}

// Text is LIBSVM's format if index:value follows the label, and otherwise a table.
func TestIsText(t *testing.T) {
	for text, want := range map[string]bool{
		"39, State-gov, 77516\n":              true,
		"5.1,3.5,1.4,0.2,Iris-setosa\n":       true,
		" 0.00632  18.00   2.310  0\n":        true,
		"A11 6 A34 A43 1169\n":                true,
		"16/12/2006;17:24:00;4.216\n":         true,
		"2015-02-04 17:51:00,23.18,1\n":       true,
		"|1x3 Cross validator\n25, Private\n": true,
		"\ufeffsep=;\na;b\n":                  true,
		"area\trooms\n1\t2\n":                 true,
		"age|sex|y\n33|M|no\n":                true,
		"1\n1,2\n":                            true,
		"+1 3:1 10:-0.5\n":                    false,
		"1\n-1\n\n+1 2:1\n":                   false,
		"# made by x, y\n1 1:1\n":             false,
		"1:0.5 2:1\n":                         false, // without a label
		"1,3 2:1\n":                           false, // with two labels
		"2 qid:10 1:0.5\n":                    false, // for ranking
		"1 # 3,4\n0\n":                        false,
		"":                                    false,
		"1":                                   false,
	} {
		if got := IsText([]byte(text)); got != want {
			t.Errorf("%.40q is a table: %v, want %v", text, got, want)
		}
	}
}

// The first line of a file without a header may be a comment of C4.5.
func TestCommentWithoutHeader(t *testing.T) {
	const records = "25, 1\n|, 0\n"
	o := Options{Label: "2", Labels: labels(t, "0,1"), NoHeader: true}
	if _, err := ParseFile(written(t, "adult.test", "|1x3 Cross validator\n"+records), o); err == nil ||
		!strings.Contains(err.Error(), `adult.test:3: column "1"`) {
		t.Errorf("%v: only the first line is a comment", err)
	}
	d, err := ParseFile(written(t, "adult.test", "|1x3 Cross validator\n25, 1\n"), o)
	if err != nil || d.Len() != 1 {
		t.Errorf("%v, %v", d, err)
	}
}

// Blanks divide numbers in columns, also if a tab and a text in quotes follow. Doubled tabs are refused with the way
// out.
func TestBlanksAndTabs(t *testing.T) {
	const mpg = "18.0   8   307.0\t\"chevrolet chevelle malibu\"\n25.0   4   98.00\t\"ford pinto\" \n26.0   4   97.00\t\"\"\n"
	columns, err := ParseColumns("column,kind,values\n4,one-of,ford pinto|*\n")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Label: "1", Target: &data.TargetBounds{Low: 0, High: 50}, NoHeader: true, Columns: columns}
	// A name with two blanks does not make blanks of the tabs.
	names, err := ParseFile(written(t, "t.csv", "first  name\tage\tlabel\n1\t2\tno\n3\t4\tyes\n"), Options{Label: "label",
		Labels: labels(t, "no,yes")})
	if err != nil || !slices.Equal(names.Columns, []string{"first  name", "age"}) {
		t.Errorf("%+v, %v", names, err)
	}
	d, err := ParseFile(written(t, "auto-mpg.data", mpg), o)
	if err != nil || !slices.Equal(d.Value, []float32{8, 307, 0, 1, 4, 98, 1, 0, 4, 97, 0, 1}) {
		t.Errorf("%+v, %v", d, err)
	}
	for text, want := range map[string]string{
		"1  2  3\t\"a\"b\n":       "double quote",
		"1  2  3\t\"a\n":          "double quote",
		"1  2  a\"b\"\n":          "double quote",
		"1  2  3\ta b\n1  2  3\n": "auto-mpg.data:2: 3 fields, must be 5 as in the first record",
		"1  2  3\n1\u00a02  3\n":  "auto-mpg.data:2: 2 fields, must be 3", // as libsvm, which knows only these blanks
		"1\t2\t3\n1\t\t2\t3\n":    "4 fields, must be 3 as in the first record (without empty fields it has as many: tr -s '\\t'",
	} {
		if _, err := ParseFile(written(t, "auto-mpg.data", text), Options{Label: "1", Target: o.Target, NoHeader: true}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, must say %q", text, err, want)
		}
	}
}

// The first line of a file that is a table by its content alone may be a record, so no error shows it. A file that
// has the name of a table has a header, whose names help.
func TestFirstLinesThatMayBeRecords(t *testing.T) {
	const text = "Jane Doe,flu,sick\nJohn Roe,none,well\n"
	for name, shown := range map[string]bool{"people.data": false, "people.csv": true} {
		_, err := ParseFile(written(t, name, text), Options{Label: "status", Labels: labels(t, "sick,well")})
		if err == nil || strings.Contains(err.Error(), "Jane") != shown || strings.Contains(err.Error(), "--no-header") == shown {
			t.Errorf("%s: %v, must show the names: %v", name, err, shown)
		}
	}
}
