package scatter

import (
	"context"
	"errors"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/rng"
)

// pictures are images of noise.
func pictures(n, channels, height, width int) *data.Dataset {
	m := &data.Images{Channels: channels, Height: height, Width: width}
	s := rng.New(3).Stream(rng.Synthetic, 0, 0)
	for range channels {
		m.Mean, m.Std = append(m.Mean, 0), append(m.Std, 1)
	}
	for range n * m.Size() {
		m.Pixels = append(m.Pixels, byte(s.IntN(256)))
	}
	return &data.Dataset{Name: "pictures", Features: m.Size(), Classes: 2, Label: make([]int32, n), Images: m}
}

func apply(t *testing.T, m Map, d *data.Dataset) *data.Dataset {
	t.Helper()
	out, err := m.Apply(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Validate(); err != nil {
		t.Fatal(err)
	}
	if n, err := m.Features(d); err != nil || out.Features != n || m.Bytes(d) != int64(4*len(out.Value)) {
		t.Errorf("%v: %d features (%v) and %d bytes, but %d and %d values", m, n, err, m.Bytes(d), out.Features, len(out.Value))
	}
	return out
}

// raw returns the channels of the first image before root and whitening, [channel][place].
func raw(t *testing.T, d *data.Dataset) ([]float32, *grid) {
	t.Helper()
	m, err := Map{Root: No, Fold: No}.For(d)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.recipe(d)
	if err != nil {
		t.Fatal(err)
	}
	n := r.channels()
	r.matrix, r.shift, r.scale = make([]float32, n*n), make([]float32, n), 1
	for c := range n {
		r.matrix[c*n+c] = 1
	}
	value, err := r.all(context.Background(), d.Images, d.Len(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return value, r.grid
}

// convolved returns the convolution on the torus.
func convolved(x, filter []complex128, ny, nx int) []complex128 {
	out := make([]complex128, ny*nx)
	for y := range ny {
		for x0 := range nx {
			for v := range ny {
				for u := range nx {
					out[y*nx+x0] += x[v*nx+u] * filter[(y-v+ny)%ny*nx+(x0-u+nx)%nx]
				}
			}
		}
	}
	return out
}

func modulus(x []complex128) []complex128 {
	out := slices.Clone(x)
	for i, v := range x {
		out[i] = complex(cmplx.Abs(v), 0)
	}
	return out
}

// The channels are those of the definitions, by convolution of numbers in float64 at all pixels: the
// narrower wavelets within rounding. The wider ones are computed at every second pixel, which is too coarse
// for the modulus, so their tolerance is larger.
func TestChannelsAgainstDirectConvolution(t *testing.T) {
	d := pictures(1, 1, 14, 9)
	got, g := raw(t, d)
	ny, nx := g.y.n, g.x.n
	x := make([]complex128, ny*nx)
	for y, from := range g.py {
		for u, at := range g.px {
			x[y*nx+u] = complex(float64(d.Images.Pixels[from*9+at])/255, 0)
		}
	}
	sy, sx := smoothing(ny, 1), smoothing(nx, 1)
	check := func(c int, x []complex128, tolerance float64) {
		t.Helper()
		for row := range g.rows {
			for column := range g.columns {
				want := 0.0
				for y := range ny {
					for u := range nx {
						want += float64(sy[row*ny+y]) * float64(sx[column*nx+u]) * real(x[y*nx+u])
					}
				}
				have := float64(got[(c*g.rows+row)*g.columns+column])
				if math.Abs(have-want) > tolerance {
					t.Errorf("channel %d at (%d, %d) is %v, want %v", c, row, column, have, want)
				}
			}
		}
	}
	check(0, x, 1e-6)
	for angle := range angles {
		first := modulus(convolved(x, morlet(ny, nx, 0, angle), ny, nx))
		check(order1+angle, first, 1e-6)
		check(order1+angles+angle, modulus(convolved(x, morlet(ny, nx, 1, angle), ny, nx)), 2e-3)
		if angle%4 == 1 {
			for _, second := range []int{0, 6} {
				check(order2+angle*angles+second, modulus(convolved(first, morlet(ny, nx, 1, second), ny, nx)), 1e-3)
			}
		}
	}
}

// A padded plane reflects without repeating the edge, with at least 4 pixels on each side.
func TestPadding(t *testing.T) {
	want := []int{4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3}
	if got := reflected(8); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for side := MinSide; side <= MaxSide; side++ {
		if all := reflected(side); slices.Min(all) != 0 || slices.Max(all) != side-1 {
			t.Errorf("side %d: pixels from %d to %d", side, slices.Min(all), slices.Max(all))
		}
	}
}

// mirror mirrors the images from left to right.
func mirror(d *data.Dataset) *data.Dataset {
	out, m := *d, *d.Images
	m.Pixels = slices.Clone(m.Pixels)
	for at := 0; at < len(m.Pixels); at += m.Width {
		slices.Reverse(m.Pixels[at:][:m.Width])
	}
	out.Images = &m
	return &out
}

// Folded features are the same for an image and its mirror image, and about half as many.
func TestFoldedFeaturesAreThoseOfTheMirrorImage(t *testing.T) {
	for _, d := range []*data.Dataset{synth.Objects(rng.New(1), 24), synth.Digits(rng.New(1), 28), pictures(2, 3, 9, 14)} {
		a, b := apply(t, Map{Fold: Yes}, d), apply(t, Map{Fold: Yes}, mirror(d))
		for i, v := range a.Value {
			if math.Abs(float64(v-b.Value[i])) > 1e-4 {
				t.Fatalf("%s: feature %d is %v, mirrored %v", d.Name, i, v, b.Value[i])
			}
		}
		if open := apply(t, Map{Fold: No}, d); a.Features > open.Features*3/5 {
			t.Errorf("%s: %d folded features of %d", d.Name, a.Features, open.Features)
		}
	}
}

// Features of natural colours have a norm of about Norm. Those of a record do not depend on the others,
// nor on its place, and a data set of one record works.
func TestFeaturesAreOfTheRecordAlone(t *testing.T) {
	d := synth.Objects(rng.New(1), 60)
	all := apply(t, Map{}, d)
	if all.Features != 7776 {
		t.Errorf("%d features, want 7776", all.Features)
	}
	one := *d
	images := *d.Images
	images.Pixels, one.Images, one.Label, one.Train = images.Image(57), &images, d.Label[57:58], 0
	if got := apply(t, Map{}, &one); !slices.Equal(got.Value, all.Row(57).Value) {
		t.Error("the last record has other features without the others")
	}
	drawn := apply(t, Map{}, &data.Dataset{Name: "drawn", Features: 3072, Classes: 2, Label: make([]int32, 20),
		Images: &data.Images{Channels: 3, Height: 32, Width: 32, Mean: images.Mean, Std: images.Std,
			Pixels: drawnOf(3, 32, 20).Pixels}})
	squares := 0.0
	for i := range drawn.Len() {
		squares += f32.SumSquares(drawn.Row(i).Value) / float64(drawn.Len())
	}
	if norm := math.Sqrt(squares); math.Abs(norm-Norm) > 0.1*Norm {
		t.Errorf("drawn images have the norm %v, want about %v", norm, Norm)
	}
}

// Kernels of all classes agree within float32.
func TestClassesAgree(t *testing.T) {
	d := synth.Objects(rng.New(1), 20)
	var first []float32
	for _, class := range f32.Classes() {
		if class == cpu.AMX {
			continue // it multiplies nothing here
		}
		restore, err := f32.Use(class)
		if err != nil {
			t.Fatal(err)
		}
		got := apply(t, Map{}, d).Value
		restore()
		if first == nil {
			first = got
		}
		for i, v := range got {
			if math.Abs(float64(v-first[i])) > 1e-3 {
				t.Fatalf("%v: feature %d is %v, not %v", class, i, v, first[i])
			}
		}
	}
}

func TestWhatCannotBeComputedIsRefused(t *testing.T) {
	rows, err := data.FromRows("rows", [][]float32{{1}, {2}}, []int32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m    Map
		d    *data.Dataset
		want string
	}{
		{Map{}, nil, "no data set"},
		{Map{}, rows, "needs images"},
		{Map{}, pictures(1, 1, 7, 20), "sides in [8, 128]"},
		{Map{}, pictures(1, 1, 20, 129), "sides in [8, 128]"},
		{Map{}, pictures(1, 2, 20, 20), "1 or 3 channels"},
		{Map{Colour: RGB}, pictures(1, 1, 20, 20), "needs images of three channels"},
		{Map{Ridge: math.NaN()}, pictures(1, 1, 20, 20), "ridge = NaN, must be in [0.001, 1000]"},
		{Map{Fold: "maybe", Root: "Yes", Colour: "CMYK"}, pictures(1, 3, 20, 20), "fold = \"maybe\", must be yes or no"},
	} {
		_, err := c.m.Apply(t.Context(), c.d, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.m.Bytes(c.d) != 0 {
			t.Errorf("%+v: error %v, want %q", c.m, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Map{}).Apply(ctx, pictures(20, 1, 8, 8), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a context that ended", err)
	}
}

// FuzzParse: what is read is written in one way, and in its ranges.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"scatter", "scatter:fold=no:root=no", "scatter:ridge=0.1:colour=rgb", "scatter:", "scatter:ridge=0", "scatter:fold=",
		"scatter:fold=no:fold=no", "scatter:ridge=1e999", "scatter:x=1", "scatters", "hog:4:8", "scatter:ridge=NaN",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(m.String())
		if err != nil || again != m || m.Validate() != nil || strings.Count(m.String(), ":") != strings.Count(text, ":") {
			t.Errorf("%q is read as %v, and that as %v (%v)", text, m, again, err)
		}
	})
}

func BenchmarkApply(b *testing.B) {
	for name, d := range map[string]*data.Dataset{"28": pictures(256, 1, 28, 28), "32": pictures(256, 3, 32, 32)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := (Map{}).Apply(b.Context(), d, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N)/256, "ms/image")
		})
	}
}
