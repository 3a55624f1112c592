package mlp_test

import (
	"fmt"

	"proactivedp/models/mlp"
	"proactivedp/nn"
)

func Example() {
	hidden, err := mlp.Parse("mlp:64:32")
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := mlp.New(nn.Shape{Channels: 112, Height: 1, Width: 1}, 2, hidden)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Name(), "on rows of 112 features has", model.NumParams(), "parameters")
	// Output: mlp:64:32 on rows of 112 features has 9378 parameters
}
