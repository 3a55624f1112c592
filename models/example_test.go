package models_test

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/models/logreg"
	"proactivedp/nn"
	"proactivedp/rng"
)

// Take one step of plain gradient descent: of every example's gradient at most C
// counts.
func Example() {
	d, err := data.FromRows("own", [][]float32{{3, 4}, {0, 0.1}}, []int32{1, 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	var model models.Model
	if model, err = logreg.NewPlain(d.Features); err != nil {
		fmt.Println(err)
		return
	}
	params, sum := make([]float32, model.NumParams()), make([]float32, model.NumParams())
	model.Init(params, rng.New(1).Stream(rng.Init, 0, 0))
	batch, scratch := data.Batch{Data: d, Rows: []int32{0, 1}}, model.NewScratch()
	before := model.Loss(params, batch, scratch)
	const clip, step = 1, 0.5
	if err := model.ClippedGradSum(sum, params, batch, clip, scratch); err != nil {
		fmt.Println(err)
		return
	}
	for i := range params {
		params[i] -= step * sum[i]
	}
	fmt.Println(model.Name(), "of", model.NumParams(), "parameters, nearer:",
		model.Loss(params, batch, scratch) < before)
	// Output: logreg-plain of 3 parameters, nearer: true
}

// A network of layers of one's own is a model by its name.
func ExampleNewNetwork() {
	net, err := nn.New(nn.Shape{Channels: 1, Height: 8, Width: 8}, nn.Dense{Out: 16}, nn.ReLU{}, nn.Dense{Out: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(models.NewNetwork("mlp", net).NumParams(), "parameters")
	// Output: 1210 parameters
}
