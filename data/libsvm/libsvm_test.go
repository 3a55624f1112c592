package libsvm

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"proactivedp/data"
	"proactivedp/internal/memory"
	"proactivedp/internal/testkit"
	"proactivedp/internal/unpack"
)

const small = "1 1:0.5 3:-2\n-1 2:1e-3\n"

// smallBzip2 is small through bzip2, which the standard library cannot write.
const smallBzip2 = "QlpoOTFBWSZTWQ/sjnkAAAVZAAAQQAN6EAIAIAAxANNNBTyTTT9KdzNe4SOgptKBF8XckU4UJAP7I55A"

func mustParse(t testing.TB, text string) *data.Dataset {
	t.Helper()
	d, err := Parse("toy", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParse(t *testing.T) {
	d := mustParse(t, small)
	want := &data.Dataset{
		Name: "toy", Features: 3, Classes: 2, Names: []string{"-1", "1"},
		Label: []int32{1, 0},
		Start: []int{0, 2, 3},
		Index: []int32{0, 2, 1},
		Value: []float32{0.5, -2, 1e-3},
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if fmt.Sprintf("%+v", d) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v\nwant %+v", d, want)
	}
}

func TestParseFormsOfTheSame(t *testing.T) {
	want := mustParse(t, small).Hash()
	for name, text := range map[string]string{
		"no final newline":    "1 1:0.5 3:-2\n-1 2:1e-3",
		"CRLF":                "1 1:0.5 3:-2\r\n-1 2:1e-3\r\n",
		"CR at the end":       "1 1:0.5 3:-2\r\n-1 2:1e-3\r",
		"blanks and tabs":     " \t1  1:0.5\t3:-2 \t\n\t-1\t2:1e-3\t\n",
		"blank lines":         "\n \t\n1 1:0.5 3:-2\n\r\n-1 2:1e-3\n\n\n",
		"comments":            "# 3 features: 1:x\n1 1:0.5 3:-2 # first\n  # none\n-1 2:1e-3#second\r\n#",
		"labels 0 and 1":      "1 1:0.5 3:-2\n0 2:1e-3\n",
		"labels 1 and 2":      "2 1:0.5 3:-2\n1 2:1e-3\n",
		"labels +1 and -1":    "+1 1:0.5 3:-2\n-1 2:1e-3\n",
		"labels with a point": "1.0 1:0.5 3:-2\n-0.000 2:1e-3\n",
		"labels with zeros":   "02 1:0.5 3:-2\n+001. 2:1e-3\n",
		"labels of HIGGS":     "1.000000000000000000e+00 1:0.5 3:-2\n0.000000000000000000e+00 2:1e-3\n",
		"labels with powers":  "20e-1 1:0.5 3:-2\n0.01E2 2:1e-3\n",
		"labels with a sign":  "+1e0 1:0.5 3:-2\n-.1e+1 2:1e-3\n",
		"a byte order mark":   "\ufeff1 1:0.5 3:-2\n-1 2:1e-3\n",
		"other numbers":       "1 1:.5 3:-2.\n-1 2:+1000.00E-6\n",
		"indices with zeros":  "1 001:0.5 03:-2\n-1 2:1e-3\n",
		"explicit zeros":      "1 1:0.5 2:0 3:-2\n-1 1:-0.0 2:1e-3 3:1e-99\n",
	} {
		d, err := Parse("toy", strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d.Hash() != want {
			t.Errorf("%s: %q is read as %+v", name, text, d)
		}
	}
}

func TestParseEmptyRowAndWidth(t *testing.T) {
	d := mustParse(t, "1\n0 2:1 5:0\n")
	if d.Features != 5 || d.Len() != 2 || len(d.Row(0).Index) != 0 || len(d.Row(1).Index) != 1 {
		t.Errorf("got %+v, want 5 features (the last by an explicit zero) and one stored entry", d)
	}
	d = mustParse(t, fmt.Sprintf("1 %d:1\n0\n", MaxIndex))
	if err := d.Validate(); err != nil || d.Features != MaxIndex {
		t.Errorf("largest index: %d features, %v", d.Features, err)
	}
}

func TestMalformed(t *testing.T) {
	const indexRange = "must be a whole number from 1 to 2147483646"
	const entry = "an entry must be index:value, and its index " + indexRange
	long := strings.Repeat("9", 100)
	for _, c := range []struct{ text, want string }{
		// Entries.
		{"1 7:1 5:1", "f:1:7: index 5 after 7: indices must increase"},
		{"1 5:1\n0 2:1 2:1", "f:2:7: index 2 after 2: indices must increase"},
		{"1 5:0 5:1", "f:1:7: index 5 after 5: indices must increase"},
		{"1 0:1", "f:1:3: index 0: " + indexRange + "; --zero-based reads a file that counts from 0, as scikit-learn and " +
			"LightGBM may write it"},
		{"1 -3:1", "f:1:3: " + entry},
		{"1 +3:1", "f:1:3: " + entry},
		{"1 1.0:1", "f:1:3: " + entry},
		{"1 qid:1 1:2", "f:1:3: qid, the group of a row for ranking, is not supported: remove it if each row is a record of its own " +
			"(sed 's/ qid:[0-9]*//' writes the file so)"},
		{"1 2147483647:1", "f:1:3: index 2147483647: " + indexRange},
		{"1 " + long + ":1", "f:1:3: index " + long[:40] + ": " + indexRange},
		{"1 :1", "f:1:3: " + entry},
		{"1 5", "f:1:3: " + entry},
		{"1 1:1 x", "f:1:7: " + entry},
		{"1 1 :1", "f:1:3: " + entry},
		{"1 1:", `f:1:5: the value must be a finite decimal number`},
		{"1 1: 2", `f:1:5: the value must be a finite decimal number`},
		{"1 1:2:3", `f:1:5: the value must be a finite decimal number`},
		{"1 1:NaN", `f:1:5: the value must be a finite decimal number`},
		{"1 1:-Inf", `f:1:5: the value must be a finite decimal number`},
		{"1 1:infinity", `f:1:5: the value must be a finite decimal number`},
		{"1 1:0x1p-2", `f:1:5: the value must be a finite decimal number`},
		{"1 1:1_000", `f:1:5: the value must be a finite decimal number`},
		{"1 1:1,5", `f:1:5: the value must be a finite decimal number`},
		{"1 1:.", `f:1:5: the value must be a finite decimal number`},
		{"1 1:1.2.3", `f:1:5: the value must be a finite decimal number`},
		{"1 1:--1", `f:1:5: the value must be a finite decimal number`},
		{"1 1:1e", `f:1:5: the value must be a finite decimal number`},
		{"1 1:1e39", `f:1:5: the value must be at most 3.4028235e+38 in size, the range of float32`},
		{"1 1:-" + long,
			`f:1:5: the value must be at most 3.4028235e+38 in size, the range of float32`},
		{"1 1:1\r0 2:1\r", "f:1: " + unpack.Returns},
		{"1 1:1\n\n \t0\t 3:bad # x", `f:3:8: the value must be a finite decimal number`},
		// Labels.
		{"1:1 2:1", "f:1:1: label missing: the line starts with an entry index:value"},
		{"1 1:1\n  2:1", "f:2:3: label missing: the line starts with an entry index:value"},
		{"one 1:1", `f:1:1: the label must be a finite decimal number` + words},
		{"\ufeffx 1:1", `f:1:1: the label must be a finite decimal number` + words},
		{"\xff\xfe1\x00 1", "f:1: the text is UTF-16, must be UTF-8 (iconv -f UTF-16 -t UTF-8 writes it so)"},
		{"nan 1:1", `f:1:1: the label must be a finite decimal number` + words},
		{"- 1:1", `f:1:1: the label must be a finite decimal number` + words},
		{"1e99 1:1", `f:1:1: the label must be at most 3.4028235e+38 in size, the range of float32` + words},
		{"3 1:1", "f:1:1: label 3: " + pairs + number},
		{"10 1:1", "f:1:1: label 10: " + pairs + number},
		{"0.5 1:1", "f:1:1: label 0.5: " + pairs + number},
		{"1e-60 1:1", "f:1:1: label 1e-60: " + pairs + number},
		{"1000000000000000000001e-21 1:1", "f:1:1: label 1000000000000000000001e-21: " + pairs + number},
		{"12e-1 1:1", "f:1:1: label 12e-1: " + pairs + number},
		{"0.99999999999999999999 1:1", "f:1:1: label 0.99999999999999999999: " + pairs + number},
		{"1 1:1\n\n 3 1:1", "f:3:2: label 3 after 1: " + pairs + ", such as --label-map=1,3" + number},
		{"0 1:1\n2 1:1", "f:2:1: label 2 after 0: " + pairs + ", such as --label-map=0,2" + number},
		{"-1 1:1\n0 1:1", "f:2:1: label 0 after -1: " + pairs + ", such as --label-map=-1,0" + number},
		{"-1 1:1\n+2 1:1", "f:2:1: label 2 after -1: " + pairs + ", such as --label-map=-1,2" + number},
		{"1 1:1\n0 1:1\n1 1:1\n2 1:1", "f:4:1: label 2 after 1 and 0: " + pairs + number},
		{"1 1:1\n-1 1:1\n0.25 1:1", "f:3:1: label 0.25 after 1 and -1: " + pairs + number},
		// The whole.
		{"", "f: no rows"},
		{"\n# nothing\n  \r\n", "f: no rows"},
		{"1 1:1\n1 2:1\n", "f: all 2 rows have label 1: " + pairs + number},
		{"1\n0\n", "f: no entries, so the number of features is not known: give --features"},
	} {
		_, err := Parse("f", strings.NewReader(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("Parse(%q): %v\nwant libsvm: %s", c.text, err, c.want)
			continue
		}
		if _, ok := errors.AsType[*ParseError](err); !ok {
			t.Errorf("Parse(%q): error of type %T, want *ParseError", c.text, err)
		}
	}
}

func TestParseErrorFields(t *testing.T) {
	_, err := Parse("phishing", strings.NewReader("1 1:1\n0 7:1 5:1\n"))
	got, ok := errors.AsType[*ParseError](err)
	want := ParseError{File: "phishing", Line: 2, Column: 7, Msg: "index 5 after 7: indices must increase"}
	if !ok || *got != want {
		t.Errorf("error %#v, want %#v", err, want)
	}
}

func compressed(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func bzip2ed(t testing.TB) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(smallBzip2)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCompressed(t *testing.T) {
	want := mustParse(t, small).Hash()
	for name, packed := range map[string][]byte{
		"gzip":         compressed(t, small),
		"gzip, joined": slices.Concat(compressed(t, small[:9]), compressed(t, small[9:])),
		"bzip2":        bzip2ed(t),
	} {
		d, err := Parse("toy", iotest.OneByteReader(bytes.NewReader(packed)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d.Hash() != want {
			t.Errorf("%s: read as %+v", name, d)
		}
	}
}

// However a compressed file is cut or changed, it is an error of the file, not
// a shorter data set.
func TestDamagedCompression(t *testing.T) {
	for name, packed := range map[string][]byte{"gzip": compressed(t, small), "bzip2": bzip2ed(t)} {
		check := func(what string, damaged []byte) {
			_, err := Parse("toy", bytes.NewReader(damaged))
			if err == nil || !strings.HasPrefix(err.Error(), "read toy: ") {
				t.Errorf("%s %s: %v, want an error that names the file", name, what, err)
			}
		}
		for n := 3; n < len(packed); n++ {
			check(fmt.Sprintf("cut to %d bytes", n), packed[:n])
		}
		middle := slices.Clone(packed)
		middle[len(middle)/2] ^= 0x10
		check("changed in the middle", middle)
		if name == "gzip" {
			check("with a tail", append(slices.Clone(packed), "tail"...))
		}
	}
}

func TestReaderFails(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, before := range []string{"", "1", "1 1:0.5\n0 2:no"} {
		_, err := Parse("toy", io.MultiReader(strings.NewReader(before), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "toy") {
			t.Errorf("after %q: %v, want one that wraps %q and names the file", before, err, broken)
		}
	}
}

func TestLongLines(t *testing.T) {
	var text strings.Builder
	text.WriteString("1")
	const n = 100_000 // about 1 MB, many buffers
	for i := range n {
		fmt.Fprintf(&text, " %d:0.5", i+1)
	}
	text.WriteString("\n0 1:1" + strings.Repeat(" ", 3*unpack.BufferSize) + "\n1\n")
	d := mustParse(t, text.String())
	if d.Features != n || d.Len() != 3 || len(d.Index) != n+1 {
		t.Errorf("%d features, %d rows, %d entries; want %d, 3, %d", d.Features, d.Len(), len(d.Index), n, n+1)
	}
	_, err := Parse("f", strings.NewReader(text.String()+"1"+strings.Repeat(" ", 2*unpack.BufferSize)+"x"))
	if want := fmt.Sprintf("f:4:%d: an entry must be index:value", 2*unpack.BufferSize+2); err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestLimits(t *testing.T) {
	endless := func(text string) io.Reader { return iotest.DataErrReader(&repeater{text: text}) }

	p := newParser("f", "f", Options{})
	p.maxLine = 4 * unpack.BufferSize
	err := p.rows(bufio.NewReaderSize(io.MultiReader(strings.NewReader("1 1:1\n"), endless("  ")),
		unpack.BufferSize))
	if want := fmt.Sprintf("f:2: line of more than %d bytes", 4*unpack.BufferSize); err == nil ||
		err.Error() != want {
		t.Errorf("endless line: %v, want %s", err, want)
	}
	if cap(p.spill) > 16*unpack.BufferSize {
		t.Errorf("an endless line took %d bytes", cap(p.spill))
	}

	p = newParser("f", "f", Options{})
	p.maxRows = 1000
	err = p.rows(bufio.NewReader(endless("1 1:1\n0 1:1\n")))
	if want := "f:1001:1: more than 1000 rows"; err == nil || err.Error() != want {
		t.Errorf("endless file: %v, want %s", err, want)
	}
}

// What does not fit the memory is refused while it is read, before it is there: rows, and
// a line that has no end.
func TestMemoryIsBounded(t *testing.T) {
	const room = 1 << 20
	for what, text := range map[string][2]string{
		"rows": {"", "1 1:1\n0 1:1\n"}, "entries": {"0", " 1:1"}, "line": {"0", "  "},
	} {
		p := newParser("f", "f", Options{Memory: 1 << 40})
		p.left = room
		err := p.rows(bufio.NewReaderSize(&repeater{rest: text[0], text: text[1]}, unpack.BufferSize))
		held := rowBytes*cap(p.set.Label) + entryBytes*cap(p.set.Index) + cap(p.spill)
		if !errors.Is(err, memory.ErrTooLittle) || held > room {
			t.Errorf("endless %s: %v with %d bytes held, want %v within %d", what, err, held, memory.ErrTooLittle, room)
		}
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, bytes.Repeat([]byte("1 1:1\n0 1:1\n"), 1000), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseFile(path, Options{Memory: 1}); !errors.Is(err, memory.ErrTooLittle) {
		t.Errorf("in one byte: %v, want %v", err, memory.ErrTooLittle)
	}
	if _, err := ParseFile(path, Options{Memory: 1 << 40}); err != nil {
		t.Error(err)
	}
}

type repeater struct{ text, rest string }

func (r *repeater) Read(p []byte) (int, error) {
	if r.rest == "" {
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func TestParseFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "toy")
	if err := os.WriteFile(path, []byte(small), 0o666); err != nil {
		t.Fatal(err)
	}
	for features, want := range map[int]int{0: 3, 3: 3, 10: 10} {
		d, err := ParseFile(path, Options{Features: features})
		if err != nil || d.Features != want || d.Name != "toy" {
			t.Errorf("ParseFile with %d features: %+v, %v; want %d", features, d, err, want)
		}
	}
	for features, want := range map[int]string{
		2:            path + `:1:9: index 3: must be a whole number from 1 to 2, because there are 2 features (--features)`,
		-1:           path + ": features = -1, must be in [0, 2147483646]",
		MaxIndex + 1: path + ": features = 2147483647, must be in [0, 2147483646]",
	} {
		if _, err := ParseFile(path, Options{Features: features}); err == nil || err.Error() != want {
			t.Errorf("ParseFile with %d features: %v\nwant %s", features, err, want)
		}
	}
	if _, err := ParseFile(path+"x", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("# no rows\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if d, err := ParseFile(path, Options{Test: empty}); err == nil || err.Error() != empty+": no rows" {
		t.Errorf("a test file without rows: %+v, %v", d, err)
	}
}

// Numbers are rounded once, whether decimal.Float32 reads them or leaves them to strconv.
func TestNumbersAreRoundedOnce(t *testing.T) {
	for _, text := range []string{
		"0.18257", "16777217", "16777219", "33554433.0", "1.00000005960464", "1.00000017881393", // half-way
		"9007199254740993", "123456789012345678901234567890", "1e-45", "3.4028235e38", "1.17549435e-38", "0.1e-37", "1E+2",
	} {
		want, err := strconv.ParseFloat(text, 32)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustParse(t, "0 1:"+text+"\n1 1:-"+text+"\n").Value; got[0] != float32(want) || got[1] != -float32(want) {
			t.Errorf("%s is read as %v, want %v", text, got, float32(want))
		}
	}
}

// The entries of a large file are in memory once: their number is estimated from the part of the file that was
// read. The estimate does not count the entries of an earlier file.
func TestEntriesAreInMemoryOnce(t *testing.T) {
	const rows, columns = 20_000, 40
	line := ""
	for i := range columns {
		line += fmt.Sprintf(" %d:-0.125", i+1)
	}
	path := filepath.Join(t.TempDir(), "large.libsvm")
	if err := os.WriteFile(path, []byte(strings.Repeat("0"+line+"\n1"+line+"\n", rows/2)), 0o666); err != nil {
		t.Fatal(err)
	}
	limited := func(part float64) error {
		p := newParser(path, path, Options{Memory: 1 << 40})
		p.left = int64(part * rows * columns * entryBytes)
		return p.parseFile()
	}
	if err := limited(1.75); err != nil { // of which 0.5 are of the half that was read before the estimate
		t.Error(err)
	}
	if err := limited(1.4); !errors.Is(err, memory.ErrTooLittle) {
		t.Errorf("read within less memory than the entries take: %v", err)
	}
	for _, test := range []string{"", path} {
		d, err := ParseFile(path, Options{Test: test})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(d.Index); n != d.Len()*columns || float64(cap(d.Index)) > 1.1*float64(n) || cap(d.Value) != cap(d.Index) {
			t.Errorf("%d entries, room for %d and %d", n, cap(d.Index), cap(d.Value))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		small, "", "1\n0 2:1 5:0\n", "1 7:1 5:1", "# c\n\r\n+1 1:.5\t2:1e-9 \r\n2 1:16777217", "1 1:NaN",
		"1 2147483646:1\n0", "0 1:1e99",
	} {
		f.Add([]byte(text))
	}
	f.Add(compressed(f, small))
	f.Add(bzip2ed(f))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse("fuzz", bytes.NewReader(text))
		if err != nil {
			if d != nil {
				t.Errorf("data set %v with error %v", d, err)
			}
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		back, err := Parse("back", strings.NewReader(testkit.LIBSVM(d)))
		if err != nil {
			t.Fatal(err)
		}
		if back.Hash() != d.Hash() {
			t.Errorf("%q: written and parsed is %+v, was %+v", text, back, d)
		}
	})
}

// The shapes of the real files, so that speed can be seen without them.
func BenchmarkParse(b *testing.B) {
	var phishing, mushrooms, decimals bytes.Buffer
	for i := range 11055 {
		for out, n := range map[*bytes.Buffer]int{&phishing: 30, &mushrooms: 21, &decimals: 30} {
			fmt.Fprint(out, i%2)
			for j := range n {
				switch out {
				case &phishing:
					fmt.Fprintf(out, " %d:0.18257", 2*j+1+i%2)
				case &mushrooms:
					fmt.Fprintf(out, " %d:1", 5*j+1+i%5)
				default:
					fmt.Fprintf(out, " %d:%v", j+1, math.Sqrt(float64(i*n+j)))
				}
			}
			fmt.Fprintln(out)
		}
	}
	for name, text := range map[string][]byte{"phishing": phishing.Bytes(), "mushrooms": mushrooms.Bytes(),
		"decimals": decimals.Bytes()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(name, bytes.NewReader(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A file that counts from 0 gives the same rows, once that is said. One that begins so is refused
// with the option that says it.
func TestZeroBased(t *testing.T) {
	want := mustParse(t, small)
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, text := range []string{"1 0:0.5 2:-2\n-1 1:1e-3\n", "\ufeff1 00:0.5 02:-2\n-1 1:1e-3\n", "1 0:.5 2:-2\n-1 0:0 1:.001\n"} {
		d, err := ParseFile(write(text), Options{ZeroBased: true, Features: 3})
		if err != nil || d.Hash() != want.Hash() {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
		if _, err = ParseFile(write(text), Options{Features: 3}); err == nil || !strings.Contains(err.Error(), "--zero-based") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, must := range map[string]string{
		"1 3:1\n-1 1:1":     ":1:3: index 3: must be a whole number from 0 to 2, because there are 3 features",
		"1 1:1 1:1\n-1 1:1": ":1:7: index 1 after 1",
		"1 -1:1\n-1 1:1":    "must be index:value, and its index must be a whole number from 0 to 2",
	} {
		if _, err := ParseFile(write(text), Options{ZeroBased: true, Features: 3}); err == nil ||
			!strings.Contains(err.Error(), must) {
			t.Errorf("%q: %v, must say %s", text, err, must)
		}
	}
	d, err := ParseFile(write("1 1:1e39 2:-1e99\n-1 1:1"), Options{Saturate: true})
	if err != nil || d.Value[0] != math.MaxFloat32 || d.Value[1] != -math.MaxFloat32 {
		t.Errorf("%+v, %v", d, err)
	}
}

// Targets are numbers of any form, scaled by their bounds. Errors do not show them.
func TestTargets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	read := func(text string, o Options) (*data.Dataset, error) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return ParseFile(path, o)
	}
	bounds, refuse := &data.TargetBounds{Low: 0, High: 8}, &data.TargetBounds{Low: 0, High: 8, Refuse: true}
	for _, text := range []string{"4 1:1\n-1e300 2:1\n6.0 1:2\n", "+4e0 1:1\n-7 2:1\n6 1:2\n"} {
		d, err := read(text, Options{Target: bounds})
		if err != nil || !slices.Equal(d.Targets.Value, []float32{0, -1, 0.5}) || d.Classes != 1 || d.Validate() != nil {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
	labels, err := data.ParseLabels("0,1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, wants string
		o           Options
	}{
		{"1 1:1\nNaN 1:1\n", "f:2:1: the target must be a finite", Options{Target: bounds}},
		{"1 1:1\n1:1\n", "f:2:1: the target must be a finite", Options{Target: bounds}},
		{"1 1:1\n123.5 1:1\n", "f:2:1: the target must be in the given bounds [0, 8]", Options{Target: refuse}},
		{"1 1:1\n", "must be one of them", Options{Target: bounds, Labels: labels}},
		{"1 1:1\n", "LOW < HIGH", Options{Target: &data.TargetBounds{}}},
	} {
		if _, err := read(c.text, c.o); err == nil || !strings.Contains(err.Error(), c.wants) || strings.Contains(err.Error(), "123.5") {
			t.Errorf("%v, want %q", err, c.wants)
		}
	}
	for _, o := range []Options{{Target: bounds}, {Labels: labels}, {}} {
		o.Unlabelled = true
		if d, err := read("? 1:1\n? 1:2\n", o); err != nil || d.Len() != 2 || d.Validate() != nil {
			t.Errorf("%+v: without targets or labels: %v", o, err)
		}
	}
}

// With * for all other labels, a line without a label is still refused, unless the map lists what looks like an entry.
func TestOtherLabelsAreNotEntries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("12:00 1:0.5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for labels, want := range map[string]string{"1,*": "label missing", "12:00,13:00": "", "12:00,*": ""} {
		l, err := data.ParseLabels(labels)
		if err != nil {
			t.Fatal(err)
		}
		d, err := ParseFile(path, Options{Labels: l})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, must say %q", labels, d, err, want)
		}
	}
}

// A missing label is refused even if * stands for all labels that are not listed.
func TestMissingLabels(t *testing.T) {
	labels, err := data.ParseLabels("1,*")
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"nan", "?", "NA"} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte("1 1:2\n"+label+" 1:3\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := ParseFile(path, Options{Labels: labels})
		if err == nil || !errors.Is(err, data.ErrLabel) || !strings.Contains(err.Error(), ":2:1: label "+strconv.Quote(label)+" is missing") {
			t.Errorf("%s: %v", label, err)
		}
	}
}
