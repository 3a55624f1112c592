package data

import (
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/rng"
)

// pictures is n images of 2 channels of 3×4 pixels that differ from each other,
// the first two thirds for training.
func pictures(n int) *Dataset {
	m := &Images{Channels: 2, Height: 3, Width: 4, Mean: []float32{0.5, 0.25}, Std: []float32{0.1, 0.2}}
	d := &Dataset{Name: "pictures", Features: m.Size(), Classes: 2, Images: m, Train: n * 2 / 3}
	for i := range n {
		d.Label = append(d.Label, int32(i%2))
		for p := range m.Size() {
			m.Pixels = append(m.Pixels, byte(7*i+p))
		}
	}
	return d
}

func TestImages(t *testing.T) {
	d := pictures(6)
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	if got := d.Shape(); got != "2×3×4 pixels" {
		t.Errorf("shape %q", got)
	}
	image := d.Images.Image(5)
	if len(image) != 24 || cap(image) != 24 || image[0] != 35 || image[23] != 58 {
		t.Errorf("image 5 is %v, capacity %d", image, cap(image))
	}
	b := Batch{Data: d, Rows: []int32{4, 5, 1}}
	if b.Label(0) != 0 || b.Label(1) != 1 || &b.Image(1)[0] != &image[0] {
		t.Error("the batch gives other labels or images than its rows'")
	}
	defer func() {
		if recover() == nil {
			t.Error("a set of images has a sparse row")
		}
	}()
	d.Row(0)
}

func TestMoments(t *testing.T) {
	m := &Images{Channels: 2, Height: 1, Width: 2, Pixels: []byte{0, 255, 51, 51, 255, 0, 51, 102, 9, 9, 9, 9}}
	mean, std := m.Moments(2)
	// Channel 0 is 0, 1, 1, 0; channel 1 is 1/5, 1/5, 1/5, 2/5.
	for c, want := range [][2]float64{{0.5, 0.5}, {0.25, math.Sqrt(0.0075)}} {
		if math.Abs(mean[c]-want[0]) > 1e-15 || math.Abs(std[c]-want[1]) > 1e-15 {
			t.Errorf("channel %d: mean %v and standard deviation %v, want %v", c, mean[c], std[c], want)
		}
	}
}

func TestPublishedSplit(t *testing.T) {
	d := pictures(9)
	for seed := range uint64(3) {
		train, test, err := Split(d, rng.New(seed))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(train.Rows, []int32{0, 1, 2, 3, 4, 5}) || !slices.Equal(test.Rows, []int32{6, 7, 8}) {
			t.Errorf("seed %d: trained on %v, tested on %v, must be as published", seed, train.Rows, test.Rows)
		}
		if shards, err := Shard.Deal(train, 3, rng.New(seed)); err != nil || Shard.Check(shards) != nil ||
			shards[0].Len() != 2 {
			t.Errorf("seed %d: dealt as %v, %v", seed, shards, err)
		}
		_ = append(train.Rows, -1)
		if test.Rows[0] != 6 {
			t.Fatal("growing the training set writes into the test set")
		}
	}
}

func TestHashOfImages(t *testing.T) {
	base := pictures(6).Hash()
	same := pictures(6)
	same.Name, same.Note = "another", "a note"
	if same.Hash() != base {
		t.Error("the name or the note changed the hash")
	}
	for what, change := range map[string]func(*Dataset){
		"label":           func(d *Dataset) { d.Label[3] = 1 - d.Label[3] },
		"first pixel":     func(d *Dataset) { d.Images.Pixels[0]++ },
		"last pixel":      func(d *Dataset) { d.Images.Pixels[6*24-1]++ },
		"shape":           func(d *Dataset) { d.Images.Height, d.Images.Width = 4, 3 },
		"mean":            func(d *Dataset) { d.Images.Mean[1] = 0.3 },
		"deviation":       func(d *Dataset) { d.Images.Std[0] = 0.3 },
		"number of rows":  func(d *Dataset) { *d = *pictures(5) },
		"split":           func(d *Dataset) { d.Train++ },
		"lack of a split": func(d *Dataset) { d.Train = 0 },
	} {
		d := pictures(6)
		change(d)
		if d.Hash() == base {
			t.Errorf("a changed %s left the hash as it was", what)
		}
	}
	split := tiny(9)
	split.Train = 6
	if split.Hash() == tiny(9).Hash() {
		t.Error("sparse rows: the split left the hash as it was")
	}
}

func TestValidateImages(t *testing.T) {
	for want, change := range map[string]func(*Dataset){
		"images and sparse rows":                     func(d *Dataset) { d.Start = []int{0} },
		"images of 2×0×4 pixels, each must be in":    func(d *Dataset) { d.Images.Height = 0 },
		"images of 2×3×65537 pixels":                 func(d *Dataset) { d.Images.Width = 65537 },
		"features = 23, must be 24":                  func(d *Dataset) { d.Features = 23 },
		"143 bytes of pixels for 6 images of 24":     func(d *Dataset) { d.Images.Pixels = d.Images.Pixels[1:] },
		"120 bytes of pixels for 6 images":           func(d *Dataset) { d.Images.Pixels = d.Images.Pixels[24:] },
		"1 means and 2 standard deviations":          func(d *Dataset) { d.Images.Mean = d.Images.Mean[1:] },
		"channel 1: mean +Inf":                       func(d *Dataset) { d.Images.Mean[1] = float32(math.Inf(1)) },
		"channel 0: standard deviation = 0":          func(d *Dataset) { d.Images.Std[0] = 0 },
		"channel 1: standard deviation = NaN":        func(d *Dataset) { d.Images.Std[1] = float32(math.NaN()) },
		"row 2: label -1":                            func(d *Dataset) { d.Label[2] = -1 },
		"training rows = 6, must be in [1, 6), or 0": func(d *Dataset) { d.Train = 6 },
		"training rows = -1, must be in [1, 6)":      func(d *Dataset) { d.Train = -1 },
		"no rows\n144 bytes of pixels for 0 imag":    func(d *Dataset) { d.Label, d.Train = nil, 0 },
	} {
		d := pictures(6)
		change(d)
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
