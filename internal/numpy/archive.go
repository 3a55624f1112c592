package numpy

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/internal/unpack"
)

// The names of arrays, and the endings that they may have.
var (
	featureNames = []string{"x", "X", "features", "data", "images"}
	labelNames   = []string{"y", "labels", "target"}
)

const (
	trainEnd = "_train"
	testEnd  = "_test"
)

// role is the purpose of a file: it has the training set or the test set.
type role int

const (
	trainFile role = iota // it may also have a test set
	testFile
)

func (p *parser) openFile(path string, r role) error {
	switch info, err := os.Stat(path); {
	case err != nil:
		return err
	case info.IsDir():
		return p.openFolder(path, r)
	case IsRecords(path):
		return p.addRecords(path, []string{path})
	case unpack.KindOf(path) == unpack.IDX:
		return p.addIDX(path, r)
	}
	f, size, err := p.regular(path)
	if err != nil {
		return err
	}
	start := make([]byte, 512)
	n, err := f.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return err
	}
	named := strings.ToLower(filepath.Ext(path)) == arrayEnd
	switch k := unpack.Recognise(start[:n]); {
	case k == unpack.Array, k == unpack.Unknown && named:
		return p.addArray(path, f, size, r)
	case k != unpack.Archive && k != unpack.Zip && k != unpack.Unknown:
		return fmt.Errorf("%s: this is %s, not of NumPy: %s", path, k, k.Advice())
	}
	a, err := openArchive(path, f, size)
	if err != nil {
		return err
	}
	return p.addArchive(a, r)
}

// addArray adds the part of a file that is a single array, with the labels from another file.
func (p *parser) addArray(path string, f *os.File, size int64, r role) error {
	var t part
	if !p.Unlabelled {
		var err error
		if t.y, err = p.labelsOfArray(path, r); err != nil {
			return err
		}
		if t.y == nil {
			return fmt.Errorf("%s: %w in a .npy file, which has only one array: np.savez(\"FILE.npz\", x=features, "+
				"y=labels) saves both; %s", path, ErrNoLabels, inFile)
		}
	}
	var err error
	if t.x, err = newArray(path, "the array", f, size); err == nil {
		p.parts = append(p.parts, t)
	}
	return err
}

// inFile says how labels in another file are found.
const inFile = "--arrays y=FILE names a file of labels in the same folder (y_test=FILE for a test set); x.npy finds y.npy " +
	"on its own, and images.npz labels.npz"

// addArchive adds the training set of an archive, and its test set if there is one, or only the
// test set if r is testFile.
func (p *parser) addArchive(a *archive, r role) error {
	train, test, err := p.pairs(a)
	if err != nil {
		return err
	}
	if a.isSparse() {
		return a.fault("a sparse matrix of SciPy, must be an array (save x.toarray()) or a LIBSVM file, which is sparse")
	}
	if r == testFile {
		if train.x != nil && test.x != nil {
			return a.fault("arrays %s and %s, must be only one of them: it is a file of "+
				"test records", arrayName(train.x), arrayName(test.x))
		}
		if test.x != nil {
			train = test
		}
		test = pair{}
	}
	if train == (pair{}) && test == (pair{}) && p.Arrays.X == "" && len(a.files) == 1 {
		train.x = a.files[0] // arr_0 if np.savez was given no name
	}
	switch {
	case train.x == nil:
		return a.fault("no array of features: its name must be %s, optionally followed by %s, or be given "+
			"(--arrays x=NAME,y=NAME); there %s", orList(featureNames), trainEnd, a.list())
	case test.x == nil && test.y != nil:
		return a.fault("labels %s without features, whose name must be %s", arrayName(test.y),
			orList(withEnd(featureNames, testEnd)))
	}
	err = p.addPart(a, train, r)
	if err == nil && test.x != nil {
		err = p.addPart(a, test, testFile)
	}
	return err
}

// pair holds the arrays of features and labels of one part in an archive.
type pair struct {
	x, y  *zip.File
	given bool // Options names the features
}

func (p *parser) pairs(a *archive) (train, test pair, err error) {
	n := p.Arrays
	if n == (Arrays{}) {
		train, err = a.pair(!p.Unlabelled, "", trainEnd)
		test, errTest := a.pair(!p.Unlabelled, testEnd)
		return train, test, errors.Join(err, errTest)
	}
	var errs []error
	named := func(x, y string, ends ...string) pair {
		of, err := a.pair(!p.Unlabelled, ends...)
		errs = append(errs, err)
		if of.given = x != ""; of.given {
			if of.x = a.named(x); of.x == nil {
				errs = append(errs, a.fault("no array %.40q; there %s", x, a.list()))
			}
		}
		switch {
		case y == "" || p.Unlabelled:
		case isFile(y): // see addPart
			of.y = nil
		default:
			if of.y = a.named(y); of.y == nil {
				errs = append(errs, a.fault("%w: no array %.40q; there %s", ErrNoLabels, y, a.list()))
			}
		}
		return of
	}
	train = named(n.X, n.Y, "", trainEnd)
	if n.XTest != "" || n.X == "" {
		test = named(n.XTest, n.YTest, testEnd)
	}
	return train, test, errors.Join(errs...)
}

// pair returns the array of features and, if labelled, that of labels, whose names have one of the
// given endings. An array is nil if it does not exist.
func (a *archive) pair(labelled bool, ends ...string) (pair, error) {
	x, err := a.find(featureNames, ends...)
	if err != nil || !labelled {
		return pair{x: x}, err
	}
	y, err := a.find(labelNames, ends...)
	return pair{x: x, y: y}, err
}

// addPart adds the arrays in of, a training or a test set, to p.parts. The labels may be in another file.
func (p *parser) addPart(a *archive, of pair, r role) error {
	x, err := a.array(of.x)
	if err != nil {
		return err
	}
	t, end := part{x: x}, nameEnd(x.name)
	switch {
	case p.Unlabelled:
	case of.y != nil:
		if t.y, err = a.array(of.y); err == nil && nameEnd(t.y.name) != end && !of.given {
			err = a.fault("features %s and labels %s, must have names with the same ending", x.name, t.y.name)
		}
	default:
		if isFile(p.givenLabels(r)) || len(a.files) == 1 {
			t.y, err = p.labelsOfArray(a.path, r)
		}
		if err == nil && t.y == nil {
			err = a.fault("%w for %s: they must be named %s, or be given (--arrays x=NAME,y=NAME), or %s; there %s", ErrNoLabels,
				x.name, orList(withEnd(labelNames, end)), inFile, a.list())
		}
	}
	p.parts = append(p.parts, t)
	return err
}

type archive struct {
	path  string
	size  int64
	files []*zip.File
}

// openArchive reads the list of an archive's arrays.
func openArchive(path string, f *os.File, size int64) (*archive, error) {
	z, err := unpack.OpenZip(f, size)
	if errors.Is(err, zip.ErrFormat) {
		return nil, fmt.Errorf("%s: this is not an archive of NumPy, or it is damaged", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &archive{path, size, z.File}, nil
}

func (a *archive) fault(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{a.path}, args...)...)
}

// named returns the array with this name, or nil.
func (a *archive) named(name string) *zip.File {
	if at := slices.IndexFunc(a.files, func(f *zip.File) bool { return arrayName(f) == name }); at >= 0 {
		return a.files[at]
	}
	return nil
}

// find returns the only array that has one of the names with one of the endings, or nil if there is
// none.
func (a *archive) find(names []string, ends ...string) (*zip.File, error) {
	var found []*zip.File
	for _, f := range a.files {
		if slices.ContainsFunc(ends, func(end string) bool {
			name, is := strings.CutSuffix(arrayName(f), end)
			if before, ok := strings.CutPrefix(arrayName(f), strings.TrimPrefix(end, "_")+"_"); ok && end != "" {
				name, is = before, true
			}
			return is && slices.Contains(names, name) && f.Name != arrayName(f)
		}) {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, a.fault("arrays %s and %s both fit, must be only one of them", arrayName(found[0]), arrayName(found[1]))
}

// isSparse reports whether the archive is a matrix from scipy.sparse.save_npz.
func (a *archive) isSparse() bool {
	has := func(name string) bool { return a.named(name) != nil }
	return has("format") && has("shape") && has("data") && (has("indptr") || has("row") || has("offsets"))
}

// mostExpansion is the largest number of bytes that one byte of deflated content can stand for,
// according to zlib, https://zlib.net/zlib_tech.html.
const mostExpansion = 1032

// array opens an array of the archive and reads its header.
func (a *archive) array(f *zip.File) (*array, error) {
	name := arrayName(f)
	size, packed := f.UncompressedSize64, f.CompressedSize64
	if f.Flags&unpack.Encrypted != 0 {
		return nil, a.fault("%s is encrypted, must be unencrypted", name)
	}
	if packed > uint64(a.size) || size/mostExpansion > packed+1 {
		return nil, a.fault("%s: %d bytes out of %d in a file of %d: the archive is damaged", name, size, packed,
			a.size)
	}
	content, err := f.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		return nil, a.fault("%s is compressed by method %d of zip, must be stored or deflated, as np.savez and "+
			"np.savez_compressed do", name, f.Method)
	}
	if err != nil {
		return nil, a.fault("%s: %w", name, err)
	}
	return newArray(a.path, name, content, int64(size))
}

// mostListed is the largest number of array names in an error.
const mostListed = 20

// list returns the names of the archive's arrays, for an error.
func (a *archive) list() string {
	var names []string
	for _, f := range a.files[:min(len(a.files), mostListed)] {
		names = append(names, fmt.Sprintf("%.40q", arrayName(f)))
	}
	switch more := len(a.files) - mostListed; {
	case len(names) == 0:
		return "are none"
	case more > 0:
		return fmt.Sprintf("are %s and %d more", strings.Join(names, ", "), more)
	}
	return "are " + strings.Join(names, ", ")
}

func arrayName(f *zip.File) string { return strings.TrimSuffix(f.Name, arrayEnd) }

func nameEnd(name string) string {
	for _, end := range []string{trainEnd, testEnd} {
		if strings.HasSuffix(name, end) || strings.HasPrefix(name, end[1:]+"_") {
			return end
		}
	}
	return ""
}

func withEnd(names []string, end string) []string {
	names = slices.Clone(names)
	for i := range names {
		names[i] += end
	}
	return names
}

func orList(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
