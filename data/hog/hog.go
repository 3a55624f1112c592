// Package hog computes histograms of oriented gradients (HOG), which are features of images (N. Dalal and B. Triggs,
// "Histograms of Oriented Gradients for Human Detection", CVPR 2005). The features of a record do not depend on other
// records, so they cost no privacy. With a small privacy budget, a linear model on such features learns more than a
// network on pixels (F. Tramèr and D. Boneh, "Differentially Private Learning Needs Better Features (or Much More
// Data)", ICLR 2021, arXiv 2011.11660).
//
// An image is divided into cells of Cell×Cell pixels. Each cell gets a histogram of its gradients
// over Bins directions:
//
//   - A pixel's gradient is the difference of its neighbours, (p(x+1) − p(x−1), p(y+1) − p(y−1)). Pixels at the
//     border are repeated beyond it. With several channels, a pixel has the longest of the channels' gradients.
//   - The length of the gradient is divided linearly between the two nearest of Bins directions in [0, 2π), and
//     between the histograms of the four nearest cells. For pixels near the border, the part for cells that do not
//     exist is lost.
//   - The features of an image are divided by their norm, so that contrast has no effect, and multiplied by Norm. The
//     features of an image of one colour are 0.
//
// Everything except the division is in integers. The division is in float64 and rounded to float32.
// So the features have the same bits on every machine.
package hog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"proactivedp/data"
)

// Map computes features of images, histograms of oriented gradients, with which a model trains instead of pixels:
// each square cell of an image becomes a histogram of the directions in which brightness changes there. Map
// implements data.FeatureMap. The package comment has the details.
type Map struct {
	Cell int // the side of a square cell in pixels, in [1, MaxCell]
	Bins int // number of bins of a cell's histogram, each for one direction, in [1, MaxBins]
}

// MaxCell is the largest value of Map.Cell, the side of a cell in pixels. MaxBins is the largest value of Map.Bins,
// the number of directions in a cell's histogram.
const (
	MaxCell = 256
	MaxBins = 64
)

// Norm is the Euclidean norm to which the features of each image are scaled. The bias of a linear model acts like one
// more feature with the value 1. Compared with 1, the norm 10 is large, so that almost all of a gradient's norm, which
// clipping limits, is left to the weights.
const Norm = 10

// Prefix is the beginning of the text of every Map (see [Map.String]), by which it differs from the text of other
// feature maps.
const Prefix = "hog:"

// String returns the text hog:CELL:BINS with the two fields of m, which [Parse] reads. train.Spec.FeatureMap has the
// map in this form.
func (m Map) String() string { return fmt.Sprintf("%s%d:%d", Prefix, m.Cell, m.Bins) }

// Parse reads a Map from the text hog:CELL:BINS, such as hog:4:8 for cells of 4×4 pixels and 8 directions. The error
// lists every problem.
func Parse(text string) (Map, error) {
	rest, ok := strings.CutPrefix(text, Prefix)
	cell, bins, two := strings.Cut(rest, ":")
	if !ok || !two {
		return Map{}, fmt.Errorf("features = %q, must be hog:CELL:BINS, such as hog:4:8", text)
	}
	var m Map
	var errs []error
	for _, part := range []struct {
		what, text string
		to         *int
		most       int
	}{{"cell", cell, &m.Cell, MaxCell}, {"bins", bins, &m.Bins, MaxBins}} {
		n, err := strconv.Atoi(part.text)
		if err != nil || n < 1 || n > part.most || strconv.Itoa(n) != part.text {
			errs = append(errs, fmt.Errorf("%s = %q in features = %q, must be a whole number in [1, %d]",
				part.what, part.text, text, part.most))
		}
		*part.to = n
	}
	if err := errors.Join(errs...); err != nil {
		return Map{}, err
	}
	return m, nil
}

// Validate returns an error that lists every field of m outside its range.
func (m Map) Validate() error {
	var errs []error
	if m.Cell < 1 || m.Cell > MaxCell {
		errs = append(errs, fmt.Errorf("cell = %d, must be in [1, %d]", m.Cell, MaxCell))
	}
	if m.Bins < 1 || m.Bins > MaxBins {
		errs = append(errs, fmt.Errorf("bins = %d, must be in [1, %d]", m.Bins, MaxBins))
	}
	return errors.Join(errs...)
}

// Features returns the number of features of each image of d: Bins for each complete cell of Cell×Cell pixels. It
// returns an error if the map is not valid, if d has no images, or if an image is smaller than a cell.
func (m Map) Features(d *data.Dataset) (int, error) {
	if d == nil {
		return 0, errors.New("no data set")
	}
	if err := m.Validate(); err != nil {
		return 0, err
	}
	i := d.Images
	if i == nil {
		return 0, fmt.Errorf("features = %q needs images, %s has %s", m, d.Name, d.Shape())
	}
	n := (i.Height / m.Cell) * (i.Width / m.Cell) * m.Bins
	if n == 0 {
		return 0, fmt.Errorf("features = %q needs images of at least %d×%[2]d, %s has %s", m, m.Cell, d.Name,
			d.Shape())
	}
	return n, nil
}

// Bytes returns how many bytes of memory the features of d will take, so that a caller can check this before
// [Map.Apply]. It returns 0 if Apply would fail.
func (m Map) Bytes(d *data.Dataset) int64 {
	n, err := m.Features(d)
	if err != nil {
		return 0
	}
	return 4 * int64(n) * int64(d.Len())
}

// Constants returns "". Other feature maps return a hash of stored constants with which they compute features. HOG
// features are computed from the pixels and the fields of m alone.
func (m Map) Constants() string { return "" }

// Apply returns the records of d with dense rows of their features instead of images, in the order [row of
// cells][column of cells][direction]. It calls progress, unless that is nil, with the number of records that are
// done.
func (m Map) Apply(ctx context.Context, d *data.Dataset, progress func(done int)) (*data.Dataset, error) {
	n, err := m.Features(d)
	if err != nil {
		return nil, err
	}
	h := newHistograms(m, d.Images)
	value := make([]float32, n*d.Len())
	for i := range d.Len() {
		if i%told == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(i)
			}
		}
		clear(h.counts)
		h.count(d.Images.Image(i))
		h.normalise(value[i*n:][:n])
	}
	return d.WithDense(n, value), nil
}

// told is the number of records between two reports of progress.
const told = 256
