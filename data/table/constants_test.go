package table

import (
	"reflect"
	"strings"
	"testing"

	"proactivedp/data"
)

func constantsOf(t testing.TB) *data.Dataset {
	t.Helper()
	d, err := ParseFile(written(t, "i.csv", irises), Options{Label: "species",
		Labels: labels(t, "setosa,versicolor,virginica")})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestReadConstants(t *testing.T) {
	d := constantsOf(t)
	m, err := ReadConstants(written(t, "c.csv", "column,low,high\nwidth,-1,3.5\nlength,0,10\n"), d, nil)
	if err != nil || m.Shift[1] != -1 || m.Scale[0] != 0.1 || m.High[1] != 3.5 {
		t.Errorf("%+v, %v", m, err)
	}
	blanks := " column , low, high \n width , -1 ,3.5 \n length, 0,10\t\n"
	if blank, err := ReadConstants(written(t, "c.csv", blanks), d, nil); err != nil || !reflect.DeepEqual(blank, m) {
		t.Errorf("with blanks around fields: %+v, %v", blank, err)
	}
	if _, err := Bounds(" 0 , 1 ", d, nil); err != nil {
		t.Errorf("with blanks around bounds: %v", err)
	}
	path := written(t, "c.csv", "column,mean,deviation\nwidth,3,2\nlength,5,4\n")
	if m, err = ReadConstants(path, d, nil); err != nil ||
		m.Shift[1] != 3 || m.Scale[1] != 0.5 {
		t.Errorf("%+v, %v", m, err)
	}
	if out, err := d.Mapped(m); err != nil || out.Value[0] != float32((float64(d.Value[0])-5)/4) {
		t.Errorf("%v, %v", out, err)
	}
	bare := *d
	bare.Columns = nil
	if m, err = ReadConstants(written(t, "c.csv", "column,mean,deviation\n2,3,2\n1,5,4\n"), &bare, nil); err != nil ||
		m.Shift[1] != 3 {
		t.Errorf("%+v, %v", m, err)
	}
	for text, want := range map[string]string{
		"":                             "the file is empty",
		"column,low\n":                 "header",
		"column,low,high\n":            "column \"length\" has no constants\ncolumn \"width\" has no constants",
		"column,low,high\nwidth,0,1\n": `column "length" has no constants`,
		"column,low,high\nw*,0,1\n*,0,9\nwi*h,0,2\n":          `the line for "wi*h" is not used, because the line for "w*" comes first`,
		"column,low,high\n*,0,9\nwi*,0,2\n":                   `the line for "wi*" is not used, because the line for "*" comes first`,
		"column,low,high\nx,0,1\n":                            `line 2: column "x" is none of the 2`,
		"column,low,high\nWidth,0,1\n":                        `line 2: column "Width" is none of the 2: did you mean "width"?`,
		"column,low,high\n1,0,1\n":                            `line 2: column "1" is none of the 2, which have names`,
		"column,low,high\nwidth,1,1\n":                        "line 2: column \"width\": \"1\" and \"1\", must be finite",
		"column,low,high\nwidth,NaN,1\n":                      "line 2: column \"width\": \"NaN\" and \"1\", must be finite",
		"column,mean,deviation\nwidth,1,0\n":                  "line 2: column \"width\": \"1\" and \"0\", must be finite",
		"column,mean,deviation\nwidth,1\n":                    "line 2 has 2 fields, must have 3: column,mean,deviation",
		"column,low,high\nwidth,0,1\nwidth,0,1\nlength,0,1\n": `line 3: column "width" occurs twice`,
	} {
		_, err := ReadConstants(written(t, "c.csv", text), d, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, must say %q", text, err, want)
		}
	}
	kinds, err := ParseColumns("column,kind,values\nsex,one-of,F|M\nrank,ordered,low|high\nlast,ordered,low|high\n")
	if err != nil {
		t.Fatal(err)
	}
	mixed := &data.Dataset{Features: 5, Columns: []string{"size", "sex=F", "sex=M", "rank", "last"}}
	m, err = ReadConstants(written(t, "c.csv", "column,low,high\n*,0,10\nrank,0,4\n"), mixed, kinds)
	if err != nil || !reflect.DeepEqual(m.High, []float64{10, 1, 1, 4, 1}) {
		t.Errorf("a line for * is not for values of 0 and 1, a line with the name is: %+v, %v", m, err)
	}
	for _, list := range []string{"", "1", "1,1", "2,1", "a,b", "-1e40,1e40", "NaN,1"} {
		if _, err := Bounds(list, d, nil); err == nil {
			t.Errorf("bounds %q are no error", list)
		}
	}
}

// Whatever a file of constants holds, what is read of it can be applied or is refused.
func FuzzParseConstants(f *testing.F) {
	for _, text := range []string{"column,low,high\nwidth,-1,3.5\nlength,0,10\n",
		"column,mean,deviation\nwidth,3,2\nlength,5,4\n", "column,low,high\nwidth,0,1e-320\nlength,0,1\n"} {
		f.Add(text)
	}
	d := constantsOf(f)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseConstants(text, d, nil)
		if err != nil {
			return
		}
		if out, err := d.Mapped(m); err == nil {
			if err := out.Validate(); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}
