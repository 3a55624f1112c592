package numpy

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func arrays() []Array {
	return []Array{{"0.weight", []int{2, 3}, []float32{1, 2, 3, 4, 5, -6}}, {"0.bias", []int{2}, []float32{0.5, -0.25}}}
}

func readFile(t *testing.T, name string, content []byte, want []Array) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return ReadArrays(f, int64(len(content)), want)
}

func empty() []Array {
	a := arrays()
	for i := range a {
		a[i].Values = make([]float32, len(a[i].Values))
	}
	return a
}

// Both formats read what they write, and refuse what is damaged, cut off, or not what is wanted.
func TestArraysAreReadBack(t *testing.T) {
	for ending, write := range map[string]func(io.Writer, []Array) error{".npz": WriteArchive, ".safetensors": WriteSafetensors} {
		var out bytes.Buffer
		if err := write(&out, arrays()); err != nil {
			t.Fatal(err)
		}
		got := empty()
		if err := readFile(t, "a"+ending, out.Bytes(), got); err != nil {
			t.Fatal(err)
		}
		for i, a := range arrays() {
			if !slices.Equal(got[i].Values, a.Values) {
				t.Errorf("%s: %v, want %v", ending, got[i], a)
			}
		}
		for n := range out.Len() {
			if err := readFile(t, "a"+ending, out.Bytes()[:n], empty()); err == nil {
				t.Errorf("%s: the first %d of %d bytes are accepted", ending, n, out.Len())
			}
		}
		for want, change := range map[string]func(a []Array){
			"must be": func(a []Array) { a[0].Name = "other" },
			"shape":   func(a []Array) { a[0].Shape = []int{3, 2} },
		} {
			a := empty()
			if change(a); !strings.Contains(text(readFile(t, "a"+ending, out.Bytes(), a)), want) {
				t.Errorf("%s: no error %q", ending, want)
			}
		}
		nan := arrays()
		nan[1].Values[1] = float32(nan[0].Values[0] / (nan[0].Values[0] - 1))
		out.Reset()
		if err := write(&out, nan); err != nil {
			t.Fatal(err)
		}
		if err := readFile(t, "a"+ending, out.Bytes(), empty()); !strings.Contains(text(err), "must be") {
			t.Errorf("%s: an infinity is accepted: %v", ending, err)
		}
	}
}

// The header of a safetensors file is not trusted: unknown types, positions outside the file and wrong
// lengths are refused.
func TestHostileTensors(t *testing.T) {
	file := func(header string, values int) []byte {
		content := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		return append(append(content, header...), make([]byte, values)...)
	}
	const good = `{"__metadata__":{"a":"b"},"0.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},` +
		`"0.bias":{"dtype":"F32","shape":[2],"data_offsets":[24,32]}}`
	if err := readFile(t, "a.safetensors", file(good, 32), empty()); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"F32"`, `"F16"`}, {"[24,32]", "[28,36]"}, {"[24,32]", "[-8,0]"}, {"[24,32]", "[32,24]"}, {"[24,32]", "[24,28]"},
		{"[24,32]", "[9223372036854775800,9223372036854775807]"}, {"[2,3]", "[3,2]"}, {"0.bias", "0.b"}, {"{", "["}, {"2]", `"2"]`},
	} {
		if err := readFile(t, "a.safetensors", file(strings.Replace(good, change[0], change[1], 1), 32), empty()); err == nil {
			t.Errorf("%s for %s is accepted", change[1], change[0])
		}
	}
	long := binary.LittleEndian.AppendUint64(nil, 1<<62)
	if err := readFile(t, "a.safetensors", append(long, make([]byte, 100)...), empty()); !strings.Contains(text(err), "header has") {
		t.Errorf("a long header: %v", err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
