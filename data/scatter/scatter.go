// Package scatter computes scattering transforms, which are features of images: averages of the absolute values of
// wavelet transforms (J. Bruna and S. Mallat, "Invariant Scattering Convolution Networks", IEEE TPAMI 35(8), 2013).
// The features of a record do not depend on other records, so they cost no privacy. In 2021, a linear model on these
// features had the best published accuracy at small ε (F. Tramèr and D. Boneh, "Differentially Private Learning Needs
// Better Features (or Much More Data)", ICLR 2021, arXiv 2011.11660).
//
// The steps, in this order:
//
//  1. Colours become opponent planes: (R+G+B)/√3, (R−G)/√2 and (R+G−2B)/√6.
//  2. Each plane, p/255, is padded by reflection and convolved with Morlet wavelets of 2 scales and 8
//     angles. Its channels are S0 = x∗φ, S1 = |x∗ψ_{j,t}|∗φ, and S2 = ||x∗ψ_{0,t}|∗ψ_{1,t'}|∗φ: 81
//     channels, sampled at every fourth pixel.
//  3. A number x becomes sign(x)·√|x|.
//  4. Each channel is normalised to mean 0 and standard deviation 1. Then the channels of each place are whitened:
//     their vector is multiplied by (Σ + λI)^−½, where Σ is the matrix of their correlations and λ is Map.Ridge.
//  5. The label of a photo does not change when the photo is mirrored, so a feature and its mirror image should have
//     the same weight. The fold replaces both by their sum. This halves the number of parameters, and so the expected
//     squared norm of the noise.
//  6. Features are multiplied by a constant, so that the root mean square norm of drawn images is about Norm.
//
// The means, the deviations and Σ do not come from the user's data. They were computed from random images with a 1/f
// spectrum ("drawn images") and are constants of this package, so they are public. For images of one channel, such as
// digits, steps 3 and 5 are left out unless the options Root and Fold of the Map ask for them.
package scatter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"proactivedp/data"
)

// Map computes features of images, scattering transforms, with which a model trains instead of pixels. It implements
// data.FeatureMap. A zero field means the default, which depends on the number of channels of the images, 3 or 1. The
// package comment lists the steps of the computation.
type Map struct {
	// Colour says which three planes an image of three channels is divided into: RGB means red, green and blue, and
	// Opponent means the brightness and two differences of colours. "" means Opponent. For images of one channel it
	// must be "".
	Colour string
	// Root is Yes or No: whether each feature x is replaced by sign(x)·√|x|. "" means Yes with three channels and No
	// with one.
	Root string
	// Fold is Yes or No: whether each feature is added to its mirror image, which is the feature with which it exchanges
	// its value if left and right of the image are swapped. Only the sums are kept, so the number of features is about
	// halved. "" means Yes with three channels and No with one.
	Fold string
	// Ridge is the constant λ, in [MinRidge, MaxRidge], of the whitening, which makes features uncorrelated. A larger
	// λ removes less of the correlations. 0 means 0.4 with three channels and 0.1 with one.
	Ridge float64
}

// Opponent and RGB are the values of Map.Colour, which says into which planes a colour image is divided. Yes and No
// are the values of Map.Root (whether square roots of features are taken) and Map.Fold (whether a feature and its
// mirror image are added). MinRidge and MaxRidge are the limits of Map.Ridge, which says how strongly the
// correlations of features are removed.
const (
	Opponent = "opponent"
	RGB      = "rgb"
	Yes      = "yes"
	No       = "no"

	MinRidge = 0.001
	MaxRidge = 1000
)

// MinSide and MaxSide are the smallest and the largest height and width, in pixels, of an image for which features
// can be computed.
const (
	MinSide = 8
	MaxSide = 128
)

// Norm is the Euclidean norm that the features of an image typically have. Features are multiplied by a constant, so
// that the root mean square of their norms is about Norm over a fixed set of random images, which have nothing to do
// with the user's images. The scale matters because gradients are clipped: the gradients of a linear model grow with
// the norm of the features.
const Norm = 10

// Name is the beginning of the text of every Map, by which it differs from the text of other feature maps. "scatter"
// alone is the zero Map, with all defaults; options may follow, see [Parse].
const Name = "scatter"

// String returns the map as text that [Parse] reads, such as "scatter:fold=no". The text has only the options whose
// fields are not zero.
func (m Map) String() string {
	text := Name
	add := func(key, value string) {
		if value != "" {
			text += ":" + key + "=" + value
		}
	}
	add("colour", m.Colour)
	add("root", m.Root)
	add("fold", m.Fold)
	if m.Ridge != 0 {
		add("ridge", strconv.FormatFloat(m.Ridge, 'g', -1, 64))
	}
	return text
}

// Parse reads a Map from its text: "scatter", followed by options in any order, as in
// scatter:root=no:fold=no:colour=rgb:ridge=0.1. The options root, fold, colour and ridge set the fields of Map with
// these names. The error lists every problem.
func Parse(text string) (Map, error) {
	first, rest, more := strings.Cut(text, ":")
	if first != Name {
		return Map{}, fmt.Errorf("features = %.60q, must be scatter[:OPTION=VALUE…]", text)
	}
	var m Map
	var errs []error
	given := map[string]bool{}
	for more {
		var part string
		part, rest, more = strings.Cut(rest, ":")
		key, value, _ := strings.Cut(part, "=")
		if given[key] {
			errs = append(errs, fmt.Errorf("the option %q is given twice in features = %.100q", key, text))
			continue
		}
		given[key] = true
		switch key {
		case "colour":
			m.Colour = value
		case "root":
			m.Root = value
		case "fold":
			m.Fold = value
		case "ridge":
			v, err := strconv.ParseFloat(value, 64)
			if m.Ridge = v; err != nil {
				m.Ridge = -1
			}
		default:
			errs = append(errs, fmt.Errorf("option %.60q in features = %.100q, must be colour=opponent|rgb, root=yes|no, "+
				"fold=yes|no or ridge=λ", part, text))
			continue
		}
		if value == "" || key == "ridge" && m.Ridge == 0 {
			errs = append(errs, fmt.Errorf("option %.60q in features = %.100q has no value", part, text))
		}
	}
	if err := errors.Join(append(errs, m.Validate())...); err != nil {
		return Map{}, err
	}
	return m, nil
}

// Validate returns an error that lists every field of m outside its range.
func (m Map) Validate() error {
	var errs []error
	if m.Colour != "" && m.Colour != Opponent && m.Colour != RGB {
		errs = append(errs, fmt.Errorf("colour = %.60q, must be %s or %s", m.Colour, Opponent, RGB))
	}
	for _, o := range []struct{ name, value string }{{"root", m.Root}, {"fold", m.Fold}} {
		if o.value != "" && o.value != Yes && o.value != No {
			errs = append(errs, fmt.Errorf("%s = %.60q, must be %s or %s", o.name, o.value, Yes, No))
		}
	}
	if m.Ridge != 0 && !(m.Ridge >= MinRidge && m.Ridge <= MaxRidge) {
		errs = append(errs, fmt.Errorf("ridge = %v, must be in [%v, %v]", m.Ridge, MinRidge, MaxRidge))
	}
	return errors.Join(errs...)
}

// For returns a copy of m in which each zero field has its default for the images of d. Store this copy with a model,
// so that the model still means the same if defaults change. It returns an error if m is not valid or cannot be
// computed for d.
func (m Map) For(d *data.Dataset) (Map, error) {
	if d == nil {
		return Map{}, errors.New("no data set")
	}
	if err := m.Validate(); err != nil {
		return Map{}, err
	}
	i := d.Images
	if i == nil {
		return Map{}, fmt.Errorf("features = %q needs images, %s has %s", m, d.Name, d.Shape())
	}
	var errs []error
	usual, ridge := No, 0.1
	switch i.Channels {
	case 1:
		if m.Colour != "" {
			errs = append(errs, fmt.Errorf("colour = %s needs images of three channels, %s has one", m.Colour, d.Name))
		}
	case 3:
		usual, ridge = Yes, 0.4
		if m.Colour == "" {
			m.Colour = Opponent
		}
	default:
		errs = append(errs, fmt.Errorf("features = %q needs images of 1 or 3 channels, %s has %d", m, d.Name, i.Channels))
	}
	if min(i.Height, i.Width) < MinSide || max(i.Height, i.Width) > MaxSide {
		errs = append(errs, fmt.Errorf("features = %q needs images with sides in [%d, %d], %s has %s", m, MinSide, MaxSide,
			d.Name, d.Shape()))
	}
	if m.Root == "" {
		m.Root = usual
	}
	if m.Fold == "" {
		m.Fold = usual
	}
	if m.Ridge == 0 {
		m.Ridge = ridge
	}
	return m, errors.Join(errs...)
}

// Features returns the number of features of each image of d. It returns an error if m is not valid or cannot be
// computed for d, for example because images are too small.
func (m Map) Features(d *data.Dataset) (int, error) {
	m, err := m.For(d)
	if err != nil {
		return 0, err
	}
	i := d.Images
	rows, columns := padded(i.Height)/stride-2, padded(i.Width)/stride-2
	if m.Fold == No {
		return i.Channels * channels * rows * columns, nil
	}
	n := 0
	for c := range channels {
		switch p := mirrored(c); {
		case p > c:
			n += columns
		case p == c:
			n += (columns + 1) / 2
		}
	}
	return i.Channels * n * rows, nil
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

// recipe holds the constants of a transform. It is read-only once it is made.
type recipe struct {
	grid       *grid
	planes     [][]float32 // the factor of each channel in each plane
	root, fold bool
	matrix     []float32 // whitening of standardised channels, [to][from]
	shift      []float32 // what is added after it
	scale      float32
	features   int
}

func (r *recipe) channels() int { return len(r.planes) * channels }

// recipe returns the recipe of a map that For returned.
func (m Map) recipe(d *data.Dataset) (*recipe, error) {
	features, err := m.Features(d)
	if err != nil {
		return nil, err
	}
	r := &recipe{grid: newGrid(d.Images.Height, d.Images.Width), root: m.Root == Yes, fold: m.Fold == Yes,
		features: features}
	planes := [][]float64{{1}}
	if m.Colour != "" {
		planes = [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	}
	if m.Colour == Opponent {
		a, b, c := 1/math.Sqrt(3), 1/math.Sqrt2, 1/math.Sqrt(6)
		planes = [][]float64{{a, a, a}, {b, -b, 0}, {c, c, -2 * c}}
	}
	for _, factors := range planes {
		var plane []float32
		for _, f := range factors {
			plane = append(plane, float32(f/255))
		}
		r.planes = append(r.planes, plane)
	}
	return r, nil
}

// Apply returns the records of d with dense rows of their features instead of images. It calls progress, unless that
// is nil, with the number of records that are done. The result does not depend on the number of processors. The
// features are in the order [colour plane][wavelet channel][row][column]: 81 wavelet channels for each plane, at every
// fourth row and column of the image. If Map.Fold is Yes, the sum of a feature and its mirror image has the place of
// the first of the two, and the second is left out.
func (m Map) Apply(ctx context.Context, d *data.Dataset, progress func(done int)) (*data.Dataset, error) {
	m, err := m.For(d)
	if err != nil {
		return nil, err
	}
	r, err := m.recipe(d)
	if err != nil {
		return nil, err
	}
	if err := r.whiten(statisticsOf(m), m.Ridge); err != nil {
		return nil, err
	}
	value, err := r.all(ctx, d.Images, d.Len(), progress)
	if err != nil {
		return nil, err
	}
	return d.WithDense(r.features, value), nil
}

func (r *recipe) all(ctx context.Context, images *data.Images, n int, progress func(done int)) ([]float32, error) {
	value := make([]float32, r.features*n)
	groups := (n + lanes - 1) / lanes
	var next atomic.Int64
	var told sync.Mutex // guards done and the calls of progress
	done := 0
	var wait sync.WaitGroup
	for range min(groups, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			w := newWorker(r)
			for ctx.Err() == nil {
				first := int(next.Add(1)-1) * lanes
				if first >= n {
					return
				}
				count := min(lanes, n-first)
				w.transform(images, first, count, value[first*r.features:])
				if progress != nil {
					told.Lock()
					done += count
					progress(done)
					told.Unlock()
				}
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return value, nil
}
