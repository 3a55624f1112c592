package cli

import (
	"fmt"
	"os"

	"proactivedp/data/table"
	"proactivedp/internal/numpy"
	"proactivedp/internal/unpack"
)

// FileKind is the kind of a user's file.
type FileKind string

// These are the kinds of files. Messages print these words.
const (
	LIBSVMFile FileKind = "LIBSVM"
	CSVFile    FileKind = "CSV"
	NumPyFile  FileKind = "NumPy"
	ImageFile  FileKind = "image" // IDX, or the binary form of CIFAR, or a folder of such files
)

// KindOf returns the kind of the file at path. It looks at the first bytes. For a text it looks at the ending of the
// name, and if that says nothing, at the first line, because published tables have names such as adult.data.
func KindOf(path string) FileKind {
	switch k, start := unpack.Start(path); {
	case k == unpack.IDX, numpy.IsRecords(path), isFolder(path):
		return ImageFile
	case k == unpack.Array, k == unpack.Archive:
		return NumPyFile
	case table.Is(unpack.Name(path)):
		return CSVFile
	case numpy.Is(path):
		return NumPyFile
	case table.IsText(start):
		return CSVFile
	}
	return LIBSVMFile
}

// kindsOf returns the kinds of a file and of its test set, which may be "".
func kindsOf(path, test string) []FileKind {
	kinds := []FileKind{KindOf(path)}
	if test != "" {
		kinds = append(kinds, KindOf(test))
	}
	return kinds
}

func (k FileKind) withArticle() string {
	if k == ImageFile {
		return "an " + string(k)
	}
	return "a " + string(k)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkReadable returns an error for a file of a kind that the program cannot read.
func checkReadable(path string) error {
	if isFolder(path) {
		return numpy.CheckFolder(path)
	}
	k := unpack.KindOf(path)
	if k == unpack.Unknown || KindOf(path) == ImageFile || k == unpack.Array || k == unpack.Archive ||
		k == unpack.Zip && numpy.Is(path) {
		return nil
	}
	return fmt.Errorf("%s is %s, which is not read: %s", path, k, k.Advice())
}
