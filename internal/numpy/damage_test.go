package numpy

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"proactivedp/internal/memory"
	"proactivedp/internal/testkit"
)

// Headers that NumPy would read are read, and all others refused.
func TestHeaders(t *testing.T) {
	for text, shape := range map[string]string{
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }":       "(3, 2)",
		"{'shape': (3L, 2L), 'fortran_order': True, 'descr': '<f4'}":        "(3, 2)", // as Python 2 wrote it
		" { \"descr\":'|u1' ,'fortran_order':False,\"shape\" : ( 7 , ) }\n": "(7,)",
		"{'descr': '<i8', 'fortran_order': False, 'shape': (), }":           "()",
	} {
		if h, err := parseHeader(text); err != nil || shapeText(h.shape) != shape {
			t.Errorf("%s: %+v, %v", text, h, err)
		}
	}
	good := "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"
	texts := []string{"", "{", "{}", "[]", good + "}", good + "x", strings.TrimSuffix(good, "}"),
		"{'descr': '<f4', 'fortran_order': False}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), 'more': 1}",
		"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}"}
	for part, others := range map[string][]string{
		"False": {"0", "'True'"}, "': '": {"' '"},
		"'<f4'": {"4", "'<f4", `'<f\x34'`, "[('a', '<f4')]", "'f4'", "'=f4'", "'<'", "'<f99999999999999999999'",
			"'<U0'", "'|V4'", "'<b2'", "'<f-4'"},
		"(3, 2)": {"[3, 2]", "(-3, 2)", "(3 2)", "(9223372036854775808,)", "(3, , 2)", "(3, 2",
			"(" + strings.Repeat("1,", 65) + ")"},
	} {
		for _, other := range others {
			texts = append(texts, strings.Replace(good, part, other, 1))
		}
	}
	for _, text := range texts {
		if h, err := parseHeader(text); err == nil {
			t.Errorf("%q was read as %+v", text, h)
		}
	}
}

// An array that is cut off anywhere, has more bytes than its header says, or is not an array, is refused.
func TestDamagedArrays(t *testing.T) {
	whole := testkit.Of("<f4", []int{3, 2}, rows3x2...).Bytes()
	for n := range len(whole) {
		if _, err := parse(t, "f.npy", whole[:n], Options{Unlabelled: true}); err == nil {
			t.Errorf("an array of %d bytes of %d was read", n, len(whole))
		}
	}
	long := testkit.WithHeader(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }"+
		strings.Repeat(" ", 20_000))
	for want, content := range map[string][]byte{
		"25 bytes of content, must be 24":      append(bytes.Clone(whole), 0),
		"not an array of NumPy":                []byte("x,y\n1,2\n3,4\n"),
		"version 4.0 of the format":            bytes.Replace(whole, []byte("Y\x01"), []byte("Y\x04"), 1),
		"version 1.1 of the format":            bytes.Replace(whole, []byte("Y\x01\x00"), []byte("Y\x01\x01"), 1),
		"a header of 20":                       long,
		"bytes, must have at most 10000":       long,
		"a header of 4294967295 bytes, must h": append([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), whole...),
	} {
		_, err := parse(t, "f.npy", content, Options{Unlabelled: true})
		says(t, err, want)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "f.npy"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := ParseFile(filepath.Join(dir, "f.npy"), Options{Unlabelled: true})
	says(t, err, "this folder has no IDX files")
}

// An archive with one changed bit in an array or its name, or that is cut off, is refused or gives the
// same records. The second case is for bits that are not used, such as times.
func TestDamagedArchives(t *testing.T) {
	x := testkit.Of("<f4", []int{3, 2}, rows3x2...)
	for _, compressed := range []bool{false, true} {
		whole := packed(t, compressed, member("x", x), member("y", zeroOne(3)))
		want, err := parse(t, "f.npz", whole, Options{})
		if err != nil {
			t.Fatal(err)
		}
		path := written(t, "f.npz", whole)
		o := Options{Labels: labels(t, "0,1"), Memory: 1 << 40}
		try := func(content []byte, what string, at int) {
			if err := os.WriteFile(path, content, 0o666); err != nil {
				t.Fatal(err)
			}
			if d, err := ParseFile(path, o); err == nil && d.Hash() != want.Hash() {
				t.Errorf("%s at %d: other records were read", what, at)
			}
		}
		for i := range whole {
			bad := bytes.Clone(whole)
			bad[i] ^= 1 << (i % 8)
			try(bad, "a bit", i)
			if i%8 == 0 {
				try(whole[:i], "a cut", i)
			}
		}
	}
}

func TestArchivesThatAreNot(t *testing.T) {
	x, y := member("x", testkit.Of("<f4", []int{3, 2}, rows3x2...)), member("y", zeroOne(3))
	other := func(method, flags uint16) []byte {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for _, m := range []testkit.Member{x, y} {
			w, err := z.CreateRaw(&zip.FileHeader{Name: m.Name + ".npy", Method: method, Flags: flags, CRC32: 1,
				CompressedSize64: uint64(len(m.Content)), UncompressedSize64: uint64(len(m.Content))})
			if err == nil {
				_, err = w.Write(m.Content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	sparse := []string{"format", "shape", "data", "indptr"}
	upper := x
	upper.Name = "X"
	for want, content := range map[string][]byte{
		"this is not an archive of NumPy":                 []byte("x,y\n1,2\n"),
		"a sparse matrix of SciPy, must be":               packed(t, false, named(sparse...)...),
		"there are none":                                  packed(t, false),
		"arrays x and X both fit, must be only one of":    packed(t, false, x, upper, y),
		"arrays x and x both fit":                         packed(t, false, x, x, y),
		"x is compressed by method 93 of zip, must be":    other(93, 0),
		"x is encrypted, must be unencrypted":             other(zip.Store, 1),
		"x: the archive is damaged: the content does not": other(zip.Store, 0),
		"there are \"a0\", \"a1\"":                        packed(t, false, named(listed(25)...)...),
		"\"a19\" and 5 more":                              packed(t, false, named(listed(25)...)...),
	} {
		_, err := parse(t, "f.npz", content, Options{})
		says(t, err, want)
	}
}

// named returns empty members of these names.
func named(names ...string) []testkit.Member {
	var all []testkit.Member
	for _, name := range names {
		all = append(all, testkit.Member{Name: name})
	}
	return all
}

// listed returns the names a0, a1, … of n members.
func listed(n int) []string {
	var names []string
	for i := range n {
		names = append(names, "a"+strconv.Itoa(i))
	}
	return names
}

// The sizes that a file states do not reserve memory before the data are read: neither the number of rows
// in a header nor the sizes in an archive.
func TestClaimsTakeNoMemory(t *testing.T) {
	header := testkit.WithHeader(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (268435456, 4096), }")
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	content := append(bytes.Clone(header), make([]byte, 1000)...)
	w, err := z.CreateRaw(&zip.FileHeader{Name: "x.npy", Method: zip.Deflate, CompressedSize64: uint64(len(content)),
		UncompressedSize64: uint64(len(header)) + 4*4096<<28})
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"f.npz": out.Bytes(), "f.npy": header} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parse(t, name, content, Options{Unlabelled: true})
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s was read", name)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
			t.Errorf("%s took %d bytes", name, grown)
		}
	}
	// Zeros that are really there, a thousand times as many as bytes of the file, must fit the
	// memory.
	bomb := testkit.Array{Descr: "|b1", Shape: []int{1 << 20, 32}, Content: make([]byte, 32<<20)}
	file := packed(t, true, member("x", bomb), member("y", zeroOne(1)))
	if len(file) > 1<<20 {
		t.Fatalf("%d bytes", len(file))
	}
	_, err = parse(t, "f.npz", file, Options{Unlabelled: true, Memory: 1 << 20})
	if !errors.Is(err, memory.ErrTooLittle) {
		t.Error(err)
	}
}

// Any bytes give a valid data set or an error, whether they are read as an array, an archive, or the
// features or labels of an archive.
func FuzzParseFile(f *testing.F) {
	x, y := testkit.Of("<f4", []int{3, 2}, rows3x2...), zeroOne(3)
	halves := blank(">f2", 12, 3, 2)
	halves.Fortran, halves.Version = true, 3
	for _, a := range []testkit.Array{x, y, testkit.Texts(2, "0", "1", "no"), halves, blank("|u1", 48, 3, 4, 4),
		blank("|O", 0, 3, 2)} {
		for as := range byte(4) {
			f.Add(as, a.Bytes())
		}
	}
	for _, compressed := range []bool{false, true} {
		f.Add(byte(1), packed(f, compressed, member("x_train", x), member("y_train", y), member("x_test", x),
			member("y_test", y)))
	}
	f.Add(byte(0), binary.LittleEndian.AppendUint32([]byte("\x93NUMPY\x02\x00"), 1<<31))
	l := labels(f, "0,1,no")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, as byte, content []byte) {
		name, o := "f.npz", Options{Labels: l, Memory: 1 << 40}
		switch as % 4 {
		case 0:
			name, o.Unlabelled = "f.npy", true
		case 2:
			content = packed(t, true, testkit.Member{Name: "x", Content: content}, member("y", y))
		case 3:
			content = packed(t, false, member("x", x), testkit.Member{Name: "y", Content: content})
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := ParseFile(path, o)
		if err != nil {
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatalf("%q: %v", content, err)
		}
	})
}
