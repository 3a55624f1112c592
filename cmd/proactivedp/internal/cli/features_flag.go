package cli

import (
	"fmt"
	"strings"

	"proactivedp/data/hog"
	"proactivedp/data/libsvm"
	"proactivedp/internal/decimal"
)

// featuresFlag is the value of --features: how many columns the data have, or what
// takes the place of pixels.
type featuresFlag struct {
	columns *int
	mapped  *string
}

// Set reads what was given.
func (f *featuresFlag) Set(text string) error {
	if strings.HasPrefix(text, hog.Prefix) {
		m, err := hog.Parse(text)
		if err != nil {
			return err
		}
		*f.columns, *f.mapped = 0, m.String()
		return nil
	}
	n, err := decimal.Count(text)
	if err != nil || n < 1 || n > libsvm.MaxIndex {
		return fmt.Errorf("must be a whole number in [1, %d], or hog:CELL:BINS", libsvm.MaxIndex)
	}
	*f.columns, *f.mapped = n, ""
	return nil
}

// String is the value as it may be given.
func (f *featuresFlag) String() string {
	switch {
	case f.columns == nil:
		return ""
	case *f.mapped != "":
		return *f.mapped
	case *f.columns != 0:
		return fmt.Sprint(*f.columns)
	}
	return ""
}

// Type is the word for the value in the help.
func (*featuresFlag) Type() string { return "features" }
