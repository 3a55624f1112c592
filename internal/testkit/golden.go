// This file holds pictures against golden ones, as tests do that must not
// accept a blank sheet.

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

// update writes the golden pictures anew. Look at them before they are committed.
var update = flag.Bool("update-pictures", false, "write the golden pictures of testdata anew")

const (
	// reduction is how many pixels of a picture make one of its golden copy, in each
	// direction: what is kept is small, and the edges of letters weigh less.
	reduction = 3
	// tolerance is how far a pixel may be off, of the distance from black to white
	// (cmpimg's measure): roundings of another processor are allowed, and no stroke.
	tolerance = 0.08
)

// Golden draws a picture as PNG and compares it with testdata/name.png, reduced to a
// third. If they differ, the picture is kept with the test's artifacts (go test
// -artifacts). With -update-pictures the golden picture is written instead.
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
		t.Fatalf("%v: -update-pictures makes it", err)
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
		t.Errorf("the picture is not the one in %s; it is in %s", golden, path)
	}
}

// reduce averages the pixels; less than one of the copy is lost at the edges.
func reduce(full image.Image) image.Image {
	b := full.Bounds()
	reduced := image.NewRGBA(image.Rect(0, 0, b.Dx()/reduction, b.Dy()/reduction))
	draw.BiLinear.Scale(reduced, reduced.Rect, full, b, draw.Src, nil)
	return reduced
}
