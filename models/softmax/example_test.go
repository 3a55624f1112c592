package softmax_test

import (
	"fmt"

	"proactivedp/models/softmax"
)

func Example() {
	model, err := softmax.New(392, 10) // the features hog:4:8 of MNIST
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Name(), "has", model.NumParams(), "parameters")
	// Output: softmax has 3930 parameters
}
