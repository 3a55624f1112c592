// This file compares pictures with golden ones.

package testkit

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/draw"
	"gonum.org/v1/plot/cmpimg"
)

// update makes the tests write the golden pictures again. Look at the pictures before you commit
// them.
var update = flag.Bool("update-pictures", false, "write the golden pictures in testdata again")

const (
	// reduction is how many pixels become one in the golden copy, in each direction. So the copy is
	// small, and the edges of letters matter less.
	reduction = 3
	// tolerance is the allowed difference of a pixel, as a fraction of the distance from black to
	// white (cmpimg's measure). It allows the rounding differences of other processors, but not a
	// missing line.
	tolerance = 0.08
)

// Golden fails the test if a picture has changed. drawTo draws the picture as PNG. Golden reduces it to a
// third of its size and compares it with testdata/name.png. If they differ, the picture is saved with the
// test's artifacts (go test -artifacts). With -update-pictures, Golden writes testdata/name.png instead.
func Golden(t *testing.T, name string, drawTo func(io.Writer) error) {
	t.Helper()
	var drawn bytes.Buffer
	if err := drawTo(&drawn); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	full, err := png.Decode(&drawn)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var reduced bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&reduced, reduce(full)); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", name+".png")
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, reduced.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v: make it with -update-pictures", err)
	}
	equal, err := cmpimg.EqualApprox("png", reduced.Bytes(), want, tolerance)
	if err != nil {
		t.Fatalf("%s: %v", golden, err)
	}
	if !equal {
		path := filepath.Join(t.ArtifactDir(), name+".png")
		if err := os.WriteFile(path, reduced.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		t.Errorf("the picture differs from %s; it is in %s", golden, path)
	}
}

// reduce averages blocks of pixels. A remainder at the edges is dropped.
func reduce(full image.Image) image.Image {
	b := full.Bounds()
	reduced := image.NewRGBA(image.Rect(0, 0, b.Dx()/reduction, b.Dy()/reduction))
	draw.BiLinear.Scale(reduced, reduced.Rect, full, b, draw.Src, nil)
	return reduced
}
