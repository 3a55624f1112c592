package data

import (
	"math"
)

// Images is the content of a Dataset of images of equal size.
type Images struct {
	Channels, Height, Width int
	// Pixels holds one image after another, each [channel][y][x].
	Pixels []byte
	// Mean and Std have one number for each channel, by which pixels are normalised: for the pixel p, in [0, 255], a
	// model gets (p/255 − Mean)/Std.
	Mean, Std []float32
}

// Size returns the number of pixels of one image, counting each channel: Channels·Height·Width.
func (m *Images) Size() int { return m.Channels * m.Height * m.Width }

// Image returns the pixels of image i. They share memory with m and must not be modified.
func (m *Images) Image(i int) []byte {
	n := m.Size()
	return m.Pixels[i*n : (i+1)*n : (i+1)*n]
}

// Scaling returns the normalisation of channel c in the form that a model's code uses: a pixel p in [0, 255] becomes
// the input scale·p + shift, which is (p/255 − Mean)/Std.
func (m *Images) Scaling(c int) (scale, shift float32) {
	mean, std := float64(m.Mean[c]), float64(m.Std[c])
	return float32(1 / (255 * std)), float32(-mean / std)
}

// Moments returns, for each channel, the mean and the standard deviation of p/255 over all pixels p of the first n ≥
// 1 images. Pass the number of training images as n; they come first, see Dataset.Train. Use the results as
// Images.Mean and Images.Std to normalise pixels to mean 0 and standard deviation 1. They are computed from records
// without noise, so no ε covers them.
func (m *Images) Moments(n int) (mean, std []float64) {
	area := m.Height * m.Width
	for c := range m.Channels {
		var sum, squares uint64
		for i := range n {
			for _, p := range m.Image(i)[c*area : (c+1)*area] {
				sum += uint64(p)
				squares += uint64(p) * uint64(p)
			}
		}
		count := float64(n * area)
		mu := float64(sum) / count
		mean = append(mean, mu/255)
		std = append(std, math.Sqrt(float64(squares)/count-mu*mu)/255)
	}
	return mean, std
}

// validateImages calls fail for every problem of the images.
func (d *Dataset) validateImages(fail func(format string, args ...any)) {
	m := d.Images
	if d.Start != nil || d.Index != nil || d.Value != nil {
		fail("images and sparse rows, must be one of them")
	}
	if min(m.Channels, m.Height, m.Width) < 1 || max(m.Channels, m.Height, m.Width) > maxSide {
		fail("images of %s, each must be in [1, %d]", d.Shape(), maxSide)
		return
	}
	if d.Features != m.Size() {
		fail("features = %d, must be %d because the images are %s", d.Features, m.Size(), d.Shape())
	}
	if len(m.Pixels)/m.Size() != d.Len() || len(m.Pixels)%m.Size() != 0 {
		fail("%d bytes of pixels for %d images of %d", len(m.Pixels), d.Len(), m.Size())
	}
	if len(m.Mean) != m.Channels || len(m.Std) != m.Channels {
		fail("%d means and %d standard deviations for %d channels", len(m.Mean), len(m.Std), m.Channels)
	}
	for c, v := range m.Mean {
		if !finite(v) {
			fail("channel %d: mean %v is not finite", c, v)
		}
	}
	for c, v := range m.Std {
		if !finite(v) || v <= 0 {
			fail("channel %d: standard deviation = %v, must be positive", c, v)
		}
	}
}

// maxSide bounds channels, height and width, so that their product fits an int.
const maxSide = 1 << 16

func (d *Dataset) hashImages(put *hasher) {
	m := d.Images
	put.uint32(notALabel)
	for _, n := range []int{m.Channels, m.Height, m.Width} {
		put.uint64(uint64(n))
	}
	put.float32s(m.Mean)
	put.float32s(m.Std)
	for _, l := range d.Label {
		put.uint32(uint32(l))
	}
	put.bytes(m.Pixels)
}

// notALabel replaces the first label in the hash, so that images and rows never have equal hashes.
const notALabel = math.MaxUint32
