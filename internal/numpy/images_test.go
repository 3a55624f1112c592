package numpy

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/testkit"
)

// idx returns an IDX file of these dimensions.
func idx(kind byte, shape []int, content ...byte) []byte {
	out := []byte{0, 0, kind, byte(len(shape))}
	for _, n := range shape {
		out = binary.BigEndian.AppendUint32(out, uint32(n))
	}
	return append(out, content...)
}

func gz(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// folder writes files and returns their folder.
func folder(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func shapeOf(d *data.Dataset) string {
	return fmt.Sprintf("%s %v of %d", d.Shape(), d.Label, d.Train)
}

// 16 names of files and folders in which IDX pairs are published, unpacked and kept.
func TestIDXPairs(t *testing.T) {
	pixels := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	images, labelFile := idx(8, []int{2, 2, 3}, pixels...), idx(8, []int{2}, 1, 0)
	test, testLabels := idx(8, []int{1, 2, 3}, 6, 5, 4, 3, 2, 1), idx(8, []int{1}, 1)
	const pair, both = "1×2×3 pixels [1 0] of 0", "1×2×3 pixels [1 0 1] of 2"
	for _, c := range []struct {
		path  string // what is given
		files map[string][]byte
		want  string
	}{
		{"train-images-idx3-ubyte", map[string][]byte{"train-images-idx3-ubyte": images, "train-labels-idx1-ubyte": labelFile}, pair},
		{"train-images-idx3-ubyte.gz", map[string][]byte{"train-images-idx3-ubyte.gz": gz(t, images),
			"train-labels-idx1-ubyte.gz": gz(t, labelFile)}, pair},
		{"train-images-idx3-ubyte.gz", map[string][]byte{"train-images-idx3-ubyte.gz": gz(t, images),
			"train-labels-idx1-ubyte": labelFile}, pair}, // one of them unpacked
		{"train-images.idx3-ubyte", map[string][]byte{"train-images.idx3-ubyte": images, "train-labels.idx1-ubyte": labelFile}, pair},
		{"train-images.idx3-ubyte", map[string][]byte{"train-images.idx3-ubyte": images, "train-labels-idx1-ubyte.gz": gz(t, labelFile)}, pair},
		{"emnist-letters-train-images-idx3-ubyte.gz", map[string][]byte{"emnist-letters-train-images-idx3-ubyte.gz": gz(t, images),
			"emnist-letters-train-labels-idx1-ubyte.gz": gz(t, labelFile), "emnist-digits-train-labels-idx1-ubyte.gz": labelFile}, pair},
		{"IMAGES.IDX3", map[string][]byte{"IMAGES.IDX3": images, "labels.idx1": labelFile}, pair},
		{"k49-train-images-idx3", map[string][]byte{"k49-train-images-idx3": idx(12, []int{2, 2, 3}, make([]byte, 48)...),
			"k49-train-labels-idx1": idx(12, []int{2}, 0, 0, 0, 1, 0, 0, 0, 0)}, pair}, // 32 bits, big-endian
		{"", map[string][]byte{"train-images-idx3-ubyte": images, "train-labels-idx1-ubyte": labelFile,
			"t10k-images-idx3-ubyte": test, "t10k-labels-idx1-ubyte": testLabels}, both},
		{"", map[string][]byte{"raw/train-images-idx3-ubyte": images, "raw/train-labels-idx1-ubyte": labelFile,
			"raw/t10k-images-idx3-ubyte": test, "raw/t10k-labels-idx1-ubyte": testLabels,
			"raw/train-images-idx3-ubyte.gz": gz(t, images), "raw/train-labels-idx1-ubyte.gz": gz(t, labelFile),
			"raw/t10k-images-idx3-ubyte.gz": gz(t, test), "raw/t10k-labels-idx1-ubyte.gz": gz(t, testLabels)}, both},
		{"", map[string][]byte{"emnist-mnist-train-images-idx3-ubyte.gz": gz(t, images),
			"emnist-mnist-train-labels-idx1-ubyte.gz": gz(t, labelFile), "emnist-mnist-test-images-idx3-ubyte.gz": gz(t, test),
			"emnist-mnist-test-labels-idx1-ubyte.gz": gz(t, testLabels)}, both},

		{"train-images-idx3-ubyte", map[string][]byte{"train-images-idx3-ubyte": images}, "there must be a file such as train-labels-idx1-ubyte"},
		{"train-labels-idx1-ubyte", map[string][]byte{"train-labels-idx1-ubyte": labelFile}, "give the file of the images"},
		{"", map[string][]byte{"emnist-digits-train-images-idx3-ubyte": images, "emnist-mnist-train-images-idx3-ubyte": images},
			"several files of images, emnist-digits-train-images-idx3-ubyte, emnist-mnist-train-images-idx3-ubyte: give one"},
		{"", map[string][]byte{"my.csv": nil}, "this folder has no IDX files of images"},
		{"", map[string][]byte{"data_batch_1": nil, "batches.meta": nil}, "download the binary version"},
		{"", map[string][]byte{"train": nil, "test": nil, "meta": nil}, "download the binary version"},
		{"", map[string][]byte{"t10k-images-idx3-ubyte": test}, "no training set"},
	} {
		d, err := ParseFile(filepath.Join(folder(t, c.files), c.path), Options{Labels: labels(t, "0,1")})
		switch {
		case err != nil && strings.Contains(err.Error(), c.want):
		case err != nil || shapeOf(d) != c.want:
			t.Errorf("%q of %v: %v, %v, want %s", c.path, len(c.files), d, err, c.want)
		case d.Images.Pixels[0] != 0 && !bytes.HasPrefix(d.Images.Pixels, pixels):
			t.Errorf("%q: pixels %v", c.path, d.Images.Pixels)
		}
	}
}

// A pair of files that do not match, are cut off or are too long is refused, with and without compression.
func TestDamagedIDXPairs(t *testing.T) {
	images, labelFile := idx(8, []int{2, 2, 3}, make([]byte, 12)...), idx(8, []int{2}, 1, 0)
	try := func(images, labelFile []byte) error {
		dir := folder(t, map[string][]byte{"images-idx3": images, "labels-idx1": labelFile})
		_, err := ParseFile(filepath.Join(dir, "images-idx3"), Options{Labels: labels(t, "0,1")})
		return err
	}
	if err := try(gz(t, images), labelFile); err != nil {
		t.Fatal(err)
	}
	for n := 8; n < len(images); n++ {
		if try(images[:n], labelFile) == nil || try(gz(t, images[:n]), labelFile) == nil {
			t.Errorf("images of %d bytes out of %d were read", n, len(images))
		}
	}
	for want, bad := range map[string][2][]byte{
		"content after the last element":   {append(bytes.Clone(images), 0), labelFile},
		"3 labels, must be as many as":     {images, idx(8, []int{3}, 0, 1, 0)},
		`label "2", must be one of`:        {images, idx(8, []int{2}, 0, 2)},
		"one label per record":             {images, idx(8, []int{2, 2}, 0, 1, 0, 1)},
		"must not have a 0":                {idx(8, []int{2, 0, 3}), labelFile},
		"a dimension of 4294967295":        {idx(8, []int{2, 2, 1<<32 - 1}, 1), labelFile},
		"are needed":                       {gz(t, idx(8, []int{1 << 27, 4000, 4000}, 1)), idx(8, []int{1 << 27})},
		"must be in [1, 4096]":             {idx(8, []int{2, 1, 5000}, 1), labelFile},
		"this is not an IDX file":          {images, []byte("0\n1\n")},
		"image 1: a number is not a pixel": {idx(13, []int{2, 1, 1}, 0x40, 0, 0, 0, 0, 0, 0, 0), labelFile}, // 2.0
	} {
		says(t, try(bad[0], bad[1]), want)
	}
}

// record returns a record of CIFAR whose pixels are all p.
func record(p byte, labels ...byte) []byte {
	return append(labels, bytes.Repeat([]byte{p}, recordPixels)...)
}

func TestRecordsOfCIFAR(t *testing.T) {
	ten := func(labels ...byte) (out []byte) {
		for i, l := range labels {
			out = append(out, record(byte(i), l)...)
		}
		return out
	}
	hundred := slices.Concat(record(7, 1, 0), record(8, 0, 1))
	for _, c := range []struct {
		path   string
		files  map[string][]byte
		arrays string
		want   string
	}{
		{"data_batch_1.bin", map[string][]byte{"data_batch_1.bin": ten(1, 0, 1)}, "", "3×32×32 pixels [1 0 1] of 0"},
		{"data_batch_1.bin.gz", map[string][]byte{"data_batch_1.bin.gz": gz(t, ten(1, 0))}, "", "3×32×32 pixels [1 0] of 0"},
		{"", map[string][]byte{"data_batch_2.bin": ten(0), "data_batch_1.bin": ten(1, 1), "test_batch.bin": ten(0),
			"batches.meta.txt": []byte("airplane\n"), "readme.html": nil}, "", "3×32×32 pixels [1 1 0 0] of 3"},
		{"train.bin", map[string][]byte{"train.bin": hundred}, "", "3×32×32 pixels [0 1] of 0"},
		{"train.bin", map[string][]byte{"train.bin": hundred}, "y=fine", "3×32×32 pixels [0 1] of 0"},
		{"train.bin", map[string][]byte{"train.bin": hundred}, "y=coarse", "3×32×32 pixels [1 0] of 0"},
		{"", map[string][]byte{"train.bin": hundred, "test.bin": hundred[:recordPixels+2]}, "", "3×32×32 pixels [0 1 0] of 2"},

		{"train.bin", map[string][]byte{"train.bin": hundred}, "y=rough", `labels "rough", must be fine or coarse`},
		{"data_batch_1.bin", map[string][]byte{"data_batch_1.bin": ten(1)}, "y=coarse", "CIFAR-10 has one label"},
		{"data_batch_1.bin", map[string][]byte{"data_batch_1.bin": ten(1)[:3000]}, "", "3000 bytes, must be records of 3073"},
		{"data_batch_1.bin", map[string][]byte{"data_batch_1.bin": ten(9)}, "", `row 1: label "9", must be one of`},
	} {
		o := Options{Labels: labels(t, "0,1")}
		if c.arrays != "" {
			var err error
			if o.Arrays, err = ParseArrays(c.arrays); err != nil {
				t.Fatal(err)
			}
		}
		d, err := ParseFile(filepath.Join(folder(t, c.files), c.path), o)
		switch {
		case err != nil && strings.Contains(err.Error(), c.want):
		case err != nil || shapeOf(d) != c.want:
			t.Errorf("%q: %v, %v, want %s", c.path, d, err, c.want)
		case d.Images.Image(1)[0] != d.Images.Image(1)[recordPixels-1]:
			t.Errorf("%q: the second image has pixels of another one", c.path)
		}
	}
}

// 9 archives with the names that MedMNIST, Keras, scikit-learn and people use, and 5 that do not fit.
func TestNamesOfArrays(t *testing.T) {
	x := testkit.Array{Descr: "|u1", Shape: []int{2, 2, 2}, Content: make([]byte, 8)}
	y := zeroOne(2)
	column := y
	column.Shape = []int{2, 1} // as MedMNIST has them
	for _, c := range []struct {
		names  string
		arrays string
		want   string
	}{
		{"train_images train_labels val_images val_labels test_images test_labels", "", "1×2×2 pixels [0 1 0 1] of 2"},
		{"images labels", "", "1×2×2 pixels [0 1] of 0"},
		{"x_train y_train x_test y_test", "", "1×2×2 pixels [0 1 0 1] of 2"},
		{"images_train labels_train", "", "1×2×2 pixels [0 1] of 0"},
		{"arr_0 arr_1", "x=arr_0,y=arr_1", "1×2×2 pixels [0 1] of 0"},
		{"a b c d", "x=a, y=b, x_test=c, y_test=d", "1×2×2 pixels [0 1 0 1] of 2"},
		{"a y", "x=a", "1×2×2 pixels [0 1] of 0"},
		{"x y digit", "y=digit", "1×2×2 pixels [0 1] of 0"},
		{"train_images train_labels val_images val_labels test_images test_labels", "x=val_images,y=val_labels",
			"1×2×2 pixels [0 1] of 0"},

		{"images x labels", "", `arrays images and x both fit`},
		{"train_images train_labels train_target", "", "train_labels and train_target both fit"},
		{"a b", "x=a,y=c", `no array "c"; there are "a", "b"`},
		{"a b", "x=c,y=b", `no array "c"; there are "a", "b"`},
		{"arr_0 arr_1", "", "or be given (--arrays x=NAME,y=NAME)"},
	} {
		var members []testkit.Member
		for i, name := range strings.Fields(c.names) {
			switch {
			case i%2 == 0 && name != "digit" || name == "x":
				members = append(members, member(name, x))
			case strings.HasPrefix(c.names, "train"):
				members = append(members, member(name, column))
			default:
				members = append(members, member(name, y))
			}
		}
		o := Options{}
		if c.arrays != "" {
			var err error
			if o.Arrays, err = ParseArrays(c.arrays); err != nil {
				t.Fatal(err)
			}
		}
		d, err := parse(t, "f.npz", packed(t, false, members...), o)
		if err != nil && strings.Contains(err.Error(), c.want) {
			continue
		}
		if err != nil || shapeOf(d) != c.want {
			t.Errorf("%s with %q: %v, %v, want %s", c.names, c.arrays, d, err, c.want)
		}
	}
	for _, bad := range []string{"", "x", "x=", "z=a", "x=a,x=b", "x=a,,y=b"} {
		if a, err := ParseArrays(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, a)
		}
	}
}

// Floats and integers of every width are pixels within public bounds. 13 arrays.
func TestPixelsOfOtherTypes(t *testing.T) {
	of := func(descr string, n int, elements any) testkit.Array {
		var order binary.ByteOrder = binary.LittleEndian
		if descr[0] == '>' {
			order = binary.BigEndian
		}
		content, err := binary.Append(nil, order, elements)
		if err != nil {
			t.Fatal(err)
		}
		return testkit.Array{Descr: descr, Shape: []int{n, 1, 1}, Content: content}
	}
	pm1, far := data.PixelRange{Low: -1, High: 1}, data.PixelRange{Low: 0, High: 65535, Clamp: true}
	for _, c := range []struct {
		x     testkit.Array
		r     data.PixelRange
		want  []byte
		fault string
	}{
		{x: of("<f4", 4, []float32{0, 1. / 255, 128. / 255, 1}), want: []byte{0, 1, 128, 255}},
		{x: of("<f8", 3, []float64{0, 0.5, 1}), want: []byte{0, 128, 255}},
		{x: of(">f4", 2, []float32{1, 0}), want: []byte{255, 0}},
		{x: of("<i8", 3, []int64{0, 17, 255}), want: []byte{0, 17, 255}},
		{x: of("<u2", 2, []uint16{3, 200}), want: []byte{3, 200}},
		{x: of("|b1", 2, []bool{true, false}), want: []byte{255, 0}},
		{x: of("<f4", 3, []float32{-1, 0, 1}), r: pm1, want: []byte{0, 128, 255}},
		{x: of(">u2", 3, []uint16{0, 257, 65535}), r: far, want: []byte{0, 1, 255}},
		{x: of("<i4", 2, []int32{-5, 70000}), r: far, want: []byte{0, 255}},

		{x: of("<f4", 2, []float32{0, 255}), fault: "image 2: a number is not a pixel: must be in [0, 1]"},
		{x: of("<i8", 2, []int64{0, 256}), fault: "image 2: a number is not a pixel: must be in [0, 255]"},
		{x: of("<f4", 1, []float32{-1.5}), r: pm1, fault: "must be in [-1, 1]"},
		{x: of("<f8", 1, []float64{math.NaN()}), r: far, fault: "is not a pixel"},
	} {
		y := zeroOne(c.x.Shape[0])
		d, err := parse(t, "f.npz", packed(t, false, member("x", c.x), member("y", y)), Options{Pixels: c.r})
		if c.fault != "" {
			says(t, err, c.fault)
			if !errors.Is(err, data.ErrPixel) {
				t.Errorf("%v, must wrap ErrPixel", err)
			}
		} else if err != nil || !slices.Equal(d.Images.Pixels, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.x.Descr, d, err, c.want)
		}
	}
}

// One range of pixels is for numbers of one kind: a test set of the other kind is refused, and a caller can
// ask for the kind of a file.
func TestPixelsOfOneKind(t *testing.T) {
	floats := testkit.Array{Descr: "<f4", Shape: []int{2, 1, 1}, Content: make([]byte, 8)}
	bytes := testkit.Array{Descr: "|u1", Shape: []int{2, 1, 1}, Content: make([]byte, 2)}
	for _, r := range []data.PixelRange{{}, {High: 1}} {
		_, err := parse(t, "f.npz", packed(t, false, member("x", floats), member("y", zeroOne(2)), member("x_test", bytes),
			member("y_test", zeroOne(2))), Options{Pixels: r})
		if r == (data.PixelRange{}) && err != nil {
			t.Error(err)
		} else if r != (data.PixelRange{}) {
			says(t, err, "must be of one kind")
		}
	}
	for _, x := range []testkit.Array{floats, bytes} {
		path := filepath.Join(t.TempDir(), "f.npz")
		if err := os.WriteFile(path, packed(t, false, member("x", x), member("y", zeroOne(2))), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := Floats(path, Arrays{}); err != nil || got != (x.Descr == "<f4") {
			t.Errorf("%s: floats %v, error %v", x.Descr, got, err)
		}
	}
}

// A finite number beyond float32 is the largest one where rows are clamped, and an infinite one is an error.
func TestSaturatedNumbers(t *testing.T) {
	of := func(v float64) []byte {
		content := binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
		x := testkit.Array{Descr: "<f8", Shape: []int{2, 1}, Content: append(content, content...)}
		return packed(t, false, member("x", x), member("y", zeroOne(2)))
	}
	d, err := parse(t, "f.npz", of(-1e300), Options{Saturate: true})
	if err != nil || d.Value[0] != -math.MaxFloat32 {
		t.Errorf("%v, error %v", d, err)
	}
	for _, o := range []Options{{}, {Saturate: true}} {
		_, err = parse(t, "f.npz", of(math.Inf(1)), o)
		says(t, err, "must be a finite number")
	}
	_, err = parse(t, "f.npz", of(1e300), Options{})
	says(t, err, "must be a finite number")
}
