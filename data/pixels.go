package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/internal/message"
)

// PixelRange says how the numbers in a file become pixels, which are bytes: a number becomes the nearest of 256
// equally spaced levels, where Low is level 0 (the darkest) and High is level 255 (the brightest). The bounds Low and
// High must be public, not computed from the data.
type PixelRange struct {
	Low, High float64 // finite, Low < High
	// Clamp means that a number outside the bounds counts as the nearer bound. Without Clamp, such a number is an
	// error.
	Clamp bool
	// Whole means that a number with a fractional part is an error. The caller sets it if the user gave no bounds, so
	// that the range is [0, 255]. Without this check, images with numbers in [0, 1] would become nearly black.
	Whole bool
}

// ParseBounds reads two bounds from text of the form LOW,HIGH, such as 0,100, for example for a [PixelRange]. It
// returns an error unless they are finite numbers in the range of float32 with LOW < HIGH.
func ParseBounds(text string) (low, high float64, err error) {
	first, second, _ := strings.Cut(text, ",")
	low, err = strconv.ParseFloat(strings.TrimSpace(first), 64)
	high, err2 := strconv.ParseFloat(strings.TrimSpace(second), 64)
	if err != nil || err2 != nil || !(high > low && low >= -math.MaxFloat32 && high <= math.MaxFloat32) {
		return 0, 0, fmt.Errorf("bounds %.40q, must be LOW,HIGH with finite numbers LOW < HIGH in the range of float32", text)
	}
	return low, high, nil
}

// Pixel returns the level, in [0, 255], of the number v. It returns false if v cannot be a pixel: if it is NaN,
// outside the bounds (unless r clamps), or not whole although r.Whole is set.
func (r PixelRange) Pixel(v float64) (byte, bool) {
	switch {
	case r.Whole && v != math.Trunc(v):
		return 0, false
	case v >= r.Low && v <= r.High:
		return byte(math.Round((v - r.Low) / (r.High - r.Low) * 255)), true
	case r.Clamp && v < r.Low:
		return 0, true
	case r.Clamp && v > r.High:
		return 255, true
	}
	return 0, false
}

// ErrPixel is the error, usually wrapped, for a number in a file that cannot be a pixel: it is NaN, outside the
// bounds of a [PixelRange], or not whole although PixelRange.Whole is set.
var ErrPixel = errors.New("is not a pixel")

// Fault returns the error to report after [PixelRange.Pixel] returned false for a number in a file. image is the
// number of the image in the file, from 1. The text says which numbers are allowed, but does not show the bad number,
// which is private.
func (r PixelRange) Fault(image int) error {
	return fmt.Errorf("image %d: a number %w: must be %sin [%v, %v]", image, ErrPixel,
		message.When(r.Whole, "a whole number "), r.Low, r.High)
}

// PixelGrid says how a row of numbers is to be read as an image: the size of the image, and the order of its pixels.
type PixelGrid struct {
	Channels, Height, Width int
	// First means that the channels come first: the order is channels, height, width. Otherwise it is height, width,
	// channels.
	First bool
}

// MaxPixelSide is the largest height and width of an image, in pixels.
const MaxPixelSide = 1 << 12

// ParsePixelGrid reads text that says what image a row of numbers is: HEIGHTxWIDTH, such as 28x28,
// HEIGHTxWIDTHxCHANNELS, such as 32x32x3, or CHANNELSxHEIGHTxWIDTH, such as 3x32x32. There must be 1 or 3 channels.
// The order of the numbers in the text is also the order of the pixels in a row.
func ParsePixelGrid(text string) (PixelGrid, error) {
	var sides []int
	for part := range strings.SplitSeq(text, "x") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > MaxPixelSide {
			return PixelGrid{}, gridFault(text)
		}
		sides = append(sides, n)
	}
	if len(sides) == 2 {
		sides = append(sides, 1)
	}
	if len(sides) != 3 {
		return PixelGrid{}, gridFault(text)
	}
	isChannels := func(n int) bool { return n == 1 || n == 3 }
	switch {
	case isChannels(sides[2]) && !isChannels(sides[0]):
		return PixelGrid{Channels: sides[2], Height: sides[0], Width: sides[1]}, nil
	case isChannels(sides[0]) && !isChannels(sides[2]):
		return PixelGrid{Channels: sides[0], Height: sides[1], Width: sides[2], First: true}, nil
	}
	return PixelGrid{}, gridFault(text)
}

func gridFault(text string) error {
	return fmt.Errorf("%.40q, must be HEIGHTxWIDTHxCHANNELS such as 28x28x1, or CHANNELSxHEIGHTxWIDTH such as 3x32x32, "+
		"with 1 or 3 channels and sides of at most %d pixels", text, MaxPixelSide)
}

// Size returns the number of features that a row must have: one for each pixel and channel.
func (g PixelGrid) Size() int { return g.Channels * g.Height * g.Width }

// Pictures returns a copy of d in which each row has become an image as g says, for models that need images. The rows
// must have g.Size() features. r says which numbers are the darkest and the brightest pixel. Images.Mean is 0 and
// Images.Std is 1 for every channel, so a model gets inputs in [0, 1].
func (d *Dataset) Pictures(g PixelGrid, r PixelRange) (*Dataset, error) {
	if d.Images != nil {
		return nil, fmt.Errorf("%s has images, not rows", d.Name)
	}
	size, area := g.Size(), g.Height*g.Width
	if d.Features != size {
		return nil, fmt.Errorf("%s has %d features, must be %d = %d×%d×%d pixels", d.Name, d.Features, size, g.Height,
			g.Width, g.Channels)
	}
	m := &Images{Channels: g.Channels, Height: g.Height, Width: g.Width, Pixels: make([]byte, d.Len()*size),
		Mean: make([]float32, g.Channels), Std: slices.Repeat([]float32{1}, g.Channels)}
	zero, ok := r.Pixel(0)
	for i := range d.Len() {
		row, image := d.Row(i), m.Image(i)
		if !ok && len(row.Index) < size {
			return nil, fmt.Errorf("%s: %w", d.Name, r.Fault(i+1))
		}
		if zero != 0 && !d.Dense() {
			for j := range image {
				image[j] = zero
			}
		}
		for k, j := range row.Index {
			p, ok := r.Pixel(float64(row.Value[k]))
			if !ok {
				return nil, fmt.Errorf("%s: %w", d.Name, r.Fault(i+1))
			}
			at := int(j)
			if !g.First {
				at = at%g.Channels*area + at/g.Channels
			}
			image[at] = p
		}
	}
	out := *d
	out.Images, out.Start, out.Index, out.Value, out.Columns = m, nil, nil, nil, nil
	return &out, nil
}
