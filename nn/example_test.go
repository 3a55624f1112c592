package nn_test

import (
	"fmt"
	"log"

	"proactivedp/data"
	"proactivedp/nn"
	"proactivedp/rng"
)

// A small network with a hidden layer and dropout behind it, and the sum of its
// clipped gradients over a batch.
func Example() {
	net, err := nn.New(nn.Shape{Channels: 1, Height: 4, Width: 4},
		nn.Conv{Out: 3, Kernel: 3, Stride: 1, Pad: 1}, nn.ReLU{}, nn.MaxPool{},
		nn.Dense{Out: 8}, nn.Tanh{}, nn.Dropout{Rate: 0.25}, nn.Dense{Out: 2})
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range net.Layers() {
		fmt.Printf("%-12v puts out %v, %d parameters\n", l.Layer, l.Out, l.Params)
	}

	// Two images: a dark one of class 0, a bright one of class 1.
	set := &data.Dataset{
		Name: "two", Classes: 2, Label: []int32{0, 1},
		Images: &data.Images{Channels: 1, Height: 4, Width: 4, Pixels: make([]byte, 32), Mean: []float32{0.5},
			Std: []float32{0.5}},
	}
	for i := range 16 {
		set.Images.Pixels[16+i] = 255
	}
	both := data.Batch{Data: set, Rows: []int32{0, 1}}

	root := rng.New(1)
	params, sum, scratch := make([]float32, net.NumParams()), make([]float64, net.NumParams()), net.NewScratch()
	net.Init(params, root.Stream(rng.Init, 0, 0))
	clip := func(norm float64) (float64, bool) { return min(1, 0.1/norm), norm > 0 }
	before := net.Loss(params, both, scratch)
	for round := range 100 {
		if err := net.GradSum(sum, params, both, clip, root.Stream(rng.Dropout, 0, round), scratch); err != nil {
			log.Fatal(err)
		}
		for i, g := range sum {
			params[i] -= float32(0.5 * g)
		}
	}
	labels := make([]int32, 2)
	net.Predict(labels, params, both, scratch)
	fmt.Println("the loss has fallen:", net.Loss(params, both, scratch) < before/2, labels)
	// Output:
	// conv 3×3 pad 1 puts out 3×4×4, 30 parameters
	// relu         puts out 3×4×4, 0 parameters
	// max pool     puts out 3×2×2, 0 parameters
	// dense        puts out 8, 104 parameters
	// tanh         puts out 8, 0 parameters
	// dropout 0.25 puts out 8, 0 parameters
	// dense        puts out 2, 18 parameters
	// the loss has fallen: true [0 1]
}
