package numpy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/internal/unpack"
)

// The IDX format is that of the MNIST database (Y. LeCun, C. Cortes and C. Burges, 1998): two bytes 0,
// the type of elements, the number of dimensions, the size of each as 32 bits, big-endian, and the
// elements in C order.

var idxTypes = map[byte]dtype{
	0x08: {text: "uint8", kind: unsigned, size: 1}, 0x09: {text: "int8", kind: signed, size: 1},
	0x0B: {text: "int16", kind: signed, size: 2}, 0x0C: {text: "int32", kind: signed, size: 4},
	0x0D: {text: "float32", kind: floating, size: 4}, 0x0E: {text: "float64", kind: floating, size: 8},
}

// readIDXHeader reads the header of an IDX file and returns its size in bytes.
func readIDXHeader(in io.Reader) (h header, size int64, err error) {
	var start [4]byte
	if err := fill(in, start[:]); err != nil {
		return h, 0, err
	}
	kind, ok := idxTypes[start[2]]
	if !ok || start[0] != 0 || start[1] != 0 || start[3] < 1 || start[3] > 4 {
		return h, 0, errors.New("this is not an IDX file of 1 to 4 dimensions")
	}
	h.kind = kind
	h.kind.order = binary.BigEndian
	sides := make([]byte, 4*int(start[3]))
	if err := fill(in, sides); err != nil {
		return h, 0, err
	}
	for ; len(sides) > 0; sides = sides[4:] {
		n := binary.BigEndian.Uint32(sides)
		if n > math.MaxInt32 {
			return h, 0, fmt.Errorf("a dimension of %d, must be at most %d", n, math.MaxInt32)
		}
		h.shape = append(h.shape, int(n))
	}
	return h, int64(len(start) + 4*len(h.shape)), nil
}

func (p *parser) idxArray(path, name string) (*array, error) {
	in, err := p.content(path)
	if err != nil {
		return nil, err
	}
	return newArrayOf(path, name, in, unknownSize, readIDXHeader)
}

// addIDX adds the part of a file of images, with the labels from the file in the same folder.
func (p *parser) addIDX(path string, r role) error {
	x, err := p.idxArray(path, "images")
	if err != nil {
		return err
	}
	if len(x.shape) < 3 {
		return x.fault("shape %s, must be (N, H, W): give the file of the images; their labels are found in a file next to it",
			shapeText(x.shape))
	}
	t := part{x: x}
	if !p.Unlabelled {
		labels, err := p.labelsOf(path, r)
		if err != nil {
			return err
		}
		if t.y, err = p.idxArray(labels, "labels"); err != nil {
			return err
		}
	}
	p.parts = append(p.parts, t)
	return nil
}

// labelsOf returns the file of labels for a file of images. Its name has labels instead of images and
// idx1 instead of idx3. One that is compressed in the same way comes first.
func (p *parser) labelsOf(path string, r role) (string, error) {
	folder, name := filepath.Split(path)
	if given := p.givenLabels(r); given != "" {
		return filepath.Join(folder, given), nil
	}
	plain, ending := split(name)
	want := strings.NewReplacer("images", "labels", "idx3", "idx1").Replace(plain)
	names, err := namesIn(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	found := ""
	for _, other := range names {
		if p, e := split(other); p == want && p != plain && (found == "" || e == ending) {
			found = other
		}
	}
	if found == "" {
		return "", fmt.Errorf("%s: %w next to the images: there must be a file such as %s in this folder (--arrays y=FILE "+
			"or y_test=FILE names another)", path, ErrNoLabels, want)
	}
	return filepath.Join(folder, found), nil
}

// split returns the name of a file in one form, in which train-images.idx3-ubyte and
// train-images-idx3-ubyte are equal, and the ending of a compressed file.
func split(name string) (plain, ending string) {
	name = strings.ToLower(name)
	for _, e := range unpack.Endings() {
		if cut, ok := strings.CutSuffix(name, e); ok {
			name, ending = cut, e
		}
	}
	return strings.ReplaceAll(name, ".", "-"), ending
}

// maxListed is the largest number of names that are read from a folder.
const maxListed = 10_000

func namesIn(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxListed)
	if err != nil && err != io.EOF {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// openFolder adds the parts of a folder with the files of a published data set: an IDX pair for training,
// and perhaps one for the test, or the batches of CIFAR. They may be in a folder raw in it, as
// torchvision has them.
func (p *parser) openFolder(folder string, r role) error {
	in, train, test, err := find(folder)
	if err != nil {
		return err
	}
	if len(train) == 0 && r == testFile {
		train, test = test, nil
	}
	if len(train) == 0 {
		return fmt.Errorf("%s: no training set, only %s", in, strings.Join(test, ", "))
	}
	if err := p.addSet(in, train, r); err != nil || len(test) == 0 {
		return err
	}
	return p.addSet(in, test, testFile)
}

// CheckFolder returns an error unless the folder has the files of a published data set that this package can read.
func CheckFolder(folder string) error {
	_, _, _, err := find(folder)
	return err
}

// find returns the files of a published data set, and the folder that has them.
func find(folder string) (in string, train, test []string, err error) {
	for _, in := range []string{folder, filepath.Join(folder, "raw")} {
		names, err := namesIn(in)
		if err != nil && in == folder {
			return "", nil, nil, err
		}
		for _, known := range []func(plain string) bool{isPublished, isPictures} {
			if train, test := sets(names, known); len(train)+len(test) > 0 {
				return in, train, test, nil
			}
		}
	}
	if names, _ := namesIn(folder); slices.Contains(names, "data_batch_1") || slices.Contains(names, "train") && slices.Contains(names, "meta") {
		return "", nil, nil, fmt.Errorf("%s: CIFAR for Python, which are pickles and never read: download the binary version, such as "+
			"cifar-10-binary.tar.gz", folder)
	}
	return "", nil, nil, fmt.Errorf("%s: this folder has no IDX files of images, such as train-images-idx3-ubyte.gz, no batches of "+
		"CIFAR, such as data_batch_1.bin, and no arrays of images such as train-images.npy with train-labels.npy; give the file of the "+
		"features", folder)
}

func (p *parser) addSet(folder string, names []string, r role) error {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(folder, name)
	}
	switch {
	case IsRecords(paths[0]):
		return p.addRecords(folder, paths)
	case len(names) > 1:
		return fmt.Errorf("%s: several files of images, %s: give one of them, and another by --test", folder,
			strings.Join(names, ", "))
	}
	return p.openFile(paths[0], r)
}

// isPublished reports whether a name in the form of split is that of an IDX file of images or a batch of CIFAR.
func isPublished(plain string) bool {
	return strings.Contains(plain, "images") && strings.Contains(plain, "idx") || isBatch(plain)
}

func isBatch(plain string) bool { return strings.HasSuffix(plain, "-bin") }

// sets returns which of the known files have the training set and which the test set. If a file is there
// twice, as published and unpacked, it takes the unpacked one.
func sets(names []string, known func(plain string) bool) (train, test []string) {
	have := map[string]bool{}
	for _, name := range names { // sorted, so that an unpacked file comes first
		plain, _ := split(name)
		if have[plain] || !known(plain) {
			continue
		}
		switch {
		case strings.Contains(plain, "train"), isBatch(plain) && strings.HasPrefix(plain, "data_batch"):
			train = append(train, name)
		case strings.Contains(plain, "t10k"), strings.Contains(plain, "test"):
			test = append(test, name)
		default:
			continue
		}
		have[plain] = true
	}
	return train, test
}
