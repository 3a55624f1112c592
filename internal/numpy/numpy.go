// Package numpy reads data sets that are stored as arrays: a NumPy archive (.npz) with an array of features and an
// array of labels, an array of features (.npy), a pair of IDX files of images and labels as those of MNIST, a pair of
// files with one array each such as x.npy and y.npy, or the binary files of CIFAR-10 and CIFAR-100. It also writes
// arrays.
//
//	d, err := numpy.ParseFile("features.npz", numpy.Options{Labels: labels})
//
// In an archive, the array of features is named x, X, features, data or images, and the array of labels
// y, labels or target. The names may end in _train or begin with train_. A second pair with names that
// end in _test or begin with test_ is the test set. If two arrays fit, the file is refused. Arrays with
// other names are ignored. [Options] may give other names.
//
// Features are bool, or integers or floating-point numbers of 8 to 64 bits, rounded once to the nearest float32. An
// array N×d is N rows. An array N×H×W is images with one channel, and N×H×W×C or N×C×H×W images with C = 1 or 3. The
// numbers of images become one of 256 levels, see [data.PixelRange]. Labels are N or N×1 integers of any of these
// types, or texts. Arrays may be in C or Fortran order, in either byte order, and stored or deflated. Anything that
// NumPy would unpickle is never read.
package numpy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"proactivedp/data"
	"proactivedp/internal/bounded"
	"proactivedp/internal/memory"
	"proactivedp/internal/unpack"
)

// These are limits for files. They keep a damaged file from using up all memory.
const (
	MaxRows    = 1 << 28
	MaxColumns = 1 << 20 // of rows
	maxSide    = 1 << 12 // of images, in pixels
)

// ErrNoLabels is the error, usually wrapped, for a file that has no labels although they are needed.
var ErrNoLabels = errors.New("no labels")

// Options say how a file is read.
type Options struct {
	// Labels lists the labels and their classes. If the array of labels has the type bool, its labels are
	// 0 and 1.
	Labels *data.Labels
	// Target has public bounds of the labels of rows, which are then real numbers: targets and not classes.
	Target *data.TargetBounds
	// Features is the required number of features; 0 means any number.
	Features int
	// Test is the path of a second file, whose records are the test set. "" means no second file;
	// the set then counts as published as one, unless the first file has both parts.
	Test string
	// Saturate replaces a number that is too large for a float32 by the largest float32. Use it for rows
	// whose values are clamped to bounds afterwards.
	Saturate bool
	// Unlabelled means that labels are not read and need not exist. All records then have class 0 or a scaled
	// target of 0, which has no meaning.
	Unlabelled bool
	// Arrays names the arrays of an archive that have other names.
	Arrays Arrays
	// Pixels says which numbers are the darkest and the brightest pixel of images. The zero value means 0
	// and 255 for integers, and otherwise 0 and 1.
	Pixels data.PixelRange
	Memory int64 // bytes that the process may use; 0 means all available memory
}

// Is reports whether a path names an array or an archive, by its suffix: .npy or .npz.
func Is(path string) bool {
	end := strings.ToLower(filepath.Ext(path))
	return end == archiveEnd || end == arrayEnd
}

const (
	archiveEnd = ".npz"
	arrayEnd   = ".npy"
)

// ParseFile reads the file at path. The error names the file and the array, and reports the first invalid number of
// each column. If labels are needed but missing, it wraps ErrNoLabels.
func ParseFile(path string, o Options) (_ *data.Dataset, err error) {
	p := &parser{Options: o, set: &data.Dataset{Name: filepath.Base(path), Classes: 2}}
	if o.Target != nil || o.Labels != nil || !o.Unlabelled {
		if err := p.set.Expect(o.Labels, o.Target); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.open(path); err != nil {
		return nil, err
	}
	rows, err := p.agree()
	if err != nil {
		return nil, err
	}
	if err := p.room(rows); err != nil {
		return nil, err
	}
	if err := p.read(); err != nil {
		return nil, err
	}
	return p.set, nil
}

// Floats reports whether the training records in the file at path are floating-point numbers. It reads only the
// headers.
func Floats(path string, a Arrays) (floats bool, err error) {
	p := &parser{Options: Options{Arrays: a, Unlabelled: true}, set: &data.Dataset{Name: filepath.Base(path)}}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.openFile(path, trainFile); err != nil {
		return false, err
	}
	return p.parts[0].x.floats(), nil
}

type parser struct {
	Options
	set   *data.Dataset
	files []io.Closer
	parts []part // the training set, and the test set if there is one
	form  form   // form of the records of all parts
}

type part struct {
	x, y *array // y is nil if labels are not read
	form form
}

// open opens the files and finds their arrays.
func (p *parser) open(path string) error {
	if err := p.openFile(path, trainFile); err != nil {
		return err
	}
	if p.Test == "" {
		return nil
	}
	if len(p.parts) > 1 {
		return fmt.Errorf("%s has a test set, %s: a second file, %s, must not be given too", path,
			p.parts[1].x.name, p.Test)
	}
	return p.openFile(p.Test, testFile)
}

// regular opens a file, which close closes, and returns its size.
func (p *parser) regular(path string) (*os.File, int64, error) {
	f, err := bounded.Regular(path)
	if err != nil {
		return nil, 0, err
	}
	p.files = append(p.files, f)
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// content opens a file that may be compressed.
func (p *parser) content(path string) (io.Reader, error) {
	f, _, err := p.regular(path)
	if err != nil {
		return nil, err
	}
	in, err := unpack.Reader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return in, nil
}

// close closes all files. They were only read, so no data is lost if that fails.
func (p *parser) close() error {
	var errs []error
	for _, f := range p.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// agree checks that the arrays of all parts have the same form and matching lengths, and returns
// the number of records.
func (p *parser) agree() (rows int, err error) {
	for i := range p.parts {
		t := &p.parts[i]
		if t.form, err = t.x.form(); err != nil {
			return 0, err
		}
		if i == 0 {
			p.form = t.form
		} else if !t.form.like(p.form) {
			return 0, t.x.fault("%s, must be %s like those of %s", t.form, p.form, p.parts[0].x.name)
		} else if first := p.parts[0].x; p.Pixels != (data.PixelRange{}) && t.x.floats() != first.floats() {
			return 0, t.x.fault("whole and floating-point numbers, must be of one kind in %s and here, because one range of "+
				"pixels is given", first.name)
		}
		if t.y != nil {
			if err := t.y.labels(t.x); err != nil {
				return 0, err
			}
		}
		if rows += t.x.shape[0]; t.x.shape[0] > MaxRows || rows > MaxRows {
			return 0, t.x.fault("%d records, must be at most %d", rows, MaxRows)
		}
	}
	x := p.parts[0].x
	if p.Target != nil && p.form.images {
		return 0, x.fault("images with targets, must be rows: x.reshape(len(x), -1) makes rows of arrays that are no images")
	}
	if p.Features != 0 && p.form.features != p.Features {
		return 0, x.fault("%d features, must be %d as given", p.form.features, p.Features)
	}
	return rows, nil
}

// room allocates memory for the records of the data set, or returns an error if they exceed the
// memory limit.
func (p *parser) room(rows int) error {
	each := int64(p.form.features)
	if !p.form.images {
		each *= 4
	}
	label := int64(4)
	if p.Target != nil {
		label += 4
	}
	if err := memory.Given(p.Memory).Check(int64(rows) * (each + label)); err != nil {
		return p.parts[0].x.fault("%w", err)
	}
	if len(p.parts) > 1 {
		p.set.Train = p.parts[0].x.shape[0]
	}
	p.set.Label = make([]int32, rows)
	if p.Target != nil {
		p.set.Targets.Value = make([]float32, rows)
	}
	if p.form.images {
		p.set.Images, p.set.Features = p.form.of(rows), p.form.features
	} else {
		p.set = p.set.WithDense(p.form.features, make([]float32, rows*p.form.features))
	}
	return nil
}

func (p *parser) read() error {
	at := 0
	for _, t := range p.parts {
		first, n := at*p.form.features, t.x.shape[0]*p.form.features
		var err error
		if p.form.images {
			err = t.x.pixels(t.form, p.Pixels, p.set.Images.Pixels[first:first+n])
		} else {
			err = t.x.numbers(t.form, p.Saturate, p.set.Value[first:first+n])
		}
		if err != nil {
			return err
		}
		if t.y != nil && p.Target != nil {
			if err := t.y.targets(*p.Target, p.set.Targets.Value[at:at+t.x.shape[0]]); err != nil {
				return err
			}
		} else if t.y != nil {
			if err := t.y.classes(p.Labels, p.set.Label[at:at+t.x.shape[0]]); err != nil {
				return err
			}
		}
		at += t.x.shape[0]
	}
	return nil
}
