package alexnet_test

import (
	"fmt"

	"proactivedp/models/alexnet"
)

func Example() {
	model := alexnet.New()
	fmt.Println(model.Name(), "has", model.NumParams(), "parameters")
	// Output: alexnet has 23272266 parameters
}
