package convnet_test

import (
	"fmt"

	"proactivedp/models/convnet"
	"proactivedp/nn"
)

func ExampleNew() {
	model, err := convnet.New(nn.Shape{Channels: 3, Height: 32, Width: 32}, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Name(), "has", model.NumParams(), "parameters")
	// Output: convnet has 64554 parameters
}
