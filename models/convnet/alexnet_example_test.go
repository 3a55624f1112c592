package convnet_test

import (
	"fmt"

	"proactivedp/models/convnet"
)

func ExampleAlexNet() {
	model := convnet.AlexNet()
	fmt.Println(model.Name(), "has", model.NumParams(), "parameters")
	// Output: alexnet has 23272266 parameters
}
