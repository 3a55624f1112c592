package numpy

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/testkit"
)

// written returns the path of a file with the content.
func written(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func labels(t testing.TB, text string) *data.Labels {
	t.Helper()
	l, err := data.ParseLabels(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// member is an array of an archive.
func member(name string, a testkit.Array) testkit.Member {
	return testkit.Member{Name: name, Content: a.Bytes()}
}

// packed returns the file of an archive.
func packed(t testing.TB, compressed bool, members ...testkit.Member) []byte {
	t.Helper()
	file, err := testkit.Archive(compressed, members...)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// zeroOne returns n labels 0, 1, 0, …
func zeroOne(n int) testkit.Array {
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(i % 2)
	}
	return testkit.Of("<i8", []int{n}, values...)
}

// blank returns an array of elements of so many bytes, all 0.
func blank(descr string, size int, shape ...int) testkit.Array {
	return testkit.Array{Descr: descr, Shape: shape, Content: make([]byte, size)}
}

// rows3x2 are the elements of a matrix of 3 rows and 2 columns.
var rows3x2 = []float32{1, -2, 3.5, 0, 1024, 0.25}

func parse(t testing.TB, name string, content []byte, o Options) (*data.Dataset, error) {
	t.Helper()
	if o.Labels == nil {
		o.Labels = labels(t, "0,1")
	}
	return ParseFile(written(t, name, content), o)
}

// Every version of the format, stored or deflated, in either order of rows and columns, gives
// the same records.
func TestParseFile(t *testing.T) {
	c := testkit.Of("<f4", []int{3, 2}, rows3x2...)
	f := testkit.Of("<f4", []int{3, 2}, 1, 3.5, 1024, -2, 0, float32(0.25))
	f.Fortran = true
	for _, x := range []testkit.Array{c, f} {
		for _, version := range []byte{1, 2, 3} {
			for _, compressed := range []bool{false, true} {
				x.Version = version
				d, err := parse(t, "f.NPZ", packed(t, compressed, member("x", x), member("y", zeroOne(3)),
					testkit.Member{Name: "other", Content: []byte("no array")}), Options{Features: 2})
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Validate(); err != nil {
					t.Fatal(err)
				}
				if !d.Dense() || !slices.Equal(d.Value, rows3x2) || !slices.Equal(d.Label, []int32{0, 1, 0}) ||
					d.Train != 0 || d.Name != "f.NPZ" || !reflect.DeepEqual(d.Names, []string{"0", "1"}) {
					t.Errorf("version %d, %v: %+v", version, compressed, d)
				}
			}
		}
	}
}

// TestTypes reads each type of numbers, at its ends, in both orders of bytes.
func TestTypes(t *testing.T) {
	for descr, want := range map[string]struct {
		big   []byte // big-endian
		value []float32
	}{
		"b1": {[]byte{0, 1}, []float32{0, 1}},
		"i1": {[]byte{0x80, 0x7f}, []float32{-128, 127}},
		"u1": {[]byte{0, 0xff}, []float32{0, 255}},
		"i2": {[]byte{0x80, 0, 0x7f, 0xff}, []float32{-32768, 32767}},
		"u2": {[]byte{0x80, 0, 0xff, 0xff}, []float32{32768, 65535}},
		"i4": {[]byte{0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, []float32{-1 << 31, -1}},
		"u4": {[]byte{0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, []float32{1 << 31, 1 << 32}},
		// Just above the middle of two neighbours: by way of float64 it would be the middle itself,
		// and then the even one of them.
		"i8": {[]byte{0x40, 0, 0, 0x40, 0, 0, 0, 1, 0x80, 0, 0, 0, 0, 0, 0, 0}, []float32{1<<62 + 1<<39, -1 << 63}},
		"u8": {[]byte{0x80, 0, 0, 0x80, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
			[]float32{1<<63 + 1<<40, 1 << 64}},
		// 1, the largest number, 2^-24 as the smallest, and -1/3 as 10 bits have it.
		"f2": {[]byte{0x3c, 0, 0x7b, 0xff, 0, 1, 0xb5, 0x55}, []float32{1, 65504, 0x1p-24, -1365.0 / 4096}},
		"f4": {[]byte{0x7f, 0x7f, 0xff, 0xff, 0x80, 0, 0, 1}, []float32{math.MaxFloat32, -math.SmallestNonzeroFloat32}},
		// 0.1, and the largest number below the middle of MaxFloat32 and 2^128.
		"f8": {[]byte{0x3f, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a, 0x47, 0xef, 0xff, 0xff, 0xef, 0xff, 0xff, 0xff},
			[]float32{0.1, math.MaxFloat32}},
	} {
		size := int(descr[1] - '0')
		little := bytes.Clone(want.big)
		for i := range len(little) / size {
			slices.Reverse(little[i*size : (i+1)*size])
		}
		for order, content := range map[string][]byte{">": want.big, "<": little} {
			x := testkit.Array{Descr: order + descr, Shape: []int{len(want.value), 1}, Content: content}
			d, err := parse(t, "f.npz", packed(t, true, member("data", x), member("target",
				zeroOne(len(want.value)))), Options{})
			if err != nil {
				t.Errorf("%s%s: %v", order, descr, err)
			} else if !reflect.DeepEqual(d.Value, want.value) {
				t.Errorf("%s%s: %v, must be %v", order, descr, d.Value, want.value)
			}
		}
	}
}

// Every float16 is read as the number that IEEE 754 says it is (3.4, table 3.5).
func TestFloat16(t *testing.T) {
	for bits := range 1 << 16 {
		exponent, fraction := bits>>10&31, float64(bits&1023)
		want := math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			want = math.Ldexp(fraction, -24)
		case exponent == 31 && fraction == 0:
			want = math.Inf(1)
		case exponent == 31:
			want = math.NaN()
		}
		if bits>>15 == 1 {
			want = -want
		}
		got := float64(fromFloat16(uint16(bits)))
		if got != want && (got == got || want == want) || math.Signbit(got) != math.Signbit(want) && want == want {
			t.Fatalf("%#04x is %v, must be %v", bits, got, want)
		}
	}
}

// TestLabels reads labels of each kind as what they say.
func TestLabels(t *testing.T) {
	bytesOf := testkit.Array{Descr: "|S3", Shape: []int{3}, Content: []byte("no\x00yesno\x00")}
	column := zeroOne(3)
	column.Shape = []int{3, 1}
	swapped := testkit.Texts(3, "no", "yes", "no")
	swapped.Descr = ">U3"
	for i := range len(swapped.Content) / 4 {
		slices.Reverse(swapped.Content[4*i : 4*i+4])
	}
	for text, y := range map[string]testkit.Array{
		"0,1":      zeroOne(3),
		" 0 , +1 ": column,
		"0.0,1":    testkit.Of("<f8", []int{3}, 0, 1, math.Copysign(0, -1)),
		"1,2":      testkit.Of("<f4", []int{3}, 1, 2, float32(1)),
		"0=0,1=1":  testkit.Of("|b1", []int{3}, 0, 1, uint8(0)),
		"5,-7":     testkit.Of("|i1", []int{3}, 5, 256-7, uint8(5)),
		"no,yes":   testkit.Texts(3, "no", "yes", "no"),
		"größer,ä": testkit.Texts(7, "größer", "ä", "größer"),
		"no , yes": bytesOf,
		"no,yes,x": swapped,
	} {
		x := testkit.Of("<f4", []int{3, 2}, rows3x2...)
		d, err := parse(t, "f.npz", packed(t, false, member("X", x), member("labels", y)),
			Options{Labels: labels(t, text)})
		if err != nil || !reflect.DeepEqual(d.Label, []int32{0, 1, 0}) {
			t.Errorf("%s: %+v, %v", text, d, err)
		}
	}
}

// The test set is a second pair of arrays, or that of a second file.
func TestTestSet(t *testing.T) {
	x, y := member("x_train", testkit.Of("<f4", []int{3, 2}, rows3x2...)), member("y_train", zeroOne(3))
	testX, testY := member("x_test", testkit.Of("<f8", []int{1, 2}, 7, float64(8))), member("y_test", zeroOne(1))
	plainX, plainY := member("X", testkit.Of("<f4", []int{1, 2}, 7, float32(8))), member("labels", zeroOne(1))
	want := slices.Concat(rows3x2, []float32{7, 8})
	for name, c := range map[string]struct{ first, second []testkit.Member }{
		"as Keras has it":  {[]testkit.Member{x, testX, y, testY}, nil},
		"a second file":    {[]testkit.Member{x, y}, []testkit.Member{plainX, plainY}},
		"its test records": {[]testkit.Member{x, y}, []testkit.Member{testX, testY}},
	} {
		o := Options{}
		if c.second != nil {
			o.Test = written(t, "test.npz", packed(t, false, c.second...))
		}
		d, err := parse(t, "f.npz", packed(t, true, c.first...), o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d.Train != 3 || !slices.Equal(d.Value, want) || !slices.Equal(d.Label, []int32{0, 1, 0, 0}) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	wide := member("X", testkit.Of("<f4", []int{1, 3}, 7, 8, float32(9)))
	for text, c := range map[string]struct{ first, second []testkit.Member }{
		"f.npz has a test set, x_test: a second file": {[]testkit.Member{x, testX, y, testY},
			[]testkit.Member{plainX, plainY}},
		"test.npz: arrays x_train and x_test, must be only one of them": {[]testkit.Member{x, y},
			[]testkit.Member{x, testX, y, testY}},
		"test.npz: X: rows of 3 features, must be rows of 2 features like those of x_train": {[]testkit.Member{x, y},
			[]testkit.Member{wide, plainY}},
		"no labels for x_test: they must be named y_test, labels_test or target_test, or be given (--arrays x=NAME,y=NAME)": {
			[]testkit.Member{x, y, testX}, nil},
		"labels y_test without features, whose name must be x_test":                {[]testkit.Member{x, y, testY}, nil},
		"features x_train and labels labels, must have names with the same ending": {[]testkit.Member{x, plainY}, nil},
		`its name must be x, X, features, data or images, optionally followed by _train, or be given (--arrays x=NAME,y=NAME); there are "x_test", "y_test"`: {
			[]testkit.Member{testX, testY}, nil},
	} {
		o := Options{}
		if c.second != nil {
			o.Test = written(t, "test.npz", packed(t, false, c.second...))
		}
		if _, err := parse(t, "f.npz", packed(t, false, c.first...), o); err == nil ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("%v, must say %q", err, text)
		}
	}
}

// Images have their channels behind or before the pixels, and are one behind the other in
// memory.
func TestImages(t *testing.T) {
	for _, n := range []int{2, 2000} { // 2,000 images take several blocks, which end within an image
		testImages(t, n)
	}
}

func testImages(t *testing.T, n int) {
	const height, width = 4, 5
	pixel := func(i, y, x, c int) byte { return byte(100*i + 25*y + 5*x + c) }
	for name, channels := range map[string]int{"HW": 1, "HW1": 1, "1HW": 1, "HWC": 3, "CHW": 3, "fortran": 3} {
		a := testkit.Array{Descr: "|u1", Shape: []int{n, height, width, channels}, Fortran: name == "fortran"}
		strides := []int{height * width * channels, width * channels, channels, 1} // of i, y, x, c in the file
		switch name {
		case "HW":
			a.Shape = a.Shape[:3]
		case "CHW", "1HW":
			a.Shape = []int{n, channels, height, width}
			strides = []int{height * width * channels, width, 1, height * width}
		case "fortran":
			strides = []int{1, n, n * height, n * height * width}
		}
		a.Content = make([]byte, n*height*width*channels)
		var want []byte
		for i := range n {
			for c := range channels {
				for y := range height {
					for x := range width {
						a.Content[i*strides[0]+y*strides[1]+x*strides[2]+c*strides[3]] = pixel(i, y, x, c)
						want = append(want, pixel(i, y, x, c))
					}
				}
			}
		}
		file := packed(t, true, member("x", a), member("y", zeroOne(n)))
		d, err := parse(t, "f.npz", file, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := d.Validate(); err != nil {
			t.Error(err)
		}
		if m := d.Images; m.Channels != channels || m.Height != height || m.Width != width ||
			!bytes.Equal(m.Pixels, want) || m.Mean[channels-1] != 0 || m.Std[channels-1] != 1 {
			t.Errorf("%s: %d images of %d×%d×%d pixels differ from what was written", name, n, m.Channels, m.Height, m.Width)
		}
	}
}

// 15 names of pairs of files with one array each, as published (KMNIST and K49 have arr_0 in an archive each) and as np.save
// writes them.
func TestPairsOfArrays(t *testing.T) {
	rows, y := testkit.Of("<f4", []int{3, 2}, rows3x2...).Bytes(), testkit.Of("|u1", []int{3}, uint8(1), 0, 1).Bytes()
	images := testkit.Of("|u1", []int{3, 2, 3}, make([]uint8, 18)...).Bytes()
	alone := func(content []byte) []byte { return packed(t, true, testkit.Member{Name: "arr_0", Content: content}) }
	const pair, pictures = "2 features [1 0 1] of 0", "1×2×3 pixels [1 0 1] of 0"
	for _, c := range []struct {
		path  string
		files map[string][]byte
		o     Options
		want  string
	}{
		{"kmnist-train-imgs.npz", map[string][]byte{"kmnist-train-imgs.npz": alone(images), "kmnist-train-labels.npz": alone(y),
			"kmnist-test-labels.npz": nil}, Options{}, pictures},
		{"kmnist-test-imgs.npz", map[string][]byte{"kmnist-test-imgs.npz": alone(images)}, Options{Unlabelled: true}, "1×2×3 pixels [0 0 0] of 0"},
		{"", map[string][]byte{"k49-train-imgs.npz": alone(images), "k49-train-labels.npz": alone(y), "k49-test-imgs.npz": alone(images),
			"k49-test-labels.npz": alone(y)}, Options{}, "1×2×3 pixels [1 0 1 1 0 1] of 3"},
		{"x.npy", map[string][]byte{"x.npy": rows, "y.npy": y}, Options{}, pair},
		{"X.npy", map[string][]byte{"X.npy": rows, "y.npy": y}, Options{}, pair},
		{"x_train.npy", map[string][]byte{"x_train.npy": rows, "y_train.npy": y, "y_test.npy": nil}, Options{}, pair},
		{"train-features.npy", map[string][]byte{"train-features.npy": rows, "train-labels.npz": alone(y)}, Options{}, pair},
		{"my data.npy", map[string][]byte{"my data.npy": rows, "my target.npy": y}, Options{}, pair},
		{"a.npy", map[string][]byte{"a.npy": rows, "b.npy": y}, Options{Arrays: Arrays{Y: "b.npy"}}, pair},
		{"a.npz", map[string][]byte{"a.npz": packed(t, true, testkit.Member{Name: "u", Content: rows}, testkit.Member{Name: "v", Content: y}),
			"b.npy": y}, Options{Arrays: Arrays{X: "u", Y: "b.npy"}}, pair},
		{"x_train.npy", map[string][]byte{"x_train.npy": rows, "y_train.npy": y, "x_test.npy": rows, "y_test.npy": y},
			Options{Test: "x_test.npy"}, "2 features [1 0 1 1 0 1] of 3"},

		{"a.npy", map[string][]byte{"a.npy": rows, "y.npy": y}, Options{}, "--arrays y=FILE names a file of labels"},
		{"x.npz", map[string][]byte{"x.npz": alone(rows)}, Options{}, "--arrays y=FILE names a file of labels"},
		{"x.npy", map[string][]byte{"x.npy": rows, "y.npy": y, "labels.npy": y}, Options{}, "labels.npy and y.npy could both have its labels: --arrays y=FILE"},
		{"x.npy", map[string][]byte{"x.npy": rows, "y.npy": rows}, Options{}, "one label per record"},
		{"x.npy", map[string][]byte{"x.npy": rows, "y.npy": testkit.Of("|u1", []int{2}, uint8(1), 0).Bytes()}, Options{}, "2 labels, must be as many as the 3"},
		{"x.npy", map[string][]byte{"x.npy": rows, "y.npy": []byte("1,0,1\n")}, Options{}, "y.npy: this is not a NumPy file"},
		{"x.npy", map[string][]byte{"x.npy": rows}, Options{Arrays: Arrays{Y: "y.npy"}}, "no such file"},
		{"x.npz", map[string][]byte{"x.npz": alone(rows), "y.npz": packed(t, true, testkit.Member{Name: "a", Content: y},
			testkit.Member{Name: "b", Content: y})}, Options{}, "a file of labels must have one array"},
		{"y.npz", map[string][]byte{"y.npz": packed(t, true, testkit.Member{Name: "y", Content: y})}, Options{}, "no array of features"},
		{"", map[string][]byte{"x.npy": rows, "y.npy": y}, Options{}, "give the file of the features"},
	} {
		in := folder(t, c.files)
		if c.o.Labels = labels(t, "0,1"); c.o.Test != "" {
			c.o.Test = filepath.Join(in, c.o.Test)
		}
		if d, err := ParseFile(filepath.Join(in, c.path), c.o); err != nil && !strings.Contains(err.Error(), c.want) ||
			err == nil && shapeOf(d) != c.want {
			t.Errorf("%q of %d files: %v, %v, want %s", c.path, len(c.files), d, err, c.want)
		}
	}
}

// An array by itself has features and no labels.
func TestArrayAlone(t *testing.T) {
	x := testkit.Of("<f4", []int{3, 2}, rows3x2...).Bytes()
	d, err := parse(t, "f.npy", x, Options{Unlabelled: true})
	if err != nil || !reflect.DeepEqual(d.Value, rows3x2) || d.Len() != 3 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := parse(t, "f.npy", x, Options{}); !errors.Is(err, ErrNoLabels) {
		t.Error(err)
	}
	bare := packed(t, true, testkit.Member{Name: "x", Content: x})
	if _, err := parse(t, "f.npz", bare, Options{}); !errors.Is(err, ErrNoLabels) {
		t.Error(err)
	}
	if d, err = parse(t, "f.npz", bare, Options{Unlabelled: true}); err != nil || d.Len() != 3 || d.Label[2] != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	for path, is := range map[string]bool{"a.npz": true, "b.NPY": true, "npz": false, "a.npz.csv": false} {
		if Is(path) != is {
			t.Errorf("%s: %v", path, Is(path))
		}
	}
}

func TestFaultsAreNamed(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	good := testkit.Of("<f4", []int{3, 2}, rows3x2...)
	y := zeroOne(3)
	for want, a := range map[string]testkit.Array{
		"x: row 1: column 2: must be a finite number in the range of float32\n" +
			"x: row 2: column 1: must be": testkit.Of("<f4", []int{3, 2}, 1, nan, inf, nan, 2, inf),
		"float32\nnp.nan_to_num(x, nan=0) replaces missing": testkit.Of("<f4", []int{3, 1}, nan, 1, 2),
		"x: row 3: column 2: must be a finite":              testkit.Of("<f8", []int{3, 2}, 1, 2, 3, 4, 5, -3.5e38),
		"x: row 1: column 1: must be": {Descr: "<f2", Shape: []int{3, 1},
			Content: []byte{1, 0x7c, 0, 0, 0, 0}},
		"x: row 2: column 1: must be": testkit.Of("|b1", []int{3, 1}, 0, 2, uint8(1)),
		"x: elements are Python objects, which are pickled and never read": {Descr: "|O", Shape: []int{3, 2},
			Content: []byte("\x80\x04pickle")},
		`x: elements of the type "<c8", must be bool, int`:       blank("<c8", 48, 3, 2),
		`x: elements of the type "<f16", must be`:                blank("<f16", 48, 3, 1),
		`x: elements of the type "|f4", must be`:                 blank("|f4", 12, 3, 1),
		`x: elements of the type "<i3", must be`:                 blank("<i3", 9, 3, 1),
		`x: elements of the type "<M8[ns]", must be`:             blank("<M8[ns]", 24, 3, 1),
		`x: elements of the type "<U2000", must be`:              blank("<U2000", 8000, 1),
		`x: texts (<U3), must be numbers`:                        testkit.Texts(3, "a", "b", "c"),
		"x: shape (3,), must be (N, d)":                          testkit.Of("<f4", []int{3}, 1, 2, float32(3)),
		"x: shape (), must be (N, d)":                            testkit.Of("<f4", nil, float32(3)),
		"x: shape (3, 0), must not have a 0":                     testkit.Of[float32]("<f4", []int{3, 0}),
		"x: image 1: a number is not a pixel: must be in [0, 1]": testkit.Of("<f4", []int{3, 1, 1}, 2, 0, float32(0)),
		"x: shape (3, 1, 1, 1), must be (N, d)":                  blank("|u1", 3, 3, 1, 1, 1),
		"x: shape (3, 2, 2, 2), must be (N, d)":                  blank("|u1", 24, 3, 2, 2, 2),
		"x: images of 1×5000 pixels, each must be in [1, 4096]":  blank("|u1", 5000, 1, 1, 5000),
		"y: 3 labels, must be as many as the 2 records of x":     testkit.Of("<f4", []int{2, 2}, rows3x2[:4]...),
		"x: 24 bytes of content, must be 32 for (4, 2)":          blank("<f4", 24, 4, 2),
		"x: 24 bytes of content, must be 16 for (2, 2)":          blank("<f4", 24, 2, 2),
		// A header that claims 2^62 rows, and one whose number of bytes is no number.
		"x: 24 bytes of content, must be 4611686018427387904 for": {Descr: "|u1", Shape: []int{1 << 62, 1},
			Content: good.Content},
		"must be 9223372036854775807 for": {Descr: "<f8", Shape: []int{1 << 62, 1 << 62}, Content: good.Content},
	} {
		_, err := parse(t, "f.npz", packed(t, true, member("x", a), member("y", y)), Options{})
		says(t, err, want)
	}
	surrogates := strings.Repeat("\x00\xd8\x00\x00", 3)
	of := func(descr, content string) testkit.Array {
		return testkit.Array{Descr: descr, Shape: []int{3}, Content: []byte(content)}
	}
	numbers := func(elements ...float32) testkit.Array { return testkit.Of("<f4", []int{3}, elements...) }
	whole := func(elements ...int64) testkit.Array { return testkit.Of("<i8", []int{3}, elements...) }
	for want, y := range map[string]testkit.Array{
		"row 2: label \"2\", must be one of the labels that --label-map gives: 0, 1": whole(0, 2, 1),
		"row 1: label 9007199254740993, must be a whole number below 2^53":           whole(1<<53+1, 0, 1),
		"row 1: label 0.5, must be a whole number":                                   numbers(0.5, 1, 1),
		"row 3: label NaN, must be a whole number":                                   numbers(0, 1, nan),
		"row 3: label -Inf, must be a whole number":                                  numbers(0, 1, inf),
		"row 3: label 2, must be a whole number":                                     of("|b1", "\x00\x01\x02"),
		"row 1: label \"no\", must be one of":                                        testkit.Texts(2, "no", "1", "0"),
		"a label with the character 0xd800":                                          of("<U1", surrogates),
		"row 2: label \"\\xff\", must be UTF-8":                                      of("|S1", "0\xff1"),
		"y: shape (3, 2), must be (3,): one label per record":                        blank("<i8", 48, 3, 2),
		"y: shape (), must be (3,)":                                                  blank("<i8", 8),
	} {
		_, err := parse(t, "f.npz", packed(t, false, member("x", good), member("y", y)), Options{})
		says(t, err, want)
	}
	// nan_to_num does not help against numbers that are too large.
	_, err := parse(t, "f.npz", packed(t, true, member("x", testkit.Of("<f4", []int{3, 1}, inf, 1, 2)), member("y", y)), Options{})
	if says(t, err, "row 1: column 1: must be a finite number"); strings.Contains(err.Error(), "nan_to_num") {
		t.Errorf("advice for missing numbers: %v", err)
	}
	_, err = parse(t, "f.npz", packed(t, false, member("x", good), member("y", y)), Options{Features: 3})
	says(t, err, "x: 2 features, must be 3 as given")
	_, err = ParseFile("f.npz", Options{})
	says(t, err, "labels are missing, must be given")
	_, err = ParseFile(filepath.Join(t.TempDir(), "none.npz"), Options{Unlabelled: true})
	says(t, err, "no such file")
	many := make([]float32, 2*mostFaults)
	for i := range many {
		many[i] = nan
	}
	wide := testkit.Of("<f4", []int{1, len(many)}, many...)
	_, err = parse(t, "f.npz", packed(t, false, member("x", wide), member("y", zeroOne(1))), Options{})
	if n := strings.Count(err.Error(), "must be a finite"); n != mostFaults {
		t.Errorf("%d columns with a fault are reported, must be %d", n, mostFaults)
	}
}

// says checks that an error has each line of a text.
func says(t *testing.T, err error, want string) {
	t.Helper()
	for line := range strings.SplitSeq(want, "\n") {
		if err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%v, must say %q", err, line)
		}
	}
}
