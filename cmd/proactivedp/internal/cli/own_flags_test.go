package cli

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"proactivedp/data/fetch"
	"proactivedp/data/synth"
	"proactivedp/internal/testkit"
	"proactivedp/rng"
	"proactivedp/train"
)

// Two runs of one seed draw the noise of their private bounds independently, and the same run draws it again: the ε of
// both runs together assumes that their releases share no noise.
func TestRunsShareNoBounds(t *testing.T) {
	bounds := func(run uint64) string {
		o := OwnFlags{private: train.Spec{Seed: 1, Run: run, BoundsEpsilon: 1e-4}} // the noise hides the records
		if _, err := o.privately(synth.Phishing(rng.New(1)), nil, 0); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(o.Mapped.Low, o.Mapped.High)
	}
	first, again, other := bounds(0), bounds(0), bounds(1)
	if first != again || first == other {
		t.Error("the bounds of one run differ, or those of two runs are equal")
	}
}

// Arrays and a CSV file of the same numbers are one data set, whatever the type of the numbers,
// normalised or not.
func TestArraysAreTheCSVOfTheirNumbers(t *testing.T) {
	const rows, columns = 40, 3
	draw := rand.New(rand.NewPCG(1, 2))
	for descr, number := range map[string]func() (raw uint64, text string){
		"<i8": func() (uint64, string) {
			v := int64(draw.Uint64()) >> draw.IntN(64)
			return uint64(v), strconv.FormatInt(v, 10)
		},
		"<u8": func() (uint64, string) {
			v := draw.Uint64() >> draw.IntN(64)
			return v, strconv.FormatUint(v, 10)
		},
		"<i2": func() (uint64, string) {
			v := int16(draw.Uint64())
			return uint64(uint16(v)), strconv.Itoa(int(v))
		},
		"<f8": func() (uint64, string) {
			v := math.Ldexp(draw.NormFloat64(), draw.IntN(270)-150)
			return math.Float64bits(v), strconv.FormatFloat(v, 'g', -1, 64)
		},
		"<f4": func() (uint64, string) {
			v := float32(math.Ldexp(draw.NormFloat64(), draw.IntN(200)-150))
			return uint64(math.Float32bits(v)), strconv.FormatFloat(float64(v), 'g', -1, 32)
		},
	} {
		size := int(descr[2] - '0')
		x := testkit.Array{Descr: descr, Shape: []int{rows, columns}}
		var text strings.Builder
		text.WriteString("a,b,c,label\n")
		var labels []string
		for i := range rows {
			for range columns {
				raw, field := number()
				x.Content = append(x.Content, binary.LittleEndian.AppendUint64(nil, raw)[:size]...)
				text.WriteString(field + ",")
			}
			labels = append(labels, fmt.Sprint("kind ", i%3))
			text.WriteString(labels[i] + "\n")
		}
		y := testkit.Texts(8, labels...)
		file, err := testkit.Archive(true, testkit.Member{Name: "features", Content: x.Bytes()},
			testkit.Member{Name: "target", Content: y.Bytes()})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for name, content := range map[string]string{"f.csv": text.String(), "f.npz": string(file)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, normalise := range []string{"", "bounds:-1e38,1e38"} {
			own := OwnFlags{LabelMap: "kind 0,kind 1,kind 2", LabelColumn: "label", normalise: normalise}
			table, err := own.read(filepath.Join(dir, "f.csv"), columns, fetch.Locator{})
			if err != nil {
				t.Fatal(err)
			}
			arrays, err := own.read(filepath.Join(dir, "f.npz"), columns, fetch.Locator{})
			if err != nil {
				t.Fatal(err)
			}
			if table.Hash() != arrays.Hash() || arrays.Len() != rows || arrays.Note != table.Note {
				t.Errorf("%s, normalised %q: %v\nis not\n%v", descr, normalise, arrays.Value, table.Value)
			}
		}
	}
}

// Images are normalised by constants of each channel, and by nothing else.
func TestPixelsAreNormalised(t *testing.T) {
	dir := t.TempDir()
	x := testkit.Array{Descr: "|u1", Shape: []int{2, 4, 5, 3}, Content: make([]byte, 2*4*5*3)}
	file, err := testkit.Archive(true, testkit.Member{Name: "x", Content: x.Bytes()},
		testkit.Member{Name: "y", Content: testkit.Of("<i8", []int{2}, 0, int64(1)).Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"f.npz": string(file), "good.csv": "column,mean,deviation\n2,0.5,0.25\n1,0.1307,0.3081\n3,0,1\n",
		"bounds.csv": "column,low,high\n1,0,1\n2,0,1\n3,0,1\n", "short.csv": "column,mean,deviation\n1,0,1\n",
		"none.csv": "column,mean,deviation\n1,0,1\n2,0,1e-60\n3,0,1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	own := OwnFlags{LabelMap: "0,1", normalise: filepath.Join(dir, "good.csv")}
	d, err := own.read(filepath.Join(dir, "f.npz"), 0, fetch.Locator{})
	if err != nil {
		t.Fatal(err)
	}
	if m := d.Images; !slices.Equal(m.Mean, []float32{0.1307, 0.5, 0}) ||
		!slices.Equal(m.Std, []float32{0.3081, 0.25, 1}) || d.Note != normalisedNote {
		t.Errorf("%v, %v, %q", m.Mean, m.Std, d.Note)
	}
	for normalise, want := range map[string]string{
		"bounds:0":                       "must be LOW,HIGH with finite numbers LOW < HIGH",
		filepath.Join(dir, "bounds.csv"): "must have the header column,mean,deviation",
		filepath.Join(dir, "short.csv"):  "column 2 has no constants",
		filepath.Join(dir, "none.csv"):   "channel 1: standard deviation = 0, must be positive",
		filepath.Join(dir, "no.csv"):     "no such file",
	} {
		own.normalise = normalise
		if _, err := own.read(filepath.Join(dir, "f.npz"), 0, fetch.Locator{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, must say %q", normalise, err, want)
		}
	}
}

// What a file is, the end of its name says.
func TestKindOf(t *testing.T) {
	for path, want := range map[string]FileKind{
		"a.csv": CSVFile, "a.TSV.gz": CSVFile, "a.npz": NumPyFile, "dir.csv/a.NPY": NumPyFile, "a": LIBSVMFile,
		"a.libsvm": LIBSVMFile, "a.npz/b": LIBSVMFile, "npz": LIBSVMFile,
	} {
		if got := KindOf(path); got != want {
			t.Errorf("%s is %s, must be %s", path, got, want)
		}
	}
}

// Bounds that are private for a release are found once, because finding them again would cost their ε again. The note
// says for how many columns the noise hid the numbers.
func TestPrivateBoundsAreFoundOnce(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,label\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "1e%d,%d\n", i%9, i%2)
	}
	path := filepath.Join(t.TempDir(), "f.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	for epsilon, hides := range map[float64]bool{100: false, 1e-4: true} {
		for _, secret := range []bool{false, true} {
			own := OwnFlags{LabelMap: "0,1", LabelColumn: "label", private: train.Spec{BoundsEpsilon: epsilon, Seed: 1, SeedFromOS: secret}}
			d, err := own.read(path, 0, fetch.Locator{})
			if err != nil || strings.Contains(d.Note, "whose bounds are a guess") != hides || !strings.Contains(d.Note, clampedNote) {
				t.Fatalf("ε = %v: %+v, %v", epsilon, d, err)
			}
			if _, err := own.read(path, 0, fetch.Locator{}); (err != nil) != secret {
				t.Errorf("again, secret %v: %v", secret, err)
			}
		}
	}
}

// Flags of a form are for the files that have it, and the flag for the shape of images in rows is for no images.
func TestFormFlagsAreForTheirFiles(t *testing.T) {
	for want, c := range map[string]struct{ flag, path, test string }{
		"":                                       {"--no-header", "a.csv", "b.libsvm"},
		"--zero-based is for a LIBSVM file, and": {"--zero-based", "a.csv", "b.csv"},
		"--header-line is for a CSV file, and a": {"--header-line=2", "a.libsvm", "b.libsvm"},
	} {
		cmd := &cobra.Command{Use: "do", RunE: func(*cobra.Command, []string) error { return nil }}
		var form train.FileForm
		cmd.Flags().BoolVar(&form.NoHeader, "no-header", false, "")
		cmd.Flags().BoolVar(&form.ZeroBased, "zero-based", false, "")
		cmd.Flags().IntVar(&form.HeaderLine, "header-line", 0, "")
		cmd.SetArgs([]string{c.flag})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		if err := CheckFormOf(cmd, form, c.path, c.test); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}
