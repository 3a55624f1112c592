package numpy

import (
	"fmt"
	"strings"
)

// Arrays has the names of the arrays in an archive: features and labels of the training set (X and Y), and
// of the test set (XTest and YTest). An empty name means the usual name. Exception: if X is given and
// XTest is empty, there is no test set.
type Arrays struct{ X, Y, XTest, YTest string }

// ParseArrays reads the names of arrays as a user writes them, such as x=images,y=digits,x_test=…,y_test=….
func ParseArrays(text string) (Arrays, error) {
	var a Arrays
	places := map[string]*string{"x": &a.X, "y": &a.Y, "x_test": &a.XTest, "y_test": &a.YTest}
	for part := range strings.SplitSeq(text, ",") {
		role, name, _ := strings.Cut(part, "=")
		place, ok := places[strings.TrimSpace(role)]
		if name = strings.TrimSpace(name); !ok || name == "" || *place != "" {
			return a, fmt.Errorf("arrays %.200q, must be x=NAME, y=NAME, x_test=NAME and y_test=NAME, each at most once, "+
				"with commas between them", text)
		}
		*place = name
	}
	return a, nil
}

// Training returns only the names of the arrays of the training set.
func (a Arrays) Training() Arrays { return Arrays{X: a.X, Y: a.Y} }
