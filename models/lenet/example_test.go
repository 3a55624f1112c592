package lenet_test

import (
	"fmt"

	"proactivedp/models/lenet"
)

func Example() {
	model := lenet.New()
	fmt.Println(model.Name(), "has", model.NumParams(), "parameters")
	// Output: lenet has 61706 parameters
}
