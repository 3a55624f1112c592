package cli

import (
	"proactivedp/data/table"
	"proactivedp/internal/numpy"
)

// FileKind is what a file of the user's own is.
type FileKind string

// The kinds, as texts name them.
const (
	LIBSVMFile FileKind = "LIBSVM"
	CSVFile    FileKind = "CSV"
	NumPyFile  FileKind = "NumPy"
)

// KindOf returns what a file is, as the end of its name says.
func KindOf(path string) FileKind {
	switch {
	case table.Is(path):
		return CSVFile
	case numpy.Is(path):
		return NumPyFile
	}
	return LIBSVMFile
}
