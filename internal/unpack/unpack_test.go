package unpack

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

const text = "1 1:0.5 3:-2\n-1 2:1e-3\n"

// textBzip2 is text through bzip2, which the standard library cannot write.
const textBzip2 = "QlpoOTFBWSZTWQ/sjnkAAAVZAAAQQAN6EAIAIAAxANNNBTyTTT9KdzNe4SOgptKBF8XckU4UJAP7I55A"

// textXZ is text compressed by liblzma, and textZstd by the reference implementation of Zstandard.
const (
	textXZ   = "/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAWMSAxOjAuNSAzOi0yCi0xIDI6MWUtMwoAAISknTAh5pQcAAEvF4EISbEftvN9AQAAAAAEWVo="
	textZstd = "KLUv/QRYuQAAMSAxOjAuNSAzOi0yCi0xIDI6MWUtMwo0Gxrb"
)

func forms(t *testing.T) map[string][]byte {
	t.Helper()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := base64.StdEncoding.DecodeString(textBzip2)
	if err != nil {
		t.Fatal(err)
	}
	x, err := base64.StdEncoding.DecodeString(textXZ)
	if err != nil {
		t.Fatal(err)
	}
	s, err := base64.StdEncoding.DecodeString(textZstd)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"plain": []byte(text), "gzip": z.Bytes(), "bzip2": b, "xz": x, "zstd": s}
}

func TestReader(t *testing.T) {
	for name, form := range forms(t) {
		in, err := Reader(iotest.OneByteReader(bytes.NewReader(form)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := io.ReadAll(in); err != nil || string(got) != text {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
		if name == "plain" {
			continue
		}
		in, err = Reader(bytes.NewReader(form[:len(form)-1]))
		if err == nil {
			_, err = io.ReadAll(in)
		}
		if err == nil {
			t.Errorf("%s: a cut file was read", name)
		}
	}
	for _, short := range []string{"", "a", "\x1f", "BZ"} {
		in, err := Reader(strings.NewReader(short))
		if err != nil {
			t.Fatalf("%q: %v", short, err)
		}
		if got, err := io.ReadAll(in); err != nil || string(got) != short {
			t.Errorf("%q is read as %q, %v", short, got, err)
		}
	}
	broken := errors.New("broken")
	if _, err := Reader(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v, want the reader's", err)
	}
	if _, err := Reader(strings.NewReader("\x1f\x8b?")); err == nil {
		t.Error("half a header was taken for gzip")
	}
}

// A compressed file may be several, one after another, as cat joins them. If it is cut anywhere but between two, it is
// an error. A member of gzip may have a name and a comment (RFC 1952, section 2.3).
func TestMembers(t *testing.T) {
	var named bytes.Buffer
	w := gzip.NewWriter(&named)
	w.Name, w.Comment, w.Extra = "name", "comment", []byte("extra")
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all := forms(t)
	delete(all, "plain")
	all["gzip with a name"] = named.Bytes()
	for name, form := range all {
		two := bytes.Repeat(form, 2)
		for cut := 6; cut <= len(two); cut++ {
			var got []byte
			in, err := Text(bytes.NewReader(two[:cut])) // which reads the whole file before its bytes are read again
			if err == nil {
				got, err = io.ReadAll(in)
			}
			if whole := cut%len(form) == 0; (err == nil) != whole || whole && string(got) != strings.Repeat(text, cut/len(form)) {
				t.Errorf("%s: %d of 2 times %d bytes are read as %q, %v", name, cut, len(form), got, err)
			}
			if errors.Is(err, io.EOF) {
				t.Errorf("%s: %d of 2 times %d bytes: %v", name, cut, len(form), err)
			}
		}
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := File(path, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for name, form := range forms(t) {
		if err := os.WriteFile(path, form, 0o666); err != nil {
			t.Fatal(err)
		}
		var got []byte
		err := File(path, func(r io.Reader) (err error) { got, err = io.ReadAll(r); return })
		if err != nil || string(got) != text {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
	}
	wrong := errors.New("wrong")
	if err := File(path, func(io.Reader) error { return wrong }); !errors.Is(err, wrong) ||
		err.Error() != path+": wrong" {
		t.Errorf("error %v, want it to name the path", err)
	}
}

// Start has the first bytes of a text, which may be compressed.
func TestStart(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		content, start string
		kind           Kind
	}{
		"plain": {text, text, Unknown}, "packed.gz": {z.String(), text, Unknown}, "damaged.gz": {z.String()[:3], "", Unknown},
		"x.npy": {"\x93NUMPY\x01\x00", "\x93NUMPY\x01\x00", Array},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), 0o666); err != nil {
			t.Fatal(err)
		}
		if k, start := Start(path); k != c.kind || string(start) != c.start {
			t.Errorf("%s: %q, %.40q, want %q, %.40q", name, k, start, c.kind, c.start)
		}
	}
	if k, start := Start(dir); k != Unknown || start != nil {
		t.Errorf("a folder: %q, %q", k, start)
	}
}
