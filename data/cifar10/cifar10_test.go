package cifar10

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// records are a file of these labels; the image of record i is all i, but for
// its first three pixels 1, 2, 3.
func records(labels ...byte) []byte {
	var file []byte
	for i, l := range labels {
		file = append(file, l, 1, 2, 3)
		file = append(file, bytes.Repeat([]byte{byte(i)}, pixels-3)...)
	}
	return file
}

func gz(t testing.TB, file []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(file); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func TestParse(t *testing.T) {
	var hashes []string
	for _, file := range [][]byte{records(9, 0, 4), gz(t, records(9, 0, 4))} {
		d, err := Parse("toy", iotest.HalfReader(bytes.NewReader(file)))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Validate(); err != nil {
			t.Error(err)
		}
		image := d.Images.Image(2)
		if d.Name != "toy" || d.Train != 0 || d.Shape() != "3×32×32 pixels" ||
			!slices.Equal(d.Label, []int32{9, 0, 4}) || !slices.Equal(image[:5], []byte{1, 2, 3, 2, 2}) {
			t.Errorf("got %s, %s, labels %v, image 2 starts with %v", d.Name, d.Shape(), d.Label, image[:5])
		}
		hashes = append(hashes, d.Hash())
	}
	if hashes[0] != hashes[1] {
		t.Error("compression changed the content")
	}
}

func TestParseErrors(t *testing.T) {
	for want, file := range map[string][]byte{
		"no records":                              nil,
		"record 0 has 1 bytes, must have 3073":    records(3)[:1],
		"record 1 has 3072 bytes, must have 3073": records(3, 4)[:2*recordBytes-1],
		"record 2 has 1 bytes":                    append(records(3, 4), 0),
		"record 1: label 10, must be in [0, 10)":  records(3, 10),
		"gzip: invalid header":                    append(gz(t, records(1)), "0123456789"...),
	} {
		d, err := Parse("toy", bytes.NewReader(file))
		if d != nil || err == nil || !strings.HasPrefix(err.Error(), "toy: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	none := func(int, int32, []byte) {}
	if n, err := readRecords(bytes.NewReader(records(1, 2)), 2, none); n != 2 || err != nil {
		t.Errorf("%d records, %v, want 2", n, err)
	}
	if _, err := readRecords(bytes.NewReader(records(1, 2, 3)), 2, none); err == nil ||
		err.Error() != "more than 2 records" {
		t.Errorf("3 records where 2 are the most: %v", err)
	}
	broken := errors.New("disk on fire")
	for _, n := range []int{0, 1, recordBytes, recordBytes + 5} {
		cut := io.MultiReader(bytes.NewReader(records(1, 2)[:n]), iotest.ErrReader(broken))
		if _, err := Parse("toy", cut); !errors.Is(err, broken) {
			t.Errorf("failure after %d bytes: %v, want the reader's", n, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range [][]byte{nil, records(1, 2), records(1, 2)[:4000], records(10), append(records(3), 0)} {
		f.Add(file)
		f.Add(gz(f, file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := Parse("fuzz", bytes.NewReader(file))
		if err != nil {
			if d != nil || !strings.HasPrefix(err.Error(), "fuzz: ") {
				t.Errorf("data set %v with error %v", d, err)
			}
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		var back []byte
		for i, l := range d.Label {
			back = append(append(back, byte(l)), d.Images.Image(i)...)
		}
		if !bytes.HasPrefix(file, []byte("\x1f\x8b")) && !bytes.HasPrefix(file, []byte("BZh")) &&
			!bytes.Equal(back, file) {
			t.Errorf("%d bytes are read as other %d", len(file), len(back))
		}
	})
}
