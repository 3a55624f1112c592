package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"proactivedp/data"
	"proactivedp/data/hog"
	"proactivedp/data/scatter"
)

// counted counts how often features of more than one image are computed.
type counted struct {
	scatter.Map
	times  *int
	factor float32 // by which they are multiplied, or 0 for 1
}

func (c counted) Apply(ctx context.Context, d *data.Dataset, progress func(int)) (*data.Dataset, error) {
	if d.Len() > 1 {
		*c.times++
	}
	out, err := c.Map.Apply(ctx, d, progress)
	for i := 0; err == nil && c.factor != 0 && i < len(out.Value); i++ {
		out.Value[i] *= c.factor
	}
	return out, err
}

// images returns a few images of 8×8 pixels.
func images() *data.Dataset {
	m := &data.Images{Channels: 1, Height: 8, Width: 8, Mean: []float32{0}, Std: []float32{1}, Pixels: make([]byte, 3*64)}
	for i := range m.Pixels {
		m.Pixels[i] = byte(i * i)
	}
	return &data.Dataset{Name: "small", Features: 64, Classes: 2, Label: []int32{0, 1, 1}, Images: m}
}

// Kept features are those that were computed. A file that is damaged, or is of other features, is not
// used, and features are computed again.
func TestFeaturesAreKept(t *testing.T) {
	dir, out, times := filepath.Join(t.TempDir(), "deep", "cache"), new(bytes.Buffer), 0
	f := featurer{ctx: t.Context(), dir: dir, asked: true, own: true, out: out}
	m := counted{times: &times}
	first, err := f.apply(images(), m)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d files (%v)", len(entries), err)
	}
	path := filepath.Join(dir, entries[0].Name())
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v (%v)", info.Mode(), err)
	}
	if text := out.String(); !strings.Contains(text, path) || !strings.Contains(text, "copy of private records") {
		t.Errorf("it says %q", text)
	}
	again, err := f.apply(images(), m)
	if err != nil || times != 1 || !slices.Equal(again.Value, first.Value) || again.Features != first.Features {
		t.Errorf("computed %d times (%v)", times, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"a bit":      slices.Concat(content[:1000], []byte{content[1000] ^ 1}, content[1001:]),
		"the end":    content[:len(content)-50],
		"everything": {},
		"more":       slices.Concat(content, make([]byte, 5000)),
	} {
		out.Reset()
		if err := os.WriteFile(path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		before := times
		got, err := f.apply(images(), m)
		if err != nil || times != before+1 || !slices.Equal(got.Value, first.Value) ||
			!strings.Contains(out.String(), "computed again") {
			t.Errorf("%s: computed %d times, %q (%v)", name, times-before, out, err)
		}
	}
	other := images()
	other.Images.Pixels[7]++
	for _, one := range []struct {
		d *data.Dataset
		m counted
	}{{other, m}, {images(), counted{Map: scatter.Map{Root: scatter.Yes}, times: &times}},
		// a later version of the program, with another transform of the same name and constants
		{images(), counted{times: &times, factor: 2}}} {
		before := times
		if _, err := f.apply(one.d, one.m); err != nil || times != before+1 {
			t.Errorf("computed %d times (%v)", times-before, err)
		}
	}
}

// Features are kept where the flags say: those of an own file only if --cache names a folder.
func TestWhereFeaturesAreKept(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("HOME", home)
	t.Setenv("LocalAppData", home)
	cache := filepath.Join(home, "mine")
	for _, c := range []struct {
		name, cache, want string
	}{
		{"own.csv", "", ""}, {"own.csv", cache, cache}, {"mnist", cache, cache}, {"synthetic-mnist", "", ""},
		{"cifar10", "", "features"},
	} {
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		cmd.SetErr(new(bytes.Buffer))
		f := DataFlags{}
		f.AddWithin(cmd)
		if err := cmd.ParseFlags([]string{"--cache=" + c.cache}); err != nil {
			t.Fatal(err)
		}
		d := images()
		f.CacheFeatures(cmd, d, c.name)
		if _, err := d.Featured(scatter.Map{}); err != nil {
			t.Fatal(err)
		}
		var kept []string
		if err := filepath.WalkDir(home, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				kept = append(kept, filepath.Base(filepath.Dir(path)))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if c.want == "" && kept != nil || c.want != "" && !slices.Equal(kept, []string{filepath.Base(c.want)}) {
			t.Errorf("%s with --cache=%s: files in %v, want %q", c.name, c.cache, kept, c.want)
		}
		for _, e := range []string{"mine", "proactivedp", "Library"} {
			if err := os.RemoveAll(filepath.Join(home, e)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A folder that cannot be written is an error if it was named, before anything is computed. A folder
// that nobody named is only reported.
func TestFeaturesThatCannotBeKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	out, times := new(bytes.Buffer), 0
	f := featurer{ctx: t.Context(), dir: filepath.Join(file, "x"), asked: true, out: out}
	if _, err := f.apply(images(), counted{times: &times}); err == nil || times != 0 || !strings.Contains(err.Error(), "--cache") {
		t.Errorf("error %v after %d computations", err, times)
	}
	f.asked = false
	if _, err := f.apply(images(), counted{times: &times}); err != nil || times != 1 || !strings.Contains(out.String(), "not kept") {
		t.Errorf("error %v after %d computations, %q", err, times, out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f = featurer{ctx: ctx, dir: t.TempDir(), out: out}
	if _, err := f.apply(images(), scatter.Map{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a context that ended", err)
	}
	if _, err := (featurer{ctx: t.Context(), dir: t.TempDir()}).apply(images(), hog.Map{Cell: 4, Bins: 8}); err != nil {
		t.Error(err)
	}
}
