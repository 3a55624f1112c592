package hog_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/hog"
	"proactivedp/data/synth"
	"proactivedp/rng"
)

// picture is a data set of one image, pixel(c, y, x).
func picture(channels, height, width int, pixel func(c, y, x int) byte) *data.Dataset {
	m := &data.Images{Channels: channels, Height: height, Width: width}
	for c := range channels {
		m.Mean, m.Std = append(m.Mean, 0), append(m.Std, 1)
		for y := range height {
			for x := range width {
				m.Pixels = append(m.Pixels, pixel(c, y, x))
			}
		}
	}
	return &data.Dataset{Name: "picture", Features: m.Size(), Classes: 2, Label: []int32{1}, Images: m}
}

func apply(t *testing.T, m hog.Map, d *data.Dataset) *data.Dataset {
	t.Helper()
	out, err := m.Apply(context.Background(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Validate(); err != nil {
		t.Fatal(err)
	}
	return out
}

// A ramp has one gradient everywhere inside: all features but those of its direction
// are 0, whatever the contrast, and those of the middle cells are alike.
func TestARampHasOneDirection(t *testing.T) {
	m := hog.Map{Cell: 4, Bins: 8}
	for direction, ramp := range map[int]func(y, x int) int{
		0: func(y, x int) int { return x }, 1: func(y, x int) int { return x + y }, 2: func(y, x int) int { return y },
		4: func(y, x int) int { return 15 - x }, 6: func(y, x int) int { return 15 - y },
	} {
		var first []float32
		for _, contrast := range []int{1, 3, 8} {
			d := picture(1, 16, 16, func(_, y, x int) byte { return byte(contrast * ramp(y, x)) })
			row := apply(t, m, d).Row(0).Value
			if first == nil {
				first = row
			}
			for i, v := range row {
				cell := i / 8
				inside := cell/4 > 0 && cell/4 < 3 && cell%4 > 0 && cell%4 < 3
				if on := i%8 == direction; inside && on != (v > 0) {
					t.Errorf("ramp %d: feature %d of cell %d is %v", direction, i%8, cell, v)
				}
				if math.Abs(float64(v-first[i])) > 1e-3 { // parts are whole
					t.Errorf("ramp %d, contrast %d: feature %d is %v, at contrast 1 %v", direction, contrast, i, v,
						first[i])
				}
			}
			if row[5*8+direction] != row[6*8+direction] {
				t.Errorf("ramp %d: the middle cells differ", direction)
			}
		}
	}
}

// A pixel's gradient is shared by cells and directions linearly: of one step in a row
// of two cells of 2×2 pixels, each share by hand.
func TestSharesByHand(t *testing.T) {
	// Columns 0, 0, 0, 128: the gradients along x are 0, 0, 128, 128. Cells of 2 have their
	// centres at 1 and 3, the pixels 2 and 3 theirs at 2.5 and 3.5: a quarter and
	// three quarters of the first, and three quarters of the second, as the rest has
	// no cell. The only row of cells has its centre at 1, the pixels theirs at 0.5 and
	// 1.5: three quarters each.
	d := picture(1, 2, 4, func(_, _, x int) byte { return byte(x / 3 * 128) })
	row := apply(t, hog.Map{Cell: 2, Bins: 1}, d).Row(0).Value
	near, far := 0.25, 1.5 // of 128·2·¾
	norm := math.Hypot(near, far)
	if got, want := float64(row[0]), hog.Norm*near/norm; math.Abs(got-want) > 1e-5 {
		t.Errorf("the first cell has %v, want %v", got, want)
	}
	if got, want := float64(row[1]), hog.Norm*far/norm; math.Abs(got-want) > 1e-5 {
		t.Errorf("the second cell has %v, want %v", got, want)
	}
}

// Of several channels the longest gradient counts.
func TestTheLongestGradientCounts(t *testing.T) {
	both := picture(2, 8, 8, func(c, y, x int) byte { return byte([]int{20 * x, 3 * y}[c]) })
	one := picture(1, 8, 8, func(_, _, x int) byte { return byte(20 * x) })
	m := hog.Map{Cell: 4, Bins: 9}
	if got, want := apply(t, m, both).Value, apply(t, m, one).Value; !slices.Equal(got, want) {
		// At the left and right border the ramp along x is half as steep, and still steeper.
		t.Errorf("%v, want %v", got, want)
	}
}

// Features are of norm Norm, or 0 for an image of one colour; and those of a record do
// not depend on the others.
func TestFeaturesAreOfTheRecordAlone(t *testing.T) {
	d := synth.Objects(rng.New(1), 40)
	m := hog.Map{Cell: 5, Bins: 7} // does not divide 32
	all := apply(t, m, d)
	if n, err := m.Features(d); err != nil || n != 36*7 || all.Features != n || m.Bytes(d) != int64(4*n*d.Len()) {
		t.Errorf("%d features, %d bytes (%v), want 252", n, m.Bytes(d), err)
	}
	for i := range d.Len() {
		row := all.Row(i).Value
		squares := 0.0
		for _, v := range row {
			squares += float64(v) * float64(v)
		}
		if math.Abs(math.Sqrt(squares)-hog.Norm) > 1e-5 {
			t.Errorf("record %d: norm %v", i, math.Sqrt(squares))
		}
		alone := picture(3, 32, 32, func(c, y, x int) byte { return d.Images.Image(i)[(c*32+y)*32+x] })
		if !slices.Equal(apply(t, m, alone).Value, row) {
			t.Errorf("record %d has other features without the others", i)
		}
	}
	flat := apply(t, m, picture(1, 10, 10, func(_, _, _ int) byte { return 77 }))
	if slices.ContainsFunc(flat.Value, func(v float32) bool { return v != 0 }) {
		t.Errorf("an image of one colour has features %v", flat.Value)
	}
	if all.Name != d.Name || all.Train != d.Train || !all.Synthetic || !slices.Equal(all.Label, d.Label) {
		t.Error("what is known of the records has changed")
	}
}

// Features mean these bits, on every machine.
func TestFeaturesMeanTheseBits(t *testing.T) {
	for _, c := range []struct {
		d    *data.Dataset
		m    hog.Map
		want string
	}{
		{synth.Digits(rng.New(1), 70), hog.Map{Cell: 4, Bins: 8}, "348ff693521085ea"},
		{synth.Objects(rng.New(1), 60), hog.Map{Cell: 4, Bins: 9}, "85735f1eb06041d2"},
	} {
		var bits []byte
		for _, v := range apply(t, c.m, c.d).Value {
			bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(v))
		}
		hash := sha256.Sum256(bits)
		if got := hex.EncodeToString(hash[:8]); got != c.want {
			t.Errorf("%v of %s hashes to %s, want %s", c.m, c.d.Name, got, c.want)
		}
	}
}

func TestImagesAreNeeded(t *testing.T) {
	rows, err := data.FromRows("rows", [][]float32{{1}, {2}}, []int32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	small := picture(1, 3, 9, func(_, _, x int) byte { return byte(x) })
	for d, want := range map[*data.Dataset]string{rows: "needs images", small: "at least 4×4"} {
		m := hog.Map{Cell: 4, Bins: 8}
		if _, err := m.Apply(context.Background(), d, nil); err == nil || !strings.Contains(err.Error(), want) || m.Bytes(d) != 0 {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// FuzzParse: what is read is written as it was, and in its ranges.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"hog:4:8", "hog:0:65", "hog:4", "hog:+4:08", "hog:1e1:8", "", "hog:4:8:2", "hog:256:64",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := hog.Parse(text)
		if err != nil {
			return
		}
		if m.String() != text || m.Cell < 1 || m.Cell > hog.MaxCell || m.Bins < 1 || m.Bins > hog.MaxBins {
			t.Errorf("%q is read as %v", text, m)
		}
	})
}

// A map that no text makes is an error of everything that it is asked for, not a division by
// zero.
func TestMapsOutsideTheirRangesAreErrors(t *testing.T) {
	d := picture(1, 8, 8, func(_, y, x int) byte { return byte(y + x) })
	for m, want := range map[hog.Map]string{
		{}:                               "cell = 0, must be in [1, 256]\nbins = 0, must be in [1, 64]",
		{Cell: -4, Bins: 8}:              "cell = -4, must be in [1, 256]",
		{Cell: 4, Bins: 1 << 40}:         "bins = 1099511627776, must be in [1, 64]",
		{Cell: hog.MaxCell + 1, Bins: 8}: "cell = 257, must be in [1, 256]",
		{Cell: 4, Bins: hog.MaxBins + 1}: "bins = 65, must be in [1, 64]",
	} {
		_, err := m.Features(d)
		_, applied := m.Apply(context.Background(), d, nil)
		if err == nil || applied == nil || err.Error() != want || applied.Error() != want || m.Bytes(d) != 0 {
			t.Errorf("%+v: %v, %v and %d bytes; want %q", m, err, applied, m.Bytes(d), want)
		}
	}
	if _, err := (hog.Map{Cell: 4, Bins: 8}).Features(nil); err == nil {
		t.Error("features of no data set")
	}
}
