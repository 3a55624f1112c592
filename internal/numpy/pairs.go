package numpy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/internal/unpack"
)

// Features and labels may be in two files, each with one array, as published for KMNIST
// (kmnist-train-imgs.npz and kmnist-train-labels.npz) and as np.save writes them (x.npy and y.npy).

// The words in the name of a file with features, and those that replace them in the name of its labels.
var (
	featureWords = []string{"x", "features", "feature", "data", "images", "image", "imgs", "img"}
	labelWords   = []string{"y", "labels", "label", "target", "targets"}
)

// isFile reports whether a name that was given for labels is that of a file, and not of an array in an
// archive.
func isFile(name string) bool { return Is(name) }

// labelNamesFor returns the names, in the form of split, that the file of labels for a file of features may
// have. One word of the name is replaced, and the file may be an array or an archive.
func labelNamesFor(plain string) (wants []string) {
	plain = strings.TrimSuffix(strings.TrimSuffix(plain, "-npy"), "-npz")
	start := 0
	for i := 0; i <= len(plain); i++ {
		if i < len(plain) && !strings.ContainsRune("-_ ", rune(plain[i])) {
			continue
		}
		if slices.Contains(featureWords, plain[start:i]) {
			for _, word := range labelWords {
				for _, end := range []string{"-npy", "-npz"} {
					wants = append(wants, plain[:start]+word+plain[i:]+end)
				}
			}
		}
		start = i + 1
	}
	return wants
}

// isPictures reports whether a name in the form of split is that of a file with an array of images.
func isPictures(plain string) bool {
	array := strings.HasSuffix(plain, "-npy") || strings.HasSuffix(plain, "-npz")
	return array && (strings.Contains(plain, "imgs") || strings.Contains(plain, "images"))
}

// labelFile returns the file of labels for a file with one array of features: the given one in the same folder,
// or the one that its name implies. It is "" if there is none.
func (p *parser) labelFile(path string, r role) (string, error) {
	folder, name := filepath.Split(path)
	if given := p.givenLabels(r); given != "" {
		return filepath.Join(folder, given), nil
	}
	plain, _ := split(name)
	wants := labelNamesFor(plain)
	names, err := namesIn(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	var found []string
	for _, other := range names {
		if p, ending := split(other); ending == "" && slices.Contains(wants, p) {
			found = append(found, other)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return filepath.Join(folder, found[0]), nil
	}
	return "", fmt.Errorf("%s: %s and %s could both have its labels: --arrays y=FILE names one of them (y_test=FILE for a "+
		"test set)", path, found[0], found[1])
}

// givenLabels returns the name of the labels that Options give for a file, or "".
func (p *parser) givenLabels(r role) string {
	return [...]string{trainFile: p.Arrays.Y, testFile: p.Arrays.YTest}[r]
}

// labelsOfArray opens the labels for a file with one array of features. It returns nil if there is no file with them.
func (p *parser) labelsOfArray(features string, r role) (*array, error) {
	path, err := p.labelFile(features, r)
	if err != nil || path == "" {
		return nil, err
	}
	f, size, err := p.regular(path)
	if err != nil {
		return nil, err
	}
	switch unpack.KindOf(path) {
	case unpack.Array:
		return newArray(path, "the array", f, size)
	case unpack.Archive:
	default:
		return nil, fmt.Errorf("%s: this is not a NumPy file, and must have the labels", path)
	}
	a, err := openArchive(path, f, size)
	if err != nil {
		return nil, err
	}
	if len(a.files) != 1 {
		return nil, a.fault("a file of labels must have one array; there %s", a.list())
	}
	return a.array(a.files[0])
}
