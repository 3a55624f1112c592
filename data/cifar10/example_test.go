package cifar10_test

import (
	"context"
	"fmt"

	"proactivedp/data/cifar10"
	"proactivedp/data/fetch"
)

// The images are read from the user's cache, or downloaded into it.
func Example() {
	d, err := cifar10.Load(context.Background(), fetch.Locator{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Len(), "images of", d.Shape())
}
