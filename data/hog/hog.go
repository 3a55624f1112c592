// Package hog makes histograms of oriented gradients of images (N. Dalal and B. Triggs,
// "Histograms of Oriented Gradients for Human Detection", CVPR 2005): fixed features of
// each record by itself, which look at no other record and so cost no privacy. A linear
// model on such features learns more within a small budget than a network on pixels
// does: F. Tramèr and D. Boneh, "Differentially Private Learning Needs Better Features
// (or Much More Data)", ICLR 2021, arXiv 2011.11660, where the idea is from.
//
// An image is cut into cells of Cell×Cell pixels, and each cell has a histogram of Bins
// directions of its gradients:
//
//   - a pixel's gradient is the difference of its neighbours, (p(x+1) − p(x−1), p(y+1) −
//     p(y−1)), with the border's pixels repeated beyond it; of several channels the
//     longest gradient counts;
//   - its length is shared by the two directions next to its own, of Bins in [0, 2π),
//     and by the four cells next to the pixel, linearly in each; what falls beyond the
//     outer cells' centres is lost there;
//   - the features of a record are divided by their norm, so that contrast does not
//     show, and multiplied by Norm. Those of an image of one colour are 0.
//
// All but the division is in whole numbers, and the division in float64, rounded to
// float32: the features are the same bits on every machine.
package hog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"proactivedp/data"
)

// Map says which features are made.
type Map struct {
	Cell int // the side of a cell in pixels, in [1, MaxCell]
	Bins int // directions, in [1, MaxBins]
}

// The largest cells and the most directions.
const (
	MaxCell = 256
	MaxBins = 64
)

// Norm is the norm of a record's features: the bias, which is a feature of 1 to a linear
// model, is then a small part of a clipped gradient.
const Norm = 10

// Prefix is how the text of a Map begins.
const Prefix = "hog:"

// String writes hog:CELL:BINS.
func (m Map) String() string { return fmt.Sprintf("%s%d:%d", Prefix, m.Cell, m.Bins) }

// Parse reads hog:CELL:BINS, written as String does, and reports every problem.
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

// Validate reports every field outside its range.
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

// Features returns how many features an image of d has: Bins for each whole cell. It
// fails unless the map is valid and d is of images with room for one cell.
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

// Bytes returns how much memory Apply takes for d, 0 where it fails.
func (m Map) Bytes(d *data.Dataset) int64 {
	n, err := m.Features(d)
	if err != nil {
		return 0
	}
	return 4 * int64(n) * int64(d.Len())
}

// Apply returns the records of d with dense rows of their features, [cell's row][cell's
// column][direction].
func (m Map) Apply(d *data.Dataset) (*data.Dataset, error) {
	n, err := m.Features(d)
	if err != nil {
		return nil, err
	}
	h := newHistograms(m, d.Images)
	value := make([]float32, n*d.Len())
	for i := range d.Len() {
		clear(h.counts)
		h.count(d.Images.Image(i))
		h.normalise(value[i*n:][:n])
	}
	return d.WithDense(n, value), nil
}
