package mnist_test

import (
	"context"
	"fmt"

	"proactivedp/data/fetch"
	"proactivedp/data/mnist"
)

// The images are read from the user's cache, or downloaded into it.
func Example() {
	d, err := mnist.Load(context.Background(), fetch.Locator{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Len(), "images of", d.Shape())
}
