package experiments

import (
	"os"
	"testing"

	"proactivedp/data"
	"proactivedp/data/fetch"
	"proactivedp/data/libsvm"
)

// realData loads a set from the folder that PROACTIVEDP_DATA names.
func realData(t *testing.T, name string) *data.Dataset {
	t.Helper()
	dir := os.Getenv("PROACTIVEDP_DATA")
	if dir == "" {
		t.Skipf("PROACTIVEDP_DATA is not set: the real %s is not there to test on", name)
	}
	d, err := libsvm.Load(t.Context(), name, fetch.Locator{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
