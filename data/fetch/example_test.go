package fetch_test

import (
	"context"
	"errors"
	"fmt"

	"proactivedp/data/fetch"
	"proactivedp/data/libsvm"
)

// A folder that is named is looked in alone: what is not there is not replaced.
func Example() {
	_, err := libsvm.Load(context.Background(), "phishing", fetch.Locator{Dir: "no such folder"})
	fmt.Println(errors.Is(err, fetch.ErrMissing))
	// Output: true
}
