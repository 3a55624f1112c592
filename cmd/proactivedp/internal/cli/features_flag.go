package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/data/hog"
	"proactivedp/data/libsvm"
	"proactivedp/data/scatter"
	"proactivedp/internal/decimal"
	"proactivedp/train"
)

// featuresFlag is the value of --features: the number of columns, or features that replace the
// pixels.
type featuresFlag struct {
	columns *int
	mapped  *string
}

// Set reads a value from the command line.
func (f *featuresFlag) Set(text string) error {
	if strings.HasPrefix(text, hog.Prefix) || strings.HasPrefix(text, scatter.Name) {
		m, err := train.ParseFeatures(text)
		if err != nil {
			return err
		}
		*f.columns, *f.mapped = 0, m.String()
		return nil
	}
	n, err := decimal.Count(text)
	if err != nil || n < 1 || n > libsvm.MaxIndex {
		return fmt.Errorf("must be a whole number in [1, %d], hog:CELL:BINS, or scatter[:OPTION=VALUE…]", libsvm.MaxIndex)
	}
	*f.columns, *f.mapped = n, ""
	return nil
}

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

func (*featuresFlag) Type() string { return "features" }

// boundsFlag is the value of --bounds.
type boundsFlag struct{ epsilon *float64 }

const privateBounds = "private:"

// Set reads a value from the command line.
func (f *boundsFlag) Set(text string) error {
	given, ok := strings.CutPrefix(text, privateBounds)
	epsilon, err := strconv.ParseFloat(given, 64)
	if !ok || err != nil {
		return errors.New("must be private:EPS, such as private:0.1; a file of public bounds is --normalise FILE")
	}
	*f.epsilon = epsilon
	return data.CheckBoundsEpsilon(epsilon)
}

func (f *boundsFlag) String() string {
	if f.epsilon == nil || *f.epsilon == 0 {
		return ""
	}
	return privateBounds + strconv.FormatFloat(*f.epsilon, 'g', -1, 64)
}

func (*boundsFlag) Type() string { return "bounds" }
