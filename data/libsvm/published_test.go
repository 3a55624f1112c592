package libsvm

import (
	"strings"
	"testing"

	"proactivedp/data"
)

// A set that was published as a training and a test set is no single file: written as one it
// would come back with another digest, and be split anew.
func TestWriteRefusesPublishedParts(t *testing.T) {
	d, err := data.FromRows("two parts", [][]float32{{1}, {2}, {3}}, []int32{0, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	d.Train = 2
	var text strings.Builder
	if err := Write(&text, d); err == nil || !strings.Contains(err.Error(), "training rows = 2") || text.Len() > 0 {
		t.Errorf("error %v, and %q is written", err, text.String())
	}
}
