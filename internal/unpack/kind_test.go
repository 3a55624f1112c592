package unpack

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"proactivedp/internal/bounded"
)

// zipOf returns a zip archive with an empty file of this name.
func zipOf(t *testing.T, name string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if _, err := w.Create(name); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// 58 files: 49 of kinds that are not read, and 9 texts.
func TestRecognise(t *testing.T) {
	tar := make([]byte, 512)
	copy(tar, "data.csv")
	copy(tar[257:], "ustar\x0000")
	for start, want := range map[string]Kind{
		"\x93NUMPY\x01\x00v\x00{'descr'":                                Array,
		zipOf(t, "x_train.npy"):                                         Archive,
		zipOf(t, "[Content_Types].xml"):                                 "an Excel file (.xlsx)",
		zipOf(t, "model/data.pkl"):                                      "a PyTorch file",
		zipOf(t, "mimetype"):                                            "an OpenDocument file",
		zipOf(t, "train.csv"):                                           "a zip archive",
		"PK\x05\x06" + strings.Repeat("\x00", 18):                       "a zip archive", // without files
		"\x00\x00\x08\x03\x00\x00\xea\x60":                              IDX,
		"\x00\x00\x08\x01\x00\x00\xea\x60":                              IDX,
		"\x00\x00\x0c\x02\x00\x00\xea\x60":                              IDX, // labels of QMNIST
		"\x80\x04\x95\x1f\x00\x00\x00\x00":                              pickle,
		"\x80\x02}q\x00(U\nbatch_label":                                 pickle, // CIFAR-10 for Python
		"(dp0\nS'data'\np1\n":                                           pickle, // protocol 0
		"cnumpy.core.multiarray\n_reconstruct\n":                        pickle,
		"\x89HDF\r\n\x1a\n\x00\x00":                                     "an HDF5 file",
		"PAR1\x15\x04\x15":                                              "a Parquet file",
		"ARROW1\x00\x00":                                                "an Arrow file",
		"SQLite format 3\x00":                                           "an SQLite database",
		"MATLAB 5.0 MAT-file, Platform: GLNXA64":                        "a MATLAB file",
		"MATLAB 7.3 MAT-file, Platform: GLNXA64":                        "a MATLAB file of version 7.3",
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00\x00":                      "an old Excel file (.xls)",
		"\x89PNG\r\n\x1a\n":                                             "a PNG picture",
		"7z\xbc\xaf\x27\x1c\x00\x04":                                    "a 7z archive",
		"\x1f\x8b\x08\x00":                                              "a file compressed by gzip",
		string(tar):                                                     "a tar archive",
		"@RELATION iris\n":                                              "an ARFF file",
		"% 1. Title\n%\n\n@relation 'credit-g'\n":                       "an ARFF file", // as published by OpenML
		strings.Repeat("% a comment\r\n", 40):                           Unknown,        // what follows may be a table
		"%a,y\n1,2\n":                                                   Unknown,
		"[{\"age\":1}]":                                                 "JSON",
		"[\n  {\n    \"age\": 1":                                        "JSON",
		" {\n \"cells\": [":                                             "JSON",
		"<?xml version=\"1.0\"?>\n":                                     "an XML file",
		"\xff\xff\xff\xff\x10\x00\x00\x00":                              "a stream of Arrow", // the cache of Hugging Face's datasets
		strings.Repeat("\x00", 12) + "\xc2\xea\x81\x60\xb3\x14\x11\xcf": "a SAS file (.sas7bdat)",
		"HEADER RECORD*******LIBRARY HEADER":                            "a SAS file (.xpt)",
		"<stata_dta><header><release>118":                               "a Stata file",
		"\x72\x02\x01\x00\x03\x00":                                      "a Stata file", // pandas.DataFrame.to_stata
		"\x73\x01\x01\x00\x00\x03":                                      "a Stata file",
		"$FL2@(#) SPSS DATA FILE":                                       "an SPSS file",
		"$FL3@(#) SPSS DATA FILE":                                       "an SPSS file",
		"\x60\x00\x00\x00\x00\x00\x00\x00{\"x\":{\"dtype\"":             "a safetensors file",
		"\x0d\x00\x00\x00\x00\x00\x00\x00\x3c\x37\xb8\x34\x0a\x0b":      "a file of TensorFlow (TFRecord)",
		"X\n\x00\x00\x00\x03\x00\x04":                                   "a file of R (.rds)",
		"RDX3\nX\n":                                                     "a file of R (.RData)",
		"<!DOCTYPE html>\n":                                             "a web page (HTML)",
		"version https://git-lfs.github.com/":                           "a pointer of Git LFS",
		"\x07\x00\x00\x00\xff\xff\x00\x00\xff":                          Binary,
		"1\x00,\x002\x00\n\x00":                                         Binary, // UTF-16 without a byte order mark
		"":                                                              Unknown,
		"+1 3:1 10:-0.5\n":                                              Unknown,
		"a,b\r\n1,2\r\n\fpage\v":                                        Unknown,
		"\xef\xbb\xbfage;höhe\n":                                        Unknown,
		"h\xf6he,y\n":                                                   Unknown, // the reader says that this is not UTF-8
		"\xff\xfea\x00,\x00":                                            Unknown, // and that this is UTF-16
		"PK,y\n1,2\n":                                                   Unknown,
		"(degrees),y\n":                                                 Unknown,
	} {
		if got := Recognise([]byte(start)); got != want {
			t.Errorf("%.20q is %q, want %q", start, got, want)
		}
		if want != Unknown && want.Advice() == "" {
			t.Errorf("%s has no advice", want)
		}
	}
}

// What is not text is named after it is decompressed, and none of its bytes are shown.
func TestText(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte("\x80\x04\x95secret"))
	w.Close()
	path := filepath.Join(t.TempDir(), "f")
	for _, file := range []string{z.String(), "\x80\x04\x95secret"} {
		_, err := Text(strings.NewReader(file))
		if err == nil || !strings.Contains(err.Error(), "this is a pickle of Python, which is not read: this program never executes one") ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v", err)
		}
		if err := os.WriteFile(path, []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := KindOf(path); got != pickle {
			t.Errorf("the file is %q", got)
		}
	}
	in, err := Text(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(in); err != nil || string(got) != text {
		t.Errorf("read %q, %v", got, err)
	}
	if KindOf(t.TempDir()) != Unknown || KindOf("/does/not/exist") != Unknown {
		t.Error("a folder has a kind")
	}
}

// A few bytes that stand for many are read up to a limit, in every format.
func TestContentIsBounded(t *testing.T) {
	zeros := make([]byte, 1<<20)
	bomb := func(make func(io.Writer) (io.WriteCloser, error)) []byte {
		var out bytes.Buffer
		w, err := make(&out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	files := [][]byte{
		bomb(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }),
		bomb(func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }),
		bomb(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }),
	}
	for _, file := range files {
		in, err := reader(bytes.NewReader(file), 1<<19)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, in); !errors.Is(err, bounded.ErrTooLarge) || n != 1<<19 {
			t.Errorf("%d bytes, %v, want %d and ErrTooLarge", n, err, 1<<19)
		}
	}
	// This frame of zstd asks for a window of 2 GiB: RFC 8878, section 3.1.1.1.2, exponent 21.
	in, err := Reader(bytes.NewReader([]byte("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00")))
	if err == nil {
		_, err = io.ReadAll(in)
	}
	if !errors.Is(err, zstd.ErrWindowSizeExceeded) {
		t.Errorf("a window of 2 GiB: %v", err)
	}
}

func TestIsEntry(t *testing.T) {
	for text, want := range map[string]bool{"1:2": true, "0:": true, "12:x": true, ":1": false, "1": false, "-1:2": false, "a:1": false} {
		if got := IsEntry([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !IsBlank(' ') || !IsBlank('\t') || IsBlank('\u00a0') || IsBlank('\n') {
		t.Error("blanks must be the blank and the tab")
	}
}

// An ARFF file is recognised behind more comments than the first bytes hold. A table behind as many is still read.
func TestCommentsBeforeATable(t *testing.T) {
	comments := strings.Repeat("% a comment\n", 100)
	if _, err := Text(strings.NewReader(comments + "@relation iris\n")); err == nil || !strings.Contains(err.Error(), "an ARFF file") {
		t.Errorf("an ARFF file: %v", err)
	}
	for _, table := range []string{"a,y\n1,2\n", "", "1 1:0.5\n"} {
		if _, err := Text(strings.NewReader(comments + table)); err != nil {
			t.Errorf("%q: %v", table, err)
		}
	}
}
