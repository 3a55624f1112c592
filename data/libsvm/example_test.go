package libsvm_test

import (
	"fmt"
	"strings"

	"proactivedp/data/libsvm"
)

func Example() {
	d, err := libsvm.Parse("own", strings.NewReader("+1 1:0.5 3:1\n-1 2:1 # a comment\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Len(), "rows of", d.Features, "features, labels", d.Label)
	// Output: 2 rows of 3 features, labels [1 0]
}
