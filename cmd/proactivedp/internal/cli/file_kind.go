package cli

import (
	"fmt"
	"os"

	"proactivedp/data/table"
	"proactivedp/internal/numpy"
	"proactivedp/internal/unpack"
)

// FileKind is what a file of the user's own is.
type FileKind string

// The kinds, as texts name them.
const (
	LIBSVMFile FileKind = "LIBSVM"
	CSVFile    FileKind = "CSV"
	NumPyFile  FileKind = "NumPy"
	ImageFile  FileKind = "image" // IDX, or the binary form of CIFAR, or a folder of such files
)

// KindOf returns what a file is: as its first bytes say or, if it is text, as the end of its name says.
func KindOf(path string) FileKind {
	switch k := unpack.KindOf(path); {
	case k == unpack.IDX, numpy.IsRecords(path), isFolder(path):
		return ImageFile
	case k == unpack.Array, k == unpack.Archive:
		return NumPyFile
	case table.Is(unpack.Name(path)):
		return CSVFile
	case numpy.Is(path):
		return NumPyFile
	}
	return LIBSVMFile
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkReadable refuses a file of a kind that no reader reads.
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
