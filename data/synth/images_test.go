package synth

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/rng"
)

func TestImages(t *testing.T) {
	for _, c := range []struct {
		make             func(*rng.Root, int) *data.Dataset
		name, shape      string
		rows, train      int
		fullRows, fullIn int // of the set by its name alone
	}{
		{Digits, "synth-mnist", "1×28×28 pixels", 1400, 1200, 70_000, 60_000},
		{Objects, "synth-cifar10", "3×32×32 pixels", 1200, 1000, 60_000, 50_000},
	} {
		d := c.make(rng.New(1), c.rows)
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		if d.Name != c.name || !d.Synthetic || d.Shape() != c.shape || d.Classes != 10 || d.Len() != c.rows ||
			d.Train != c.train {
			t.Errorf("%s: synthetic %v, %s, %d classes, %d rows, %d for training; want %+v", d.Name, d.Synthetic,
				d.Shape(), d.Classes, d.Len(), d.Train, c)
		}
		// χ² of the labels with 9 degrees of freedom: above 33.7 with probability 1e-4.
		chi2, expected := 0.0, float64(c.rows)/10
		for _, n := range d.All().ClassCounts() {
			chi2 += (float64(n) - expected) * (float64(n) - expected) / expected
		}
		if chi2 > 33.7 {
			t.Errorf("%s: label counts %v, must be about equal", c.name, d.All().ClassCounts())
		}
		// What is normalised has mean 0 and deviation 1 over the training images.
		for ch := range d.Images.Channels {
			mean, std := d.Images.Moments(d.Train)
			if math.Abs(mean[ch]-float64(d.Images.Mean[ch])) > 1e-7 ||
				math.Abs(std[ch]-float64(d.Images.Std[ch])) > 1e-7 {
				t.Errorf("%s: channel %d is normalised by %v and %v, has %v and %v", c.name, ch, d.Images.Mean[ch],
					d.Images.Std[ch], mean[ch], std[ch])
			}
		}
		// Images differ, and those of a smaller set are the first of a larger one.
		small := c.make(rng.New(1), 100)
		if !slices.Equal(small.Label, d.Label[:100]) || !bytes.HasPrefix(d.Images.Pixels, small.Images.Pixels) {
			t.Errorf("%s: the first rows depend on how many there are", c.name)
		}
		seen := map[string]bool{}
		for i := range d.Len() {
			seen[string(d.Images.Image(i))] = true
		}
		if len(seen) != c.rows {
			t.Errorf("%s: %d different images of %d", c.name, len(seen), c.rows)
		}
		for _, p := range pictures() {
			if p.name == c.name && (p.rows != c.fullRows || p.train != c.fullIn) {
				t.Errorf("%s is of %d rows, %d for training, want those of the real set", p.name, p.rows, p.train)
			}
		}
	}
}

func TestRowsOutsideTheirRangePanic(t *testing.T) {
	for _, rows := range []int{-1, MinRows - 1, MaxRows + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d rows were drawn", rows)
				}
			}()
			Digits(rng.New(1), rows)
		}()
	}
	if d := Objects(rng.New(1), MinRows); d.Validate() != nil {
		t.Error(d.Validate())
	}
}

// A linear model learns something of the pictures and is far from what a
// convolutional network reaches: LeNet 0.955 having learned from 12,000 digits, one
// of two convolutions 0.93 from 50,000 objects.
func TestPicturesAreNotLinear(t *testing.T) {
	for _, c := range []struct {
		d           *data.Dataset
		least, most float64
	}{
		{Digits(rng.New(1), 3500), 0.5, 0.85},
		{Objects(rng.New(1), 1800), 0.15, 0.5},
	} {
		train, test, err := data.Split(c.d, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := fitLinear(train.All(), 3)
		right := 0
		for i, b := 0, test.All(); i < b.Len(); i++ {
			p := w.classify(b, i)
			if slices.Index(p, slices.Max(p)) == int(b.Label(i)) {
				right++
			}
		}
		if got := float64(right) / float64(test.Len()); got < c.least || got > c.most {
			t.Errorf("%s: a linear model is right on %.3f of the test set, want %v to %v", c.d.Name, got, c.least,
				c.most)
		}
	}
}

// linear is a softmax classifier of pixels: a row of weights and a bias a class.
type linear [][]float32

// fitLinear learns one example after another, in their order.
func fitLinear(b data.Batch, epochs int) linear {
	w := make(linear, b.Data.Classes)
	for c := range w {
		w[c] = make([]float32, b.Data.Features+1)
	}
	for epoch := range epochs {
		rate := 0.5 / float32(b.Data.Features*(1+epoch))
		for i := range b.Len() {
			p := w.classify(b, i)
			p[b.Label(i)]--
			for c, row := range w {
				step := rate * p[c]
				for j, v := range b.Image(i) {
					row[j] -= step * (float32(v)/127.5 - 1)
				}
				row[len(row)-1] -= step
			}
		}
	}
	return w
}

// classify returns the probabilities of the classes of example i.
func (w linear) classify(b data.Batch, i int) []float32 {
	p := make([]float32, len(w))
	for c, row := range w {
		p[c] = row[len(row)-1]
		for j, v := range b.Image(i) {
			p[c] += row[j] * (float32(v)/127.5 - 1)
		}
	}
	highest, sum := slices.Max(p), float32(0)
	for c := range p {
		p[c] = float32(math.Exp(float64(p[c] - highest)))
		sum += p[c]
	}
	for c := range p {
		p[c] /= sum
	}
	return p
}

func BenchmarkDigits(b *testing.B) {
	for b.Loop() {
		Digits(rng.New(1), 1000)
	}
}

func BenchmarkObjects(b *testing.B) {
	for b.Loop() {
		Objects(rng.New(1), 1000)
	}
}
